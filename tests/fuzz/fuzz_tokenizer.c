/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that start with "GGUF" are a file whose tokenizer is opened and used. All others are a recipe for a vocabulary
 * (pre-tokenizer, merges, added tokens), then a text: for a valid text the pieces of its ids must be the text again,
 * with and without special tokens, and an invalid one must be refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util/text.h"
#include "runtime/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *file(void)
{
    static char path[128];
    const char *folder = getenv("TMPDIR") ? getenv("TMPDIR") : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (!*path)
        snprintf(path, sizeof path, "%s/ternpack-fuzz-%ld.gguf", folder, (long)getpid());
    return path;
}

/* Any order of tokens and bytes: what comes out must be the text. A composing tokenizer may change it. */
static void round_trip(const struct tokenizer *t, const char *text, size_t n, bool special, bool composes)
{
    struct token_list l = { 0 };
    struct error e = { 0 };
    int code = tokenizer_encode(t, text, n, special, &l, &e);
    if ((code == 0) != (text_utf8_check(text, n) == n))
        abort();
    size_t at = 0;
    for (size_t i = 0; i < l.n; i++) {
        size_t len;
        const char *piece = tokenizer_piece(t, l.ids[i], &len);
        if (!piece)
            abort();
        if (!composes && (len > n - at || memcmp(text + at, piece, len) != 0))
            abort();
        at += len;
    }
    if (!code && !composes && at != n)
        abort();
    token_list_free(&l);
}

static void use(const struct tokenizer *t)
{
    static const char text[] = "It's 12,345 \xe2\x82\xac <|im_start|> \xf0\x9f\x9a\x80\n\n  end \xcc\x81";
    struct token_list l = { 0 };
    size_t n;
    if (tokenizer_encode(t, text, sizeof text - 1, true, &l, NULL))
        abort();
    for (size_t i = 0; i < l.n; i++)
        if (!tokenizer_piece(t, l.ids[i], &n))
            abort();
    (void)tokenizer_is_stop(t, tokenizer_eos(t));
    (void)tokenizer_add_bos(t);
    (void)tokenizer_chat_template(t);
    token_list_free(&l);
}

static void open_bytes(const uint8_t *data, size_t size)
{
    struct gguf g = { 0 };
    struct tokenizer *t = NULL;
    FILE *f = fopen(file(), "wb");
    if (!f)
        abort();
    fwrite(data, 1, size, f);
    fclose(f);
    if (!gguf_open(&g, file(), 0, NULL)) {
        if (!tokenizer_open(&t, &g, NULL))
            use(t);
        gguf_close(&g);
    }
    tokenizer_close(t);
}

/* ---- a vocabulary from a recipe ---------------------------------------------------------------------------------- */

enum { BYTES = 256, MAX_MERGES = 40, MAX_ADDED = 12, MAX_TOKENS = BYTES + MAX_MERGES + MAX_ADDED };

struct recipe {
    char text[MAX_TOKENS][64]; /* of each token, in the byte alphabet */
    char merges[MAX_MERGES][140];
    int32_t types[MAX_TOKENS];
    size_t n, n_merges;
};

static bool add(struct recipe *r, const char *text, int32_t type)
{
    for (size_t i = 0; i < r->n; i++)
        if (strcmp(r->text[i], text) == 0)
            return false;
    snprintf(r->text[r->n], sizeof r->text[r->n], "%s", text);
    r->types[r->n++] = type;
    return true;
}

static void add_bytes(struct recipe *r)
{
    uint32_t shifted = 0x100;
    for (unsigned b = 0; b < BYTES; b++) {
        bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        char text[5] = "";
        text_utf8_encode(printable ? b : shifted++, text);
        add(r, text, 1);
    }
}

