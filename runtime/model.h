/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Model and context. A model is the mapped GGUF file plus what was derived from it; a context is one sequence: its KV
 * cache and scratch. A model is immutable and shared; a context belongs to one thread (which may use the pool inside).
 *
 * Shapes: hidden [n_tokens][n_embd], logits [n_rows][n_vocab], all FP32 row-major.
 */
#ifndef TERNPACK_RUNTIME_MODEL_H
#define TERNPACK_RUNTIME_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/model/hparams.h"
#include "base/model/roles.h"
#include "base/util/error.h"
#include "base/util/parallel.h"
#include "kernels/kernels.h"

struct model;
struct context;

struct model_options {
    const struct kernels *kernels; /* required */
    struct pool *pool;             /* NULL: the caller's thread only */
    bool exact;                    /* ternary weights times FP32 activations */
    bool no_mmap;                  /* read weights into memory instead of mapping */
    bool mlock;                    /* lock weights in memory; failure is ERROR_IO with advice on ulimit -l */
};

/* Checks hyperparameters, shapes, types (ERROR_UNSUPPORTED names tensor and type) and refuses prism.hadamard.* keys. */
int model_open(struct model **out, const char *path, const struct model_options *opt, struct error *err);
void model_close(struct model *m);
const struct hparams *model_hparams(const struct model *m);
const struct gguf *model_gguf(const struct model *m);

/* Called with the input rows of a linear weight just before it is used: x [n_tokens][n_in]. The same rows come once for
 * each weight that shares them (q, k, v; gate, up). Called on the evaluating thread, in layer order; also for the head
 * ("output.weight", or "token_embd.weight" when tied) when tap_head is set. A non-zero return stops the evaluation. */
struct model_tap {
    int (*input)(void *ctx, enum role role, int layer, const char *name, const float *x, size_t n_tokens, size_t n_in,
                 struct error *err);
    void *ctx;
    bool head;
};

enum kv_type { KV_F32, KV_F16, KV_Q8_0 };

/* n_ctx: most positions; n_batch: most tokens in one context_eval. */
int context_open(struct context **out, const struct model *m, uint32_t n_ctx, uint32_t n_batch, enum kv_type kv,
                 struct error *err);
void context_close(struct context *c);
uint32_t context_batch(const struct context *c);                      /* most tokens in one context_eval */
void context_reset(struct context *c);                                /* position 0 again */
uint32_t context_position(const struct context *c);                   /* tokens held */
int context_truncate(struct context *c, uint32_t position);           /* forget positions >= this */
void context_set_tap(struct context *c, const struct model_tap *tap); /* borrowed; NULL: none */

/* Run n tokens (ids checked against n_vocab) after those held. hidden (may be NULL) receives rows [first, n) after the
 * final norm. A NaN or infinity in a layer's output is ERROR_FORMAT naming layer and position. */
int context_eval(struct context *c, const int32_t *ids, size_t n, size_t first, float *hidden, struct error *err);
/* Head: logits [n_rows][n_vocab] of hidden rows. */
int context_logits(struct context *c, const float *hidden, size_t n_rows, float *logits, struct error *err);

#endif
