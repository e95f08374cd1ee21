/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a tokenizer from a GGUF file. Every id and count in it is checked here, so that encoding need not. */
#include "runtime/tokenizer.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "base/util/bytes.h"
#include "base/util/text.h"
#include "runtime/tokenizer_internal.h"

/* What is needed only while reading. */
struct reader {
    const struct gguf *g;
    struct tokenizer *t;
    struct gguf_str *texts; /* of each token, as the file has it */
    int32_t *slots;         /* text to id, -1: free */
    size_t n_slots;
    struct error *err;
};

static const char *path_of(const struct reader *r)
{
    return r->g->file.path ? r->g->file.path : "GGUF";
}

static char *quoted(char *buf, size_t cap, struct gguf_str s)
{
    return text_quote(buf, cap, s.s, s.n);
}

/* ---- the byte alphabet ------------------------------------------------------------------------------------------- */

/* Byte-level BPE writes a printable Latin-1 byte as that character and the others as U+0100, U+0101, ... in order. */
static uint32_t alphabet(unsigned byte)
{
    static const struct {
        uint8_t first, last;
    } printable[] = { { 33, 126 }, { 161, 172 }, { 174, 255 } };
    uint32_t shifted = 0x100 + byte;
    for (size_t i = 0; i < 3; i++) {
        if (byte >= printable[i].first && byte <= printable[i].last)
            return byte;
        if (byte > printable[i].last)
            shifted -= printable[i].last - printable[i].first + 1u;
    }
    return shifted;
}

/* The byte that a character stands for, -1: none. */
static int byte_of(uint32_t cp)
{
    if (cp < 0x100)
        return alphabet(cp) == cp ? (int)cp : -1;
    for (unsigned b = 0; b < 256 && cp < 0x200; b++)
        if (alphabet(b) == cp)
            return (int)b;
    return -1;
}

/* Raw bytes of a token's text into `to` (room for n bytes); text with a character outside of the alphabet stays as it
 * is. */
