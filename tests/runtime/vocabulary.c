/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/runtime/vocabulary.h"

#include <stdio.h>
#include <string.h>

#include "base/util/text.h"
#include "tests/support/support.h"

/* The byte alphabet once more, by its definition: printable Latin-1 stays, the rest follows from U+0100. */
static size_t alphabet(unsigned byte, char out[4])
{
    uint32_t next = 0x100;
    for (unsigned b = 0; b < 256; b++) {
        bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
        if (b == byte)
            return text_utf8_encode(printable ? b : next, out);
        next += !printable;
    }
    return 0;
}

int32_t vocabulary_add_text(struct vocabulary *v, const char *text, int32_t type)
{
    size_t n = strlen(text);
    ck_assert_uint_lt(v->n, VOCABULARY_MAX);
    v->tokens[v->n] = (struct gguf_str){ arena_strndup(&v->arena, text, n, NULL), n };
    v->types[v->n] = type;
    return (int32_t)v->n++;
}

int32_t vocabulary_add(struct vocabulary *v, const char *bytes, size_t n)
{
    char text[2048];
    size_t len = 0;
    ck_assert_uint_lt(n, 500);
    for (size_t i = 0; i < n; i++)
        len += alphabet((unsigned char)bytes[i], text + len);
    text[len] = '\0';
    for (size_t i = 0; i < v->n; i++)
        if (v->tokens[i].n == len && memcmp(v->tokens[i].s, text, len) == 0)
            return (int32_t)i;
    return vocabulary_add_text(v, text, 1);
}

void vocabulary_init(struct vocabulary *v, const char *pre)
{
    memset(v, 0, sizeof *v);
    v->model = "gpt2";
    v->pre = pre;
    v->bos = v->eos = v->eot = -1;
    v->nfc = v->ignore_merges = v->add_bos = -1;
    for (unsigned b = 0; b < 256; b++)
        vocabulary_add(v, &(char){ (char)b }, 1);
}

int32_t vocabulary_merge(struct vocabulary *v, const char *left, const char *right)
{
    char joined[1024], merge[4096];
    int32_t a = vocabulary_add(v, left, strlen(left)), b = vocabulary_add(v, right, strlen(right));
    snprintf(merge, sizeof merge, "%.*s %.*s", (int)v->tokens[a].n, v->tokens[a].s, (int)v->tokens[b].n,
             v->tokens[b].s);
    v->merges[v->n_merges++] = (struct gguf_str){ arena_strndup(&v->arena, merge, strlen(merge), NULL), strlen(merge) };
    snprintf(joined, sizeof joined, "%s%s", left, right);
    return vocabulary_add(v, joined, strlen(joined));
}

static void put(struct gguf_writer *w, const struct vocabulary *v)
{
    struct error e = { 0 };
    size_t n_types = v->n_types ? v->n_types : v->n;
    if (v->model)
        ck_ok(gguf_put_str(w, "tokenizer.ggml.model", v->model, strlen(v->model), &e), e);
    if (v->pre)
        ck_ok(gguf_put_str(w, "tokenizer.ggml.pre", v->pre, strlen(v->pre), &e), e);
    if (!v->no_tokens)
        ck_ok(gguf_put_strs(w, "tokenizer.ggml.tokens", v->tokens, v->n, &e), e);
    if (n_types != SIZE_MAX)
        ck_ok(gguf_put_array(w, "tokenizer.ggml.token_type", GGUF_I32, v->types, n_types, &e), e);
    if (!v->no_merges)
        ck_ok(gguf_put_strs(w, "tokenizer.ggml.merges", v->merges, v->n_merges, &e), e);
    if (v->bos >= 0)
        ck_ok(gguf_put_u32(w, "tokenizer.ggml.bos_token_id", (uint32_t)v->bos, &e), e);
    if (v->eos >= 0)
        ck_ok(gguf_put_u32(w, "tokenizer.ggml.eos_token_id", (uint32_t)v->eos, &e), e);
    if (v->eot >= 0)
        ck_ok(gguf_put_u32(w, "tokenizer.ggml.eot_token_id", (uint32_t)v->eot, &e), e);
    if (v->n_stops)
        ck_ok(gguf_put_array(w, "ternpack.eos_token_ids", GGUF_I32, v->stops, v->n_stops, &e), e);
    if (v->nfc >= 0)
        ck_ok(gguf_put_bool(w, "ternpack.tokenizer.nfc", v->nfc, &e), e);
    if (v->ignore_merges >= 0)
        ck_ok(gguf_put_bool(w, "ternpack.tokenizer.ignore_merges", v->ignore_merges, &e), e);
    if (v->add_bos >= 0)
        ck_ok(gguf_put_bool(w, "tokenizer.ggml.add_bos_token", v->add_bos, &e), e);
    if (v->chat_template)
        ck_ok(gguf_put_str(w, "tokenizer.chat_template", v->chat_template, strlen(v->chat_template), &e), e);
}

const char *vocabulary_write(const struct vocabulary *v)
{
    struct error e = { 0 };
    struct gguf_writer *w;
    const char *path = support_tmp("vocabulary.gguf");
    ck_ok(gguf_writer_new(&w, 32, &e), e);
    ck_ok(gguf_put_str(w, "general.architecture", "llama", 5, &e), e);
    put(w, v);
    ck_ok(gguf_writer_begin(w, path, true, &e), e);
    ck_ok(gguf_writer_commit(w, &e), e);
    gguf_writer_free(w);
    return path;
}

int vocabulary_open(const struct vocabulary *v, struct tokenizer **t, struct error *e)
{
    struct gguf g = { 0 };
    ck_ok(gguf_open(&g, vocabulary_write(v), 0, e), *e);
    int code = tokenizer_open(t, &g, e);
    gguf_close(&g);
    return code;
}

void vocabulary_free(struct vocabulary *v)
{
    arena_free(&v->arena);
}
