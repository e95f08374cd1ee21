/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How byte-level BPE tokenizers cut text into words before merging: a table by llama.cpp's names (tokenizer.ggml.pre)
 * and the recognition of a rule in tokenizer.json. A rule is a list of expressions, applied in order: each piece that
 * the step before left is cut so that every match is a piece and every gap between matches is one.
 *
 * Recognition compares rules, not the output for a test string: it knows nothing of vocabularies, and
 * two spellings of one rule (Digits and Split by \p{N}, Isolated and inverted Removed, \r and a carriage return,
 * possessive quantifiers where nothing can be given back) are the same.
 */
#ifndef TERNPACK_BASE_MODEL_PRETOKENIZER_H
#define TERNPACK_BASE_MODEL_PRETOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/error.h"
#include "base/util/json.h"

enum { PRETOKENIZER_MAX_STEPS = 6 };

struct pretokenizer {
    const char *name;
    /* Expressions in the spelling of the `tokenizers` library, ended by NULL. \s means Unicode White_Space, whose set
     * differs from PCRE2's: see regex_translate in runtime/tokenizer_split.c. */
    const char *steps[PRETOKENIZER_MAX_STEPS];
    bool ignore_merges; /* a word that is a token itself is not merged */
    bool add_bos;       /* when the file has no tokenizer.ggml.add_bos_token */
    bool nfc;           /* text is brought to NFC first, when the file has no ternpack.tokenizer.nfc */
};

/* By llama.cpp's name or one of its synonyms; NULL when unknown. */
const struct pretokenizer *pretokenizer_find(const char *name, size_t n);
/* The i-th entry, NULL past the end. */
const struct pretokenizer *pretokenizer_at(size_t i);
/* "gpt-2, smollm, ..." for messages. */
const char *pretokenizer_names(char *buf, size_t cap);

/* The entry with the rule of tokenizer.json's `pre_tokenizer`; among entries with one rule, the one whose ignore_merges
 * is the same. ERROR_UNSUPPORTED prints the rule and names --pre. */
int pretokenizer_match(const struct json *pre_tokenizer, bool ignore_merges, const struct pretokenizer **out,
                       struct error *err);
/* What tokenizer.json's `normalizer` does: nothing or NFC; anything else is ERROR_UNSUPPORTED that prints it. */
int pretokenizer_normalizer(const struct json *normalizer, bool *nfc, struct error *err);

#endif
