/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokenizer of a GGUF file: byte-level BPE (tokenizer.ggml.model "gpt2"). Pre-tokenizer by the name in
 * tokenizer.ggml.pre (gpt-2, smollm, llama-bpe, qwen2, ... see pretokenizer.h); unknown names are ERROR_UNSUPPORTED.
 * Immutable after opening; tokenizer_encode may run on several threads at once (each call has its own match data).
 */
#ifndef TERNPACK_RUNTIME_TOKENIZER_H
#define TERNPACK_RUNTIME_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/util/error.h"

struct tokenizer;

/* The gguf may be closed afterwards. */
int tokenizer_open(struct tokenizer **out, const struct gguf *g, struct error *err);
void tokenizer_close(struct tokenizer *t);

size_t tokenizer_n_vocab(const struct tokenizer *t);
int32_t tokenizer_bos(const struct tokenizer *t); /* -1: none */
int32_t tokenizer_eos(const struct tokenizer *t);
bool tokenizer_add_bos(const struct tokenizer *t); /* the file's wish, with llama.cpp's default for its pre-tokenizer */
bool tokenizer_is_stop(const struct tokenizer *t, int32_t id);  /* eos, eot, eom and every further stop id */
const char *tokenizer_chat_template(const struct tokenizer *t); /* NULL: none */

struct token_list { /* zero-initialise; token_list_free */
    int32_t *ids;
    size_t n, cap;
};
void token_list_free(struct token_list *l);

/* Append the ids of text[0..n). Added (non-special) tokens are always matched; control tokens such as <|im_start|> only
 * when parse_special. BOS/EOS are never added here. Invalid UTF-8 is ERROR_FORMAT with the byte offset. */
int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, bool parse_special, struct token_list *out,
                     struct error *err);
/* Raw bytes of one token (control tokens give their text); NULL for an id out of range. */
const char *tokenizer_piece(const struct tokenizer *t, int32_t id, size_t *n);

#endif
