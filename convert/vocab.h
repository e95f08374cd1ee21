/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vocabulary of a checkpoint folder, as the tokenizer.* keys of a GGUF file.
 *
 * Supported are byte-level BPE tokenizers (tokenizer.json, model type "BPE" with a ByteLevel pre-tokenizer or decoder).
 * The pre-tokenizer is recognised by its rules (base/model/pretokenizer.h), never by the output for a test string.
 * Token types: 1 normal, 3 control (a special added token), 4 user-defined (an added token that is not special), 5
 * unused.
 */
#ifndef TERNPACK_CONVERT_VOCAB_H
#define TERNPACK_CONVERT_VOCAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/util/error.h"
#include "base/util/json.h"

struct vocab; /* immutable after opening */

/*
 * Reads in `dir`: tokenizer.json (required: its absence is ERROR_MISSING that names the file and what to copy), and
 * where present tokenizer_config.json, special_tokens_map.json, generation_config.json, chat_template.jinja or
 * chat_template.json, added_tokens.json. config: config.json, for its token ids and model_type; may be closed
 * afterwards. n_rows: rows of the embedding. Fewer tokens than rows are padded with [PAD<id>] of type 5 and a note;
 * more are ERROR_FORMAT that lists the extra ones. pre: name of a pre-tokenizer that overrides recognition
 * (--pre), or NULL. ERROR_UNSUPPORTED: another kind of tokenizer, or a pre-tokenizer rule that no table entry has (the
 * text prints the rule).
 */
int vocab_open(struct vocab **out, const char *dir, const struct json_doc *config, uint64_t n_rows, const char *pre,
               struct error *err);
/* Adds the tokenizer.* keys (and ternpack.eos_token_ids where generation_config.json lists several) in llama.cpp's
 * order. */
int vocab_put(const struct vocab *v, struct gguf_writer *w, struct error *err);
/* Lines for the report: padding, conflicts between the files, further stop ids. */
size_t vocab_n_notes(const struct vocab *v);
const char *vocab_note(const struct vocab *v, size_t i);
void vocab_free(struct vocab *v); /* NULL is fine */

#endif