static size_t decode(struct gguf_str s, char *to)
{
    size_t n = 0, used = 0;
    uint32_t cp;
    for (size_t i = 0; i < s.n; i += used) {
        used = text_utf8_decode(s.s + i, s.n - i, &cp);
        int byte = used ? byte_of(cp) : -1;
        if (byte < 0) {
            memcpy(to, s.s, s.n);
            return s.n;
        }
        to[n++] = (char)byte;
    }
    return n;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static size_t text_slot(const struct reader *r, struct gguf_str s)
{
    size_t i = (size_t)XXH3_64bits(s.s, s.n) & (r->n_slots - 1);
    for (; r->slots[i] >= 0; i = (i + 1) & (r->n_slots - 1)) {
        struct gguf_str have = r->texts[r->slots[i]];
        if (have.n == s.n && memcmp(have.s, s.s, s.n) == 0)
            break;
    }
    return i;
}

static int32_t find_text(const struct reader *r, struct gguf_str s)
{
    return s.n ? r->slots[text_slot(r, s)] : -1;
}

static int32_t *free_slots(size_t n_items, size_t *n_slots, struct error *err)
{
    for (*n_slots = 64; *n_slots < 2 * n_items;)
        *n_slots *= 2;
    int32_t *slots = mem_zalloc(*n_slots, sizeof *slots, "the token index", err);
    if (slots)
        memset(slots, 0xff, *n_slots * sizeof *slots);
    return slots;
}

static int read_texts(struct reader *r)
{
    const struct gguf_kv *kv;
    struct tokenizer *t = r->t;
    char q[80];
    int code = gguf_need_array(r->g, "tokenizer.ggml.tokens", GGUF_STRING, &kv, r->err);
    if (code)
        return code;
    if (!kv->count || kv->count > INT32_MAX / 4)
        return error_set(r->err, ERROR_FORMAT, "%s: tokenizer.ggml.tokens: %" PRIu64 " tokens", path_of(r), kv->count);
    t->n_vocab = (size_t)kv->count;
    r->texts = mem_zalloc(t->n_vocab, sizeof *r->texts, "tokens", r->err);
    r->slots = free_slots(t->n_vocab, &r->n_slots, r->err);
    if (!r->texts || !r->slots)
        return ERROR_NOMEM;
    size_t cursor = 0, i = 0;
    for (struct gguf_str s; i < t->n_vocab && gguf_next_str(kv, &cursor, &s); i++) {
        if (s.n > TOKENIZER_MAX_TOKEN)
            return error_set(r->err, ERROR_FORMAT,
                             "%s: tokenizer.ggml.tokens: token %zu is %zu bytes long, at most %d "
                             "are supported",
                             path_of(r), i, s.n, TOKENIZER_MAX_TOKEN);
        int32_t *slot = &r->slots[text_slot(r, s)];
        if (s.n && *slot >= 0)
            return error_set(r->err, ERROR_FORMAT,
                             "%s: tokenizer.ggml.tokens: tokens %" PRId32 " and %zu are both \"%s\"", path_of(r), *slot,
                             i, quoted(q, sizeof q, s));
        r->texts[i] = s;
        if (s.n)
            *slot = (int32_t)i;
    }
    return i == t->n_vocab ? 0
                           : error_set(r->err, ERROR_FORMAT, "%s: tokenizer.ggml.tokens ends after %zu of %zu tokens",
                                       path_of(r), i, t->n_vocab);
}

static int read_types(struct reader *r)
{
    const struct gguf_kv *kv;
    struct tokenizer *t = r->t;
    if (!(t->types = mem_zalloc(t->n_vocab, 1, "token types", r->err)))
        return ERROR_NOMEM;
    if (!gguf_find(r->g, "tokenizer.ggml.token_type"))
        return 0; /* all ordinary */
    int code = gguf_need_array(r->g, "tokenizer.ggml.token_type", GGUF_I32, &kv, r->err);
    if (code)
        return code;
    if (kv->count != t->n_vocab)
        return error_set(r->err, ERROR_FORMAT, "%s: tokenizer.ggml.token_type: %" PRIu64 " types for %zu tokens",
                         path_of(r), kv->count, t->n_vocab);
    for (size_t i = 0; i < t->n_vocab; i++) {
        uint32_t type = bytes_get_u32(kv->value + 4 * i);
        if (type > TOKEN_TYPE_MAX)
            return error_set(r->err, ERROR_FORMAT, "%s: tokenizer.ggml.token_type: token %zu has type %" PRId32,
                             path_of(r), i, (int32_t)type);
        t->types[i] = (uint8_t)type;
    }
    return 0;
}

static bool is_literal(uint8_t type)
{
    return type == TOKEN_UNKNOWN || type == TOKEN_CONTROL || type == TOKEN_USER || type == TOKEN_UNUSED;
}

static int read_pieces(struct reader *r)
{
    struct tokenizer *t = r->t;
    size_t total = 0;
    for (size_t i = 0; i < t->n_vocab; i++)
        total += r->texts[i].n; /* bounded by the file's size */
    t->bytes = mem_zalloc(total, 1, "tokens", r->err);
    t->starts = mem_zalloc(t->n_vocab + 1, sizeof *t->starts, "tokens", r->err);
    if (!t->bytes || !t->starts)
        return ERROR_NOMEM;
    size_t at = 0;
    for (size_t i = 0; i < t->n_vocab; i++) {
        t->starts[i] = at;
        if (is_literal(t->types[i]) && r->texts[i].n)
            memcpy(t->bytes + at, r->texts[i].s, r->texts[i].n);
        at += is_literal(t->types[i]) ? r->texts[i].n : decode(r->texts[i], t->bytes + at);
    }
    t->starts[t->n_vocab] = at;
    for (unsigned b = 0; b < 256; b++) {
        char text[4];
        t->byte_ids[b] = find_text(r, (struct gguf_str){ text, text_utf8_encode(alphabet(b), text) });
    }
    return 0;
}

/* Raw bytes to id, for pre-tokenizers that take a word which is a token as it is. Two ordinary tokens have different
 * texts and the alphabet is one to one, but a text outside of it may equal another's bytes: then the first one stays.
 */
static int index_words(struct reader *r)
{
    struct tokenizer *t = r->t;
    if (!t->ignore_merges)
        return 0;
    if (!(t->words = free_slots(t->n_vocab, &t->n_words, r->err)))
        return ERROR_NOMEM;
    for (size_t id = 0; id < t->n_vocab; id++) {
        const char *s = t->bytes + t->starts[id];
        size_t n = t->starts[id + 1] - t->starts[id], i = (size_t)XXH3_64bits(s, n) & (t->n_words - 1);
        if (!n || is_literal(t->types[id]))
            continue;
        while (t->words[i] >= 0)
            i = (i + 1) & (t->n_words - 1);
        t->words[i] = (int32_t)id;
    }
    return 0;
}

/* ---- merges ------------------------------------------------------------------------------------------------------ */

/* "left right": the space is never the first byte, and a token holds none. */
static int read_merge(struct reader *r, struct gguf_str s, uint32_t rank, char *joined)
{
    struct tokenizer *t = r->t;
    char q[80];
    const char *space = s.n > 2 ? memchr(s.s + 1, ' ', s.n - 2) : NULL;
    if (!space || s.n > 2 * (size_t)TOKENIZER_MAX_TOKEN)
        return error_set(r->err, ERROR_FORMAT,
                         "%s: tokenizer.ggml.merges[%" PRIu32 "]: expected two tokens, found \"%s\"", path_of(r), rank,
                         quoted(q, sizeof q, s));
    size_t left_n = (size_t)(space - s.s), right_n = s.n - left_n - 1;
    memcpy(joined, s.s, left_n);
    memcpy(joined + left_n, space + 1, right_n);
    const struct gguf_str parts[] = { { s.s, left_n }, { space + 1, right_n }, { joined, left_n + right_n } };
    int32_t ids[3];
    for (int i = 0; i < 3; i++)
        if ((ids[i] = find_text(r, parts[i])) < 0)
            return error_set(r->err, ERROR_FORMAT, "%s: tokenizer.ggml.merges[%" PRIu32 "]: no token \"%s\"",
                             path_of(r), rank, quoted(q, sizeof q, parts[i]));
    uint64_t pair = (uint64_t)(uint32_t)ids[0] << 32 | (uint32_t)ids[1];
    size_t i = (size_t)tokenizer_mix(pair) & (t->n_merges - 1);
    while (t->merges[i].rank != UINT32_MAX && t->merges[i].pair != pair)
        i = (i + 1) & (t->n_merges - 1);
    t->merges[i] =
        (struct merge){ pair, rank, ids[2] }; /* a repeated merge: the last one holds, as in the source's reader */
    return 0;
}

static int read_merges(struct reader *r)
{
    const struct gguf_kv *kv;
    struct tokenizer *t = r->t;
    int code = gguf_need_array(r->g, "tokenizer.ggml.merges", GGUF_STRING, &kv, r->err);
    if (code)
        return code;
    if (kv->count > INT32_MAX / 4)
        return error_set(r->err, ERROR_FORMAT, "%s: tokenizer.ggml.merges: %" PRIu64 " merges", path_of(r), kv->count);
    for (t->n_merges = 64; t->n_merges < 2 * kv->count;)
        t->n_merges *= 2;
    t->merges = mem_zalloc(t->n_merges, sizeof *t->merges, "merges", r->err);
    char *joined = mem_zalloc(2 * (size_t)TOKENIZER_MAX_TOKEN, 1, "a merge", r->err);
    if (!t->merges || !joined)
        code = ERROR_NOMEM;
    for (size_t i = 0; i < t->n_merges && !code; i++)
        t->merges[i].rank = UINT32_MAX;
    size_t cursor = 0;
    uint32_t rank = 0;
    for (struct gguf_str s; !code && rank < kv->count && gguf_next_str(kv, &cursor, &s); rank++)
        code = read_merge(r, s, rank, joined);
    mem_free(joined);
    return code;
}

/* ---- rules, ids, template ---------------------------------------------------------------------------------------- */

static int read_rules(struct reader *r)
{
    struct tokenizer *t = r->t;
    struct gguf_str model, pre;
    char q[80], names[256];
    int code = gguf_need_str(r->g, "tokenizer.ggml.model", &model, r->err);
    if (code)
        return code;
    if (model.n != 4 || memcmp(model.s, "gpt2", 4) != 0)
        return error_set(r->err, ERROR_UNSUPPORTED,
                         "%s: tokenizer.ggml.model is \"%s\"; only byte-level BPE (\"gpt2\") is "
                         "supported",
                         path_of(r), quoted(q, sizeof q, model));
    if (!gguf_find(r->g, "tokenizer.ggml.pre"))
        return error_set(r->err, ERROR_UNSUPPORTED,
                         "%s: no tokenizer.ggml.pre: how text is cut into words is not known; "
                         "convert the model again",
                         path_of(r));
    if ((code = gguf_need_str(r->g, "tokenizer.ggml.pre", &pre, r->err)))
        return code;
    if (!(t->pre = pretokenizer_find(pre.s, pre.n)))
        return error_set(r->err, ERROR_UNSUPPORTED, "%s: tokenizer.ggml.pre: unknown pre-tokenizer \"%s\" (known: %s)",
                         path_of(r), quoted(q, sizeof q, pre), pretokenizer_names(names, sizeof names));
    t->nfc = t->pre->nfc;
    t->ignore_merges = t->pre->ignore_merges;
    t->add_bos = t->pre->add_bos;
    code = gguf_opt_bool(r->g, "ternpack.tokenizer.nfc", &t->nfc, r->err);
    if (!code)
        code = gguf_opt_bool(r->g, "ternpack.tokenizer.ignore_merges", &t->ignore_merges, r->err);
    if (!code)
        code = gguf_opt_bool(r->g, "tokenizer.ggml.add_bos_token", &t->add_bos, r->err);
    return code ? code : split_compile(t, r->err);
}

static int read_id(struct reader *r, const char *name, int32_t *out)
{
    uint32_t id = UINT32_MAX;
    int code = gguf_opt_u32(r->g, name, &id, r->err);
    if (code || id == UINT32_MAX) /* llama.cpp's way to write "none" too */
        return code;
    if (id >= r->t->n_vocab)
        return error_set(r->err, ERROR_FORMAT, "%s: %s is %" PRIu32 ", but there are %zu tokens", path_of(r), name, id,
                         r->t->n_vocab);
    *out = (int32_t)id;
    return 0;
}

/* Tokens that end a text in every model that has them; llama.cpp's list. */
static const char *const stop_texts[] = {
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<EOT>",
    "_<EOT>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
    "<end_of_utterance>",
    /* marks between the files of a code corpus: the file is over */
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
    "<reponame>",
};

static int read_stop_list(struct reader *r, const char *key)
{
    const struct gguf_kv *kv;
    if (!gguf_find(r->g, key))
        return 0;
    int code = gguf_need_array(r->g, key, GGUF_I32, &kv, r->err);
    for (uint64_t i = 0; !code && i < kv->count; i++) {
        uint32_t id = bytes_get_u32(kv->value + 4 * i);
        if (id >= r->t->n_vocab)
            code = error_set(r->err, ERROR_FORMAT, "%s: %s[%" PRIu64 "] is %" PRId32 ", but there are %zu tokens",
                             path_of(r), key, i, (int32_t)id, r->t->n_vocab);
        else
            r->t->stops[id] = true;
    }
    return code;
}

static int read_special(struct reader *r)
{
    struct tokenizer *t = r->t;
    int32_t eot = -1, eom = -1;
    if (!(t->stops = mem_zalloc(t->n_vocab, sizeof *t->stops, "stop tokens", r->err)))
        return ERROR_NOMEM;
    t->bos = t->eos = -1;
    int code = read_id(r, "tokenizer.ggml.bos_token_id", &t->bos);
    if (!code)
        code = read_id(r, "tokenizer.ggml.eos_token_id", &t->eos);
    if (!code)
        code = read_id(r, "tokenizer.ggml.eot_token_id", &eot);
    if (!code)
        code = read_id(r, "tokenizer.ggml.eom_token_id", &eom);
    if (!code)
        code = read_stop_list(r, "tokenizer.ggml.eos_token_ids");
    if (!code)
        code = read_stop_list(r, "ternpack.eos_token_ids");
    if (code)
        return code;
    const int32_t ends[] = { t->eos, eot, eom };
    for (size_t i = 0; i < 3; i++)
        if (ends[i] >= 0)
            t->stops[ends[i]] = true;
    for (size_t i = 0; i < sizeof stop_texts / sizeof *stop_texts; i++) {
        int32_t id = find_text(r, (struct gguf_str){ stop_texts[i], strlen(stop_texts[i]) });
        if (id >= 0)
            t->stops[id] = true;
    }
    struct gguf_str template = { NULL, 0 };
    code = gguf_opt_str(r->g, "tokenizer.chat_template", &template, r->err);
    if (!code && template.s && !(t->chat_template = mem_strndup(template.s, template.n, r->err)))
        code = ERROR_NOMEM;
    return code;
}

static int build_matchers(struct reader *r)
{
    struct tokenizer *t = r->t;
    int32_t *ids = mem_zalloc(t->n_vocab, sizeof *ids, "added tokens", r->err);
    int code = ids ? 0 : ERROR_NOMEM;
    for (int with_control = 0; with_control < 2 && !code; with_control++) {
        size_t n = 0;
        for (size_t i = 0; i < t->n_vocab; i++) {
            bool control = t->types[i] == TOKEN_CONTROL || t->types[i] == TOKEN_UNKNOWN;
            if (t->types[i] == TOKEN_USER || (with_control && control))
                ids[n++] = (int32_t)i;
        }
        code = matcher_build(with_control ? &t->special : &t->added, t, ids, n, r->err);
        if (code && code != ERROR_NOMEM)
            error_prefix(r->err, "%s", path_of(r));
    }
    mem_free(ids);
    return code;
}

/* ---- the public part --------------------------------------------------------------------------------------------- */

int tokenizer_open(struct tokenizer **out, const struct gguf *g, struct error *err)
{
    static int (*const steps[])(struct reader *) = { read_rules,  read_texts,  read_types,   read_pieces,
                                                     index_words, read_merges, read_special, build_matchers };
    struct tokenizer *t = mem_zalloc(1, sizeof *t, "tokenizer", err);
    struct reader r = { .g = g, .t = t, .err = err };
    int code = t ? 0 : ERROR_NOMEM;
    *out = NULL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !code; i++)
        code = steps[i](&r);
    mem_free(r.texts);
    mem_free(r.slots);
    if (code)
        tokenizer_close(t);
    else
        *out = t;
    return code;
}

