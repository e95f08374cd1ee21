/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between GGUF names and those of Hugging Face checkpoints (dense llama and qwen3 families). A checkpoint's names share
 * a prefix, "model." for a whole model; only the head, "lm_head.weight", stands beside it.
 */
#ifndef TERNPACK_BASE_MODEL_HFNAMES_H
#define TERNPACK_BASE_MODEL_HFNAMES_H

#include <stdbool.h>
#include <stddef.h>

enum { HFNAMES_MAX = 128 };

/* Prefixes seen in the wild, best known first; NULL past the end. */
const char *hfnames_prefix(size_t i);

/* "blk.3.attn_q.weight" and "model." to "model.layers.3.self_attn.q_proj.weight". False for names without counterpart.
 */
bool hfnames_of_gguf(const char *gguf, const char *prefix, char buf[HFNAMES_MAX]);
/* The other way; false for names that do not begin with the prefix or map to nothing. */
bool hfnames_to_gguf(const char *hf, const char *prefix, char buf[64]);

#endif
