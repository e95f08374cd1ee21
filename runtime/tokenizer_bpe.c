/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merging one word. Definition: start from the tokens of the word's bytes; again and again join the neighbouring pair
 * of lowest rank, the leftmost of equals, until no pair is in the list. Here the candidates wait in a heap and the
 * symbols in a linked list, so a word of n bytes takes O(n log n) and not O(n^2). Symbols only grow, so a candidate is
 * still true exactly when the two symbols at its place are the ones it was made for.
 *
 * A byte that has no token is left out and its neighbours meet, as in the source tokenizers when there is no unknown
 * token.
 */
#include <limits.h>
#include <string.h>
#include <xxhash.h>

#include "runtime/tokenizer_internal.h"

enum { CACHED_WORD = 48, CACHE_MAX = 1 << 18 };

int token_list_add(struct token_list *l, int32_t id, struct error *err)
{
    int code = mem_reserve((void **)&l->ids, &l->cap, l->n + 1, sizeof *l->ids, "token ids", err);
    if (!code)
        l->ids[l->n++] = id;
    return code;
}

static const struct merge *find_merge(const struct tokenizer *t, uint64_t pair)
{
    size_t i = (size_t)tokenizer_mix(pair) & (t->n_merges - 1);
    for (; t->merges[i].rank != UINT32_MAX; i = (i + 1) & (t->n_merges - 1))
        if (t->merges[i].pair == pair)
            return &t->merges[i];
    return NULL;
}

static uint64_t pair_at(const struct bpe_scratch *s, int32_t left)
{
    return (uint64_t)(uint32_t)s->symbols[left].id << 32 | (uint32_t)s->symbols[s->symbols[left].next].id;
}