void tokenizer_close(struct tokenizer *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < PRETOKENIZER_MAX_STEPS; i++)
        pcre2_code_free(t->steps[i]);
    matcher_free(&t->added);
    matcher_free(&t->special);
    mem_free(t->bytes);
    mem_free(t->starts);
    mem_free(t->types);
    mem_free(t->stops);
    mem_free(t->words);
    mem_free(t->merges);
    mem_free(t->chat_template);
    mem_free(t);
}

size_t tokenizer_n_vocab(const struct tokenizer *t)
{
    return t->n_vocab;
}

int32_t tokenizer_bos(const struct tokenizer *t)
{
    return t->bos;
}

int32_t tokenizer_eos(const struct tokenizer *t)
{
    return t->eos;
}

bool tokenizer_add_bos(const struct tokenizer *t)
{
    return t->add_bos;
}

bool tokenizer_is_stop(const struct tokenizer *t, int32_t id)
{
    return id >= 0 && (size_t)id < t->n_vocab && t->stops[id];
}

const char *tokenizer_chat_template(const struct tokenizer *t)
{
    return t->chat_template;
}

const char *tokenizer_piece(const struct tokenizer *t, int32_t id, size_t *n)
{
    if (id < 0 || (size_t)id >= t->n_vocab)
        return NULL;
    *n = t->starts[id + 1] - t->starts[id];
    return t->bytes + t->starts[id];
}
