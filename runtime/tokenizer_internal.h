/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a tokenizer: what is read once (struct tokenizer) and what one call to tokenizer_encode owns (struct
 * encoder).
 *
 *   text -> added tokens cut out (tokenizer_match.c) -> NFC -> words (tokenizer_split.c) -> merges (tokenizer_bpe.c) ->
 * ids
 */
#ifndef TERNPACK_RUNTIME_TOKENIZER_INTERNAL_H
#define TERNPACK_RUNTIME_TOKENIZER_INTERNAL_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/model/pretokenizer.h"
#include "base/util/mem.h"
#include "runtime/tokenizer.h"

enum { TOKEN_UNKNOWN = 2, TOKEN_CONTROL = 3, TOKEN_USER = 4, TOKEN_UNUSED = 5, TOKEN_TYPE_MAX = 6 };
enum { TOKENIZER_MAX_TOKEN = 65536 }; /* bytes of one token */

/* ---- added tokens: Aho-Corasick over the tokens read backwards --------------------------------------------------- */

struct matcher_node {
    uint32_t fail; /* longest proper suffix of this node's string that is a node too */
    uint32_t depth;
    int32_t token; /* longest token that ends the node's string, or -1 */
    uint32_t parent;
    uint8_t byte;
};

struct matcher {
    struct matcher_node *nodes; /* [0] is the root; n_nodes == 0: no tokens */
    size_t n_nodes;
    uint64_t *edges; /* node << 40 | byte << 32 | child, 0: free; open addressing */
    size_t n_edges;  /* a power of two */
    uint32_t root[256];
};

struct match {
    size_t pos, n;
    int32_t id;
};

struct match_list {
    struct match *items;
    size_t n, cap;
};

int matcher_build(struct matcher *m, const struct tokenizer *t, const int32_t *ids, size_t n_ids, struct error *err);
/* For each position where a token starts, the longest one; positions descend. */
int matcher_scan(const struct matcher *m, const struct tokenizer *t, const char *text, size_t n, struct match_list *out,
                 struct error *err);
void matcher_free(struct matcher *m);

/* ---- merges ------------------------------------------------------------------------------------------------------ */

struct merge {
    uint64_t pair; /* left id << 32 | right id */
    uint32_t rank; /* UINT32_MAX: free slot */
    int32_t id;
};

struct bpe_symbol {
    int32_t id; /* -1: swallowed by the one before */
    int32_t prev, next;
};

struct bpe_candidate { /* heap item: lowest rank first, then leftmost */
    uint64_t key;      /* rank << 32 | position of the left symbol */
    uint64_t pair;
    int32_t id;
};

struct bpe_cached {
    uint64_t hash; /* 0: free */
    size_t key, ids;
    uint32_t key_n, ids_n;
};

struct bpe_scratch {
    struct bpe_symbol *symbols;
    size_t cap_symbols;
    struct bpe_candidate *heap;
    size_t n_heap, cap_heap;
    struct bpe_cached *cache;
    size_t n_cache, n_cached;
    struct buffer keys;
    struct token_list ids;
};

/* Append the ids of one word (raw bytes). */
int bpe_word(const struct tokenizer *t, struct bpe_scratch *s, const char *word, size_t n, struct token_list *out,
             struct error *err);
void bpe_scratch_free(struct bpe_scratch *s);
int token_list_add(struct token_list *l, int32_t id, struct error *err);

/* ---- words ------------------------------------------------------------------------------------------------------- */

struct splitter { /* one call's match data */
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

typedef int split_fn(void *ctx, const char *word, size_t n, struct error *err);

int split_compile(struct tokenizer *t, struct error *err);
int splitter_open(struct splitter *s, struct error *err);
void splitter_close(struct splitter *s);
/* Calls fn for each word of valid UTF-8 text, in order. */
int split_words(const struct tokenizer *t, struct splitter *s, const char *text, size_t n, split_fn *fn, void *ctx,
                struct error *err);

/* ---- the tokenizer ----------------------------------------------------------------------------------------------- */

struct tokenizer {
    size_t n_vocab;
    char *bytes;    /* raw bytes of all tokens */
    size_t *starts; /* n_vocab + 1 offsets into bytes */
    uint8_t *types;
    bool *stops;
    int32_t byte_ids[256]; /* token of a single byte, -1: none */
    int32_t *words;        /* raw bytes to id, open addressing, -1: free; only when ignore_merges */
    size_t n_words;
    struct merge *merges;
    size_t n_merges; /* slots, a power of two */

    const struct pretokenizer *pre;
    pcre2_code *steps[PRETOKENIZER_MAX_STEPS];
    size_t n_steps;
    bool nfc, ignore_merges, add_bos;
    int32_t bos, eos;
    char *chat_template;
    struct matcher added, special; /* user-defined tokens; those and control tokens */
};

static inline uint64_t tokenizer_mix(uint64_t x) /* the finaliser of splitmix64 */
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

#endif
