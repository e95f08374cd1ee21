/* SPDX-License-Identifier: Apache-2.0 */
/* tern-run tokenize MODEL.gguf -f TEXT: the ids of each file as one JSON array on one line. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "runtime/commands.h"
#include "runtime/tokenizer.h"

enum { MAX_TEXT = 0x7fffffff };

/* Exactly the file's text: no BOS, and unlike in perplexity the last line end counts. A byte-order mark is no text. */
static int print_ids(const struct tokenizer *tok, const char *path, bool parse_special, struct error *err)
{
    struct token_list ids = { 0 };
    struct buffer line = { 0 };
    char *text = NULL;
    size_t n = 0;
    int code = file_read_all(path, MAX_TEXT, &text, &n, err);
    if (code)
        goto out;
    size_t mark = n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    code = tokenizer_encode(tok, text + mark, n - mark, parse_special, &ids, err);
    if (code) {
        error_prefix(err, "%s", path);
        goto out;
    }
    code = buffer_append(&line, "[", 1, err);
    for (size_t i = 0; i < ids.n && !code; i++)
        code = buffer_printf(&line, err, "%s%" PRId32, i ? ", " : "", ids.ids[i]);
    if (!code)
        code = buffer_append(&line, "]\n", 2, err);
    if (!code)
        fwrite(line.data, 1, line.len, stdout); /* cli_finish reports a failed stdout */
out:
    buffer_free(&line);
    token_list_free(&ids);
    mem_free(text);
    return code;
}

int cmd_tokenize(const struct run_options *o, struct error *err)
{
    struct gguf g = { 0 };
    struct tokenizer *tok = NULL;
    int code = gguf_open(&g, o->model, 0, err);
    if (!code)
        code = tokenizer_open(&tok, &g, err);
    gguf_close(&g);
    for (size_t i = 0; i < o->files.n && !code; i++)
        code = print_ids(tok, o->files.items[i], o->parse_special, err);
    tokenizer_close(tok);
    return code;
}
