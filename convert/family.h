/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between the model families that tern-convert knows; one constant record each, in arch_*.c. */
#ifndef TERNPACK_CONVERT_FAMILY_H
#define TERNPACK_CONVERT_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/util/error.h"
#include "convert/config.h"

struct family {
    const char *architecture; /* in config.json's architectures */
    const char *model_type;
    const char *gguf;          /* general.architecture and the prefix of the keys */
    bool qk_norm;              /* RMS norm of each Q and K head */
    bool permute_qk;           /* rotary pairs are neighbours in GGUF and half a head apart in the checkpoint */
    bool kv_defaults_to_heads; /* num_key_value_heads may be absent */
    uint32_t default_head_dim; /* 0: hidden_size / num_attention_heads */
    /* Checks beyond the common ones (sliding windows and the like). */
    int (*check)(const struct config *c, struct error *err);
    /* Keys that follow general.file_type. */
    int (*put_keys)(const struct config *c, struct gguf_writer *w, struct error *err);
};

extern const struct family family_llama, family_mistral, family_qwen3;

/* NULL past the end. */
const struct family *family_at(unsigned index);
/* By architectures entry (aliases included) or, when that is NULL, by model_type; NULL when unknown. */
const struct family *family_find(const char *architecture, const char *model_type);

/* Check for families without their own checks: always 0. */
int family_no_check(const struct config *c, struct error *err);
/* vocab_size and rope.dimension_count, which some of llama.cpp's families state and others leave to the tensors. */
int family_put_vocab_and_rope(const struct config *c, struct gguf_writer *w, struct error *err);
int family_put_nothing(const struct config *c, struct gguf_writer *w, struct error *err);

/* A row of a permuted Q or K matrix comes from this row of the checkpoint's: within each head, row 2i+s of the file is
 * row s*head_dim/2 + i of the checkpoint, so that the two rows which rotate together become neighbours. */
uint64_t family_permuted_row(uint64_t row, uint32_t head_dim);
/* rope_freqs.weight of llama3 scaling: head_dim/2 divisors. */
void family_llama3_freqs(const struct config *c, float *out);

#endif
