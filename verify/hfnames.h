/* SPDX-License-Identifier: Apache-2.0 */
/* Between GGUF names and those of Hugging Face checkpoints (dense llama and qwen3 families). */
#ifndef TERNPACK_VERIFY_HFNAMES_H
#define TERNPACK_VERIFY_HFNAMES_H

#include <stdbool.h>

enum { HFNAMES_MAX = 128 };

/* "blk.3.attn_q.weight" to "model.layers.3.self_attn.q_proj.weight" (prefix "model.") or "layers.3. ..." (prefix "").
 * The head is "lm_head.weight" in both. False for names that have no counterpart. */
bool hfnames_of_gguf(const char *gguf, const char *prefix, char buf[HFNAMES_MAX]);
/* The other way; the prefix may be there or not. */
bool hfnames_to_gguf(const char *hf, char buf[64]);

#endif
