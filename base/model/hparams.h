/* SPDX-License-Identifier: Apache-2.0 */
/* Model facts from GGUF keys ("<arch>.*"), all checked: ranges, divisibility, agreement with the tensors' shapes. */
#ifndef TERNPACK_BASE_MODEL_HPARAMS_H
#define TERNPACK_BASE_MODEL_HPARAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/util/error.h"

enum rope_scaling { ROPE_NONE, ROPE_LINEAR, ROPE_YARN };
enum arch { ARCH_LLAMA, ARCH_QWEN3 };

struct hparams {
    enum arch arch;
    char arch_name[64];
    uint32_t n_layer, n_ctx_train, n_embd, n_ff, n_head, n_head_kv, n_vocab;
    uint32_t head_dim; /* attention.key_length (== value_length) or n_embd / n_head */
    uint32_t n_rot;    /* rope.dimension_count, even, <= head_dim */
    bool rope_neox;    /* pairs (i, i + n_rot/2) instead of (2i, 2i+1) */
    float rope_base;   /* rope.freq_base */
    float rms_eps;
    enum rope_scaling rope_scaling;
    float rope_factor; /* rope.scaling.factor, 1 when none */
    uint32_t rope_orig_ctx;
    float yarn_ext_factor, yarn_attn_factor, yarn_beta_fast, yarn_beta_slow; /* llama.cpp's defaults 1, 1, 32, 1 */
    bool tied;                                                               /* no output.weight */
};

/* ERROR_UNSUPPORTED for an architecture we do not run (named), ERROR_FORMAT for missing or senseless values and for
 * missing tensors or shapes that differ (named, expected and found). */
int hparams_read(struct hparams *h, const struct gguf *g, struct error *err);

#endif
