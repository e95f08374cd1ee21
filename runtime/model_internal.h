/* SPDX-License-Identifier: Apache-2.0 */
/* What model.c, context.c and forward_dense.c share; other files use model.h. */
#ifndef TERNPACK_RUNTIME_MODEL_INTERNAL_H
#define TERNPACK_RUNTIME_MODEL_INTERNAL_H

#include "runtime/attention.h"
#include "runtime/backend.h"
#include "runtime/kv.h"
#include "runtime/model.h"

struct layer {
    struct weight q, k, v, o, gate, up, down;
    float *attn_norm, *ffn_norm; /* [n_embd] */
    float *q_norm, *k_norm;      /* [head_dim]; NULL: the family has none */
};

struct model {
    struct gguf g;
    struct hparams h;
    struct model_options opt;
    uint8_t *data; /* no_mmap: bytes [g.data_offset, file end) */
    struct layer *layers;
    struct weight embd, head; /* head is embd when tied */
    float *output_norm;       /* [n_embd] */
    double *rope_freq;        /* [n_rot/2] */
    double rope_gain;
    struct arena arena; /* the small arrays */
};

struct context {
    const struct model *m;
    uint32_t n_ctx, n_batch, position;
    struct kv kv;
    struct backend *backend;
    struct attention attention;
    const struct model_tap *tap; /* borrowed */
    /* [n_batch][...] */
    float *x, *norm;      /* n_embd: the residual stream, its normed copy (also a product's result) */
    float *q, *att;       /* n_head * head_dim */
    float *k, *v;         /* n_head_kv * head_dim */
    float *gate, *up;     /* n_ff */
    float *cos_t, *sin_t; /* n_rot / 2 */
};

/* One layer over n tokens at positions [position, position + n). After keys and values only rows [first, n) go on. */
int forward_layer(struct context *c, size_t layer, size_t n, size_t first, struct error *err);

#endif