/* Two bytes of the recipe name the halves of a merge, or the start and length of an added token. */
static void cook(struct recipe *r, const uint8_t *data, size_t n)
{
    size_t n_added = 0;
    for (size_t i = 0; i + 2 < n; i += 3) {
        char joined[130];
        if (data[i] & 1 && r->n_merges < MAX_MERGES) {
            const char *a = r->text[data[i + 1] % r->n], *b = r->text[(BYTES + data[i + 2]) % r->n];
            if (strlen(a) + strlen(b) >= sizeof r->text[0])
                continue;
            snprintf(joined, sizeof joined, "%s%s", a, b);
            if (!add(r, joined, 1))
                continue;
            snprintf(r->merges[r->n_merges++], sizeof r->merges[0], "%s %s", a, b);
        } else if (n_added < MAX_ADDED) {
            size_t len = 1 + data[i + 1] % 6;
            for (size_t k = 0; k < len; k++)
                joined[k] = (char)('a' + (data[i + 2] >> k & 1));
            joined[len] = '\0';
            n_added += len > 1 && add(r, joined, data[i] & 2 ? 3 : 4);
        }
    }
}

static int write_recipe(const struct recipe *r, const char *pre, int ignore_merges)
{
    struct gguf_str tokens[MAX_TOKENS], merges[MAX_MERGES];
    struct gguf_writer *w = NULL;
    for (size_t i = 0; i < r->n; i++)
        tokens[i] = (struct gguf_str){ r->text[i], strlen(r->text[i]) };
    for (size_t i = 0; i < r->n_merges; i++)
        merges[i] = (struct gguf_str){ r->merges[i], strlen(r->merges[i]) };
    int code = gguf_writer_new(&w, 32, NULL);
    if (!code)
        code = gguf_put_str(w, "tokenizer.ggml.model", "gpt2", 4, NULL);
    if (!code)
        code = gguf_put_str(w, "tokenizer.ggml.pre", pre, strlen(pre), NULL);
    if (!code)
        code = gguf_put_strs(w, "tokenizer.ggml.tokens", tokens, r->n, NULL);
    if (!code)
        code = gguf_put_array(w, "tokenizer.ggml.token_type", GGUF_I32, r->types, r->n, NULL);
    if (!code)
        code = gguf_put_strs(w, "tokenizer.ggml.merges", merges, r->n_merges, NULL);
    if (!code)
        code = gguf_put_bool(w, "ternpack.tokenizer.ignore_merges", ignore_merges, NULL);
    if (!code)
        code = gguf_writer_begin(w, file(), true, NULL);
    if (!code)
        code = gguf_writer_commit(w, NULL);
    gguf_writer_free(w);
    return code;
}

static void encode_by_recipe(const uint8_t *data, size_t size)
{
    static const char *const names[] = { "gpt-2",  "smollm", "llama-bpe",   "qwen2",  "qwen35",
                                         "tekken", "gpt-4o", "deepseek-v3", "default" };
    const char *pre = names[data[0] % (sizeof names / sizeof *names)];
    size_t recipe = size > 2 ? data[1] % (size - 1) : 0;
    struct recipe r = { .n = 0 };
    struct gguf g = { 0 };
    struct tokenizer *t;
    add_bytes(&r);
    cook(&r, data + 2, recipe > 2 ? recipe - 2 : 0);
    if (write_recipe(&r, pre, data[0] >> 7) || gguf_open(&g, file(), 0, NULL) || tokenizer_open(&t, &g, NULL))
        abort();
    gguf_close(&g);
    bool composes = strncmp(pre, "qwen", 4) == 0;
    const char *text = (const char *)data + (recipe > 2 ? recipe : 2);
    size_t n = size - (recipe > 2 ? recipe : 2);
    round_trip(t, text, n, false, composes);
    round_trip(t, text, n, true, composes);
    tokenizer_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 4 && memcmp(data, "GGUF", 4) == 0)
        open_bytes(data, size);
    else if (size > 3)
        encode_by_recipe(data, size);
    unlink(file());
    return 0;
}
