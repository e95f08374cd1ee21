/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens, their types and the merges of a byte-level BPE tokenizer.json. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/util/text.h"
#include "convert/vocab_private.h"

enum { LISTED = 8 }; /* extra tokens that an error spells out */

static char *quoted(char *buf, size_t cap, const char *s)
{
    return text_quote(buf, cap, s, strlen(s));
}

/* ---- text to id ------------------------------------------------------------------------------------------------- */

static size_t slot_of(const struct vocab *v, const char *text)
{
    size_t i = (size_t)XXH3_64bits(text, strlen(text)) & (v->n_slots - 1);
    while (v->slots[i].text && strcmp(v->slots[i].text, text) != 0)
        i = (i + 1) & (v->n_slots - 1);
    return i;
}

bool vocab_find(const struct vocab *v, const char *text, uint32_t *id)
{
    const struct vocab_slot *s = &v->slots[slot_of(v, text)];
    if (s->text && id)
        *id = s->id;
    return s->text != NULL;
}

/* At most n_rows ids get a text, and n_slots is at least twice that, so a free slot always exists. */
static int place(struct vocab *v, const char *text, uint64_t id, int type, struct error *err)
{
    char a[80], b[80];
    size_t n = strlen(text);
    if (n > VOCAB_MAX_TOKEN)
        return error_set(err, ERROR_FORMAT, "token %" PRIu64 " is %zu bytes long, at most %d are supported", id, n,
                         VOCAB_MAX_TOKEN);
    struct vocab_slot *s = &v->slots[slot_of(v, text)];
    if (s->text && s->id != id)
        return error_set(err, ERROR_FORMAT, "token \"%s\" has two ids, %" PRIu32 " and %" PRIu64,
                         quoted(a, sizeof a, text), s->id, id);
    if (v->tokens[id].s && strcmp(v->tokens[id].s, text) != 0)
        return error_set(err, ERROR_FORMAT, "tokens \"%s\" and \"%s\" share id %" PRIu64,
                         quoted(a, sizeof a, v->tokens[id].s), quoted(b, sizeof b, text), id);
    if (!v->tokens[id].s) {
        char *copy = arena_strndup(&v->arena, text, n, err);
        if (!copy)
            return ERROR_NOMEM;
        v->tokens[id] = (struct gguf_str){ copy, n };
        *s = (struct vocab_slot){ copy, (uint32_t)id };
    }
    v->types[id] = type;
    return 0;
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

/* Tokens whose id has no embedding row, collected so that the error can list them. */
struct extras {
    const struct json *entries; /* model.vocab: what is in it was collected already */
    char list[600];
    uint64_t n;
};

static void add_extra(struct extras *x, const char *text, uint64_t id)
{
    char q[60];
    size_t len = strlen(x->list);
    if (x->n++ < LISTED)
        snprintf(x->list + len, sizeof x->list - len, "%s\"%s\" (%" PRIu64 ")", len ? ", " : "",
                 quoted(q, sizeof q, text), id);
}

static int place_checked(struct vocab *v, const char *text, const struct json *id, int type, struct extras *x,
                         struct error *err)
{
    uint64_t n;
    char q[80];
    if (!json_u64(id, &n))
        return error_set(err, ERROR_FORMAT, "the id of token \"%s\" is %s, expected a non-negative integer",
                         quoted(q, sizeof q, text), json_kind_name(id));
    if (n < v->n_rows)
        return place(v, text, n, type, err);
    add_extra(x, text, n);
    return 0;
}

/* Marked as ordinary in some files although they mark structure; llama.cpp's list. */
static bool looks_special(const char *s)
{
    return strcmp(s, "<pad>") == 0 || strcmp(s, "<mask>") == 0 || strcmp(s, "<2mass>") == 0 ||
           strcmp(s, "[@BOS@]") == 0 || (text_starts(s, "<|") && text_ends(s, "|>")) ||
           (text_starts(s, "<\uff5c") && text_ends(s, "\uff5c>")) || (text_starts(s, "<unused") && text_ends(s, ">"));
}

static int added_token(struct vocab *v, const struct json *t, uint64_t id, struct extras *x, unsigned *n_stripped,
                       struct error *err)
{
    const char *text = json_str(json_get(t, "content"));
    bool special = false, b;
    if (!text || !*text)
        return error_set(err, ERROR_FORMAT, "the added token with id %" PRIu64 " has no content", id);
    int code = vocab_flag(t, "special", &special, err);
    for (size_t i = 0; i < 3 && !code; i++) {
        b = false;
        code = vocab_flag(t, (const char *[]){ "lstrip", "rstrip", "single_word" }[i], &b, err);
        *n_stripped += b;
    }
    if (code)
        return error_prefix(err, "the added token with id %" PRIu64, id);
    int type = special || looks_special(text) ? VOCAB_CONTROL : VOCAB_USER;
    if (id < v->n_rows)
        return place(v, text, id, type, err);
    if (!json_get(x->entries, text))
        add_extra(x, text, id);
    return 0;
}

/* tokenizer.json first; tokenizer_config.json's added_tokens_decoder overrides what is special, as in transformers;
 * added_tokens.json (an older file) only adds what is missing. */
static int read_added(struct vocab *v, const struct json *tokenizer, const struct json *tokenizer_config,
                      struct extras *x, struct error *err)
{
    unsigned n_stripped = 0, ignored = 0, only_there = 0;
    struct json_doc *doc = NULL;
    uint64_t id;
    int code = vocab_kind(tokenizer, "added_tokens", 1 << JSON_ARRAY, "an array", err);
    if (!code && (code = vocab_kind(tokenizer_config, "added_tokens_decoder", 1 << JSON_OBJECT, "an object", err)))
        error_prefix(err, "tokenizer_config.json");
    for (const struct json *t = code ? NULL : json_first(json_get(tokenizer, "added_tokens")); t && !code;
         t = json_next(t)) {
        if (!json_u64(json_get(t, "id"), &id))
            code = error_set(err, ERROR_FORMAT, "added_tokens: an id is %s, expected a non-negative integer",
                             json_kind_name(json_get(t, "id")));
        else
            code = added_token(v, t, id, x, &n_stripped, err);
    }
    const struct json *decoder = json_get(tokenizer_config, "added_tokens_decoder");
    bool listed = x->n > 0; /* the same tokens again */
    for (const struct json *t = json_first(decoder); t && !code; t = json_next(t)) {
        if (!text_u64(json_key(t), &id))
            code = error_set(err, ERROR_FORMAT, "tokenizer_config.json: added_tokens_decoder: a key is no token id");
        else if (id < v->n_rows || !listed)
            code = added_token(v, t, id, x, &ignored, err);
    }
    if (!code)
        code = vocab_parse(v, "added_tokens.json", &doc, err);
    for (const struct json *t = doc ? json_first(json_root(doc)) : NULL; t && !code; t = json_next(t)) {
        if (!*json_key(t) || vocab_find(v, json_key(t), NULL) || x->n)
            continue;
        code = place_checked(v, json_key(t), t, looks_special(json_key(t)) ? VOCAB_CONTROL : VOCAB_USER, x, err);
        only_there++;
    }
    json_free(doc);
    if (!code && only_there)
        code = vocab_add_note(v, err, "%u token(s) only in added_tokens.json", only_there);
    if (!code && n_stripped)
        code = vocab_add_note(
            v, err, "%u added-token flag(s) lstrip, rstrip or single_word: GGUF has no place for them", n_stripped);
    return code;
}

static int pad(struct vocab *v, struct error *err)
{
    uint64_t n_pad = 0, last = 0;
    int code = 0;
    for (uint64_t i = 0; i < v->n_rows; i++)
        if (v->tokens[i].s)
            last = i;
    for (uint64_t i = 0; i < v->n_rows && !code; i++) {
        char name[32];
        if (v->tokens[i].s)
            continue;
        snprintf(name, sizeof name, "[PAD%" PRIu64 "]", i);
        code = place(v, name, i, VOCAB_UNUSED, err);
        n_pad++;
    }
    if (!code && n_pad)
        code = vocab_add_note(
            v, err, "%" PRIu64 " tokens for %" PRIu64 " embedding rows: %" PRIu64 " placeholder(s) [PAD<id>] added%s",
            v->n_rows - n_pad, v->n_rows, n_pad, last + 1 + n_pad > v->n_rows ? ", some between other tokens" : "");
    return code;
}

/* Added tokens that are not special keep plain spaces where the source wrote U+2581. */
static int plain_spaces(struct vocab *v, struct error *err)
{
    for (uint64_t i = 0; i < v->n_rows; i++) {
        if (v->types[i] != VOCAB_USER || !strstr(v->tokens[i].s, "\u2581"))
            continue;
        char *s = arena_strndup(&v->arena, v->tokens[i].s, v->tokens[i].n, err);
        if (!s)
            return ERROR_NOMEM;
        for (char *p; (p = strstr(s, "\u2581"));) {
            *p = ' ';
            memmove(p + 1, p + 3, strlen(p + 3) + 1);
        }
        if (vocab_find(v, s, NULL))
            return error_set(err, ERROR_FORMAT, "token %" PRIu64 " with plain spaces equals another token", i);
        v->tokens[i] = (struct gguf_str){ s, strlen(s) };
        v->slots[slot_of(v, s)] = (struct vocab_slot){ s, (uint32_t)i };
    }
    return 0;
}

int vocab_read_tokens(struct vocab *v, const struct json *tokenizer, const struct json *tokenizer_config,
                      struct error *err)
{
    const struct json *entries = json_get(json_get(tokenizer, "model"), "vocab");
    struct extras x = { .entries = entries };
    int code = 0;

    if (!entries || json_kind(entries) != JSON_OBJECT || !json_count(entries))
        return error_set(err, ERROR_FORMAT, "model.vocab: expected an object with tokens, found %s",
                         json_kind_name(entries));
    /* Twice the rows for the texts, and once more for the second text of a token with plain spaces. */
    for (v->n_slots = 64; v->n_slots < 4 * v->n_rows;)
        v->n_slots *= 2;
    v->tokens = mem_zalloc(v->n_rows, sizeof *v->tokens, "tokens", err);
    v->types = mem_zalloc(v->n_rows, sizeof *v->types, "token types", err);
    v->slots = mem_zalloc(v->n_slots, sizeof *v->slots, "the token index", err);
    if (!v->tokens || !v->types || !v->slots)
        return ERROR_NOMEM;

    for (const struct json *t = json_first(entries); t && !code; t = json_next(t))
        code = place_checked(v, json_key(t), t, VOCAB_NORMAL, &x, err);
    if (!code)
        code = read_added(v, tokenizer, tokenizer_config, &x, err);
    if (!code && x.n)
        code = error_set(err, ERROR_FORMAT, "%" PRIu64 " token(s) have no row in the embedding of %" PRIu64 ": %s%s",
                         x.n, v->n_rows, x.list, x.n > LISTED ? ", ..." : "");
    if (!code)
        code = pad(v, err);
    return code ? code : plain_spaces(v, err);
}

/* ---- merges ----------------------------------------------------------------------------------------------------- */

/* Halves of a merge: "a b", or ["a", "b"] whose halves may hold spaces. */
static bool halves(const struct json *m, struct buffer *left, struct buffer *right, struct error *err)
{
    const char *a, *b;
    size_t na, nb;
    if ((a = json_str(m))) {
        const char *space = *a ? strchr(a + 1, ' ') : NULL;
        if (!space || !space[1] || strchr(space + 1, ' '))
            return false;
        na = (size_t)(space - a);
        b = space + 1;
        nb = strlen(b);
    } else {
        const struct json *first = json_kind(m) == JSON_ARRAY ? json_first(m) : NULL;
        if (json_count(m) != 2 || !(a = json_str(first)) || !(b = json_str(json_next(first))) || !*a || !*b)
            return false;
        na = strlen(a);
        nb = strlen(b);
    }
    left->len = right->len = 0;
    return !buffer_append(left, a, na, err) && !buffer_append(right, b, nb, err);
}

/* "left right"; a space within a half is written as U+0120, which is what byte-level BPE writes for the byte 0x20. */
static int join(struct vocab *v, const struct buffer *left, const struct buffer *right, struct buffer *tmp,
                struct gguf_str *out, struct error *err)
{
    int code = 0;
    tmp->len = 0;
    for (int half = 0; half < 2 && !code; half++) {
        const struct buffer *h = half ? right : left;
        if (half)
            code = buffer_append(tmp, " ", 1, err);
        for (size_t i = 0; i < h->len && !code; i++)
            code = h->data[i] == ' ' ? buffer_append(tmp, "\u0120", 2, err) : buffer_append(tmp, &h->data[i], 1, err);
    }
    if (code)
        return code;
    out->s = arena_strndup(&v->arena, tmp->data, tmp->len, err);
    out->n = tmp->len;
    return out->s ? 0 : ERROR_NOMEM;
}

int vocab_read_merges(struct vocab *v, const struct json *model, struct error *err)
{
    const struct json *merges = json_get(model, "merges");
    struct buffer left = { 0 }, right = { 0 }, tmp = { 0 };
    char q[80];
    int code = 0;

    if (!merges || json_kind(merges) != JSON_ARRAY || !json_count(merges))
        return error_set(err, ERROR_FORMAT, "model.merges: expected a list of merges, found %s",
                         merges && json_kind(merges) == JSON_ARRAY ? "an empty one" : json_kind_name(merges));
    v->n_merges = json_count(merges);
    v->merges = mem_zalloc(v->n_merges, sizeof *v->merges, "merges", err);
    if (!v->merges)
        return ERROR_NOMEM;
    size_t i = 0;
    for (const struct json *m = json_first(merges); m && !code; m = json_next(m), i++) {
        if (!halves(m, &left, &right, err)) {
            code = error_set(err, ERROR_FORMAT, "model.merges[%zu]: expected two tokens", i);
            break;
        }
        code = join(v, &left, &right, &tmp, &v->merges[i], err);
        const char *unknown = vocab_find(v, left.data, NULL) ? NULL : left.data;
        if (!unknown && !vocab_find(v, right.data, NULL))
            unknown = right.data;
        if (!unknown && !code) {
            code = buffer_append(&left, right.data, right.len, err);
            unknown = code || vocab_find(v, left.data, NULL) ? NULL : left.data;
        }
        if (unknown && !code)
            code = error_set(err, ERROR_FORMAT, "model.merges[%zu] needs the token \"%s\", which model.vocab lacks", i,
                             quoted(q, sizeof q, unknown));
    }
    buffer_free(&left);
    buffer_free(&right);
    buffer_free(&tmp);
    return code;
}
