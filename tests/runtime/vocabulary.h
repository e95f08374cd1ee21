/* SPDX-License-Identifier: Apache-2.0 */
/* Small vocabularies for tests, written as GGUF files of tokenizer keys only. */
#ifndef TERNPACK_TESTS_VOCABULARY_H
#define TERNPACK_TESTS_VOCABULARY_H

#include "base/format/gguf.h"
#include "runtime/tokenizer.h"

enum { VOCABULARY_MAX = 4096 };

struct vocabulary {
    struct arena arena;
    struct gguf_str tokens[VOCABULARY_MAX], merges[VOCABULARY_MAX];
    int32_t types[VOCABULARY_MAX];
    size_t n, n_merges, n_types;             /* n_types 0: as many as tokens; SIZE_MAX: no such key */
    const char *model, *pre, *chat_template; /* NULL: no such key */
    int64_t bos, eos, eot;                   /* negative: no such key */
    int32_t stops[8];
    size_t n_stops;
    int nfc, ignore_merges, add_bos; /* -1: no such key */
    bool no_tokens, no_merges;
};

/* The 256 tokens of single bytes, id = byte. */
void vocabulary_init(struct vocabulary *v, const char *pre);
/* Raw bytes become the text of a token in the byte alphabet. Returns its id, also when it exists. */
int32_t vocabulary_add(struct vocabulary *v, const char *bytes, size_t n);
int32_t vocabulary_add_text(struct vocabulary *v, const char *text, int32_t type); /* text as it is */
/* A merge of two byte strings; adds the joined token. */
int32_t vocabulary_merge(struct vocabulary *v, const char *left, const char *right);
const char *vocabulary_write(const struct vocabulary *v);                               /* path */
int vocabulary_open(const struct vocabulary *v, struct tokenizer **t, struct error *e); /* writes and opens */
void vocabulary_free(struct vocabulary *v);

#endif
