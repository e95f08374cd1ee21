/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/text_input.h"

#include <string.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/mem.h"

static const uint64_t max_bytes = (uint64_t)4 << 30;

static int encode(struct text_input *t, const struct tokenizer *tok, const char *text, bool parse_special,
                  struct error *err)
{
    size_t n = t->bytes;
    if (n >= 2 && !memcmp(text, "\x1f\x8b", 2))
        return error_set(err, ERROR_UNSUPPORTED, "compressed with gzip: unpack it first");
    if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        text += 3;
        n -= 3;
    }
    if (n && text[n - 1] == '\n')
        n--;
    if (!n)
        return error_set(err, ERROR_FORMAT, "no text in it");
    t->bos = tokenizer_add_bos(tok) && tokenizer_bos(tok) >= 0;
    if (t->bos) {
        int rc = mem_reserve((void **)&t->ids.ids, &t->ids.cap, 1, sizeof *t->ids.ids, "token ids", err);
        if (rc)
            return rc;
        t->ids.ids[t->ids.n++] = tokenizer_bos(tok);
    }
    return tokenizer_encode(tok, text, n, parse_special, &t->ids, err);
}

int text_input_open(struct text_input *t, const struct tokenizer *tok, const char *path, bool parse_special,
                    struct error *err)
{
    *t = (struct text_input){ .path = path };
    struct digest_result digest;
    char *text = NULL;
    int rc = file_read_all(path, max_bytes, &text, &t->bytes, err);
    if (rc)
        return rc;
    if (!(rc = digest_bytes(DIGEST_SHA256, text, t->bytes, &digest, err))) {
        digest_hex(digest.sha256, sizeof digest.sha256, t->sha256);
        if ((rc = encode(t, tok, text, parse_special, err)))
            error_prefix(err, "%s", path);
    }
    mem_free(text);
    if (rc)
        text_input_close(t);
    return rc;
}

void text_input_close(struct text_input *t)
{
    token_list_free(&t->ids);
    *t = (struct text_input){ 0 };
}