static int push(const struct tokenizer *t, struct bpe_scratch *s, int32_t left, struct error *err)
{
    if (left < 0 || s->symbols[left].next < 0)
        return 0;
    uint64_t pair = pair_at(s, left);
    const struct merge *m = find_merge(t, pair);
    if (!m)
        return 0;
    int code = mem_reserve((void **)&s->heap, &s->cap_heap, s->n_heap + 1, sizeof *s->heap, "merges", err);
    if (code)
        return code;
    struct bpe_candidate c = { (uint64_t)m->rank << 32 | (uint32_t)left, pair, m->id };
    size_t i = s->n_heap++;
    for (; i && s->heap[(i - 1) / 2].key > c.key; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = c;
    return 0;
}

static struct bpe_candidate pop(struct bpe_scratch *s)
{
    struct bpe_candidate top = s->heap[0], last = s->heap[--s->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < s->n_heap; i = child) {
        if (child + 1 < s->n_heap && s->heap[child + 1].key < s->heap[child].key)
            child++;
        if (s->heap[child].key >= last.key)
            break;
        s->heap[i] = s->heap[child];
    }
    s->heap[i] = last;
    return top;
}

static int merge_all(const struct tokenizer *t, struct bpe_scratch *s, size_t n, struct error *err)
{
    int code = 0;
    s->n_heap = 0;
    for (size_t i = 0; i + 1 < n && !code; i++)
        code = push(t, s, (int32_t)i, err);
    while (s->n_heap && !code) {
        struct bpe_candidate c = pop(s);
        int32_t left = (int32_t)(uint32_t)c.key;
        struct bpe_symbol *l = &s->symbols[left];
        if (l->id < 0 || l->next < 0 || pair_at(s, left) != c.pair)
            continue;
        struct bpe_symbol *r = &s->symbols[l->next];
        l->id = c.id;
        l->next = r->next;
        r->id = -1;
        if (l->next >= 0)
            s->symbols[l->next].prev = left;
        code = push(t, s, l->prev, err);
        if (!code)
            code = push(t, s, left, err);
    }
    return code;
}

/* The token that is the whole word, -1: none. */
static int32_t whole_word(const struct tokenizer *t, const char *word, size_t n)
{
    size_t i = (size_t)XXH3_64bits(word, n) & (t->n_words - 1);
    for (; t->words[i] >= 0; i = (i + 1) & (t->n_words - 1)) {
        size_t at = t->starts[t->words[i]];
        if (t->starts[t->words[i] + 1] - at == n && memcmp(t->bytes + at, word, n) == 0)
            break;
    }
    return t->words[i];
}

static int merge_word(const struct tokenizer *t, struct bpe_scratch *s, const char *word, size_t n,
                      struct token_list *out, struct error *err)
{
    int32_t whole = t->ignore_merges ? whole_word(t, word, n) : -1, n_symbols = 0;
    if (whole >= 0)
        return token_list_add(out, whole, err);
    if (n >= INT32_MAX)
        return error_set(err, ERROR_UNSUPPORTED, "a word of %zu bytes", n);
    int code = mem_reserve((void **)&s->symbols, &s->cap_symbols, n, sizeof *s->symbols, "the bytes of a word", err);
    if (code)
        return code;
    for (size_t i = 0; i < n; i++) {
        int32_t id = t->byte_ids[(uint8_t)word[i]];
        if (id < 0)
            continue;
        s->symbols[n_symbols] = (struct bpe_symbol){ id, n_symbols - 1, n_symbols + 1 };
        n_symbols++;
    }
    if (!n_symbols)
        return 0;
    s->symbols[n_symbols - 1].next = -1;
    code = merge_all(t, s, (size_t)n_symbols, err);
    for (int32_t i = 0; i >= 0 && !code; i = s->symbols[i].next)
        code = token_list_add(out, s->symbols[i].id, err);
    return code;
}

/* ---- words seen before in this call ------------------------------------------------------------------------------ */

static struct bpe_cached *cache_slot(struct bpe_scratch *s, uint64_t hash, const char *word, size_t n)
{
    size_t i = (size_t)hash & (s->n_cache - 1);
    for (; s->cache[i].hash; i = (i + 1) & (s->n_cache - 1))
        if (s->cache[i].hash == hash && s->cache[i].key_n == n && memcmp(s->keys.data + s->cache[i].key, word, n) == 0)
            break;
    return &s->cache[i];
}

static int cache_grow(struct bpe_scratch *s, struct error *err)
{
    size_t n = s->n_cache ? 4 * s->n_cache : 256;
    struct bpe_cached *old = s->cache, *grown = mem_zalloc(n, sizeof *grown, "the word cache", err);
    if (!grown)
        return ERROR_NOMEM;
    for (size_t i = 0; i < s->n_cache; i++) {
        size_t j = (size_t)old[i].hash & (n - 1);
        if (!old[i].hash)
            continue;
        while (grown[j].hash)
            j = (j + 1) & (n - 1);
        grown[j] = old[i];
    }
    mem_free(old);
    s->cache = grown;
    s->n_cache = n;
    return 0;
}

int bpe_word(const struct tokenizer *t, struct bpe_scratch *s, const char *word, size_t n, struct token_list *out,
             struct error *err)
{
    if (n == 1 && t->byte_ids[(uint8_t)*word] >= 0)
        return token_list_add(out, t->byte_ids[(uint8_t)*word], err);
    if (n > CACHED_WORD)
        return merge_word(t, s, word, n, out, err);
    int code = 0;
    if (2 * s->n_cached >= s->n_cache && s->n_cache < CACHE_MAX && (code = cache_grow(s, err)))
        return code;
    uint64_t hash = XXH3_64bits(word, n) | (uint64_t)1 << 63; /* 0 marks a free slot */
    struct bpe_cached *c = cache_slot(s, hash, word, n);
    if (c->hash) {
        code = mem_reserve((void **)&out->ids, &out->cap, out->n + c->ids_n, sizeof *out->ids, "token ids", err);
        if (code)
            return code;
        memcpy(out->ids + out->n, s->ids.ids + c->ids, c->ids_n * sizeof *out->ids);
        out->n += c->ids_n;
        return 0;
    }
    size_t before = out->n;
    code = merge_word(t, s, word, n, out, err);
    if (code || 2 * s->n_cached >= s->n_cache)
        return code;
    struct bpe_cached made = { hash, s->keys.len, s->ids.n, (uint32_t)n, (uint32_t)(out->n - before) };
    code = buffer_append(&s->keys, word, n, err);
    for (size_t i = before; i < out->n && !code; i++)
        code = token_list_add(&s->ids, out->ids[i], err);
    if (!code) {
        *c = made;
        s->n_cached++;
    }
    return code;
}

void bpe_scratch_free(struct bpe_scratch *s)
{
    mem_free(s->symbols);
    mem_free(s->heap);
    mem_free(s->cache);
    buffer_free(&s->keys);
    token_list_free(&s->ids);
}
