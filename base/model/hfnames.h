/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor names of Hugging Face checkpoints (dense llama and qwen3 families), their roles, and GGUF names. A
 * checkpoint's names share a prefix, "model." for a whole model; only the head, "lm_head.weight", stands beside it. A
 * NULL prefix means the usual one.
 */
#ifndef TERNPACK_BASE_MODEL_HFNAMES_H
#define TERNPACK_BASE_MODEL_HFNAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/model/roles.h"

enum { HFNAMES_MAX = 256 };

/* Prefixes seen in the wild, best known first: a whole model, its inner part alone, a text model within a larger one.
 * NULL past the end. */
const char *hfnames_prefix(size_t i);

/* "model.layers.3.self_attn.q_proj.weight" for a role; `layer` only matters for roles that are per layer. NULL for
 * roles without counterpart (rope_freqs, other), else buf. */
char *hfnames_make(enum role role, int layer, const char *prefix, char buf[HFNAMES_MAX]);
/* The role of a name that stands below `prefix` (or is the head), ROLE_OTHER for others; *layer is -1 when not per
 * layer, and is also set for unknown names that have a layer number (plain decimal, at most six digits, no leading
 * zero). */
enum role hfnames_role(const char *name, const char *prefix, int *layer);

/* The same between names: "blk.3.attn_q.weight" and "model." to "model.layers.3.self_attn.q_proj.weight", and back.
 * False for names without counterpart. */
bool hfnames_of_gguf(const char *gguf, const char *prefix, char buf[HFNAMES_MAX]);
bool hfnames_to_gguf(const char *hf, const char *prefix, char buf[64]);

/* The layer number behind the first "layers." of a name; false when there is none. */
bool hfnames_layer(const char *name, int *layer);

#endif
