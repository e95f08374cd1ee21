/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Causal attention of a batch of new positions over the cache, grouped queries, all in FP32. Work items are (kv head,
 * run of queries); one item holds the scores of its queries only, so memory grows with the context, not with its
 * square. The cut depends on the shapes alone: results do not depend on the number of threads.
 */
#ifndef TERNPACK_RUNTIME_ATTENTION_H
#define TERNPACK_RUNTIME_ATTENTION_H

#include <stddef.h>

#include "base/util/error.h"
#include "base/util/parallel.h"
#include "kernels/kernels.h"
#include "runtime/kv.h"

struct attention {
    const struct kernels *kern;
    struct pool *pool;
    size_t n_head, n_head_kv, head_dim;
    char *scratch; /* per worker */
    size_t worker_bytes;
};

/* n_ctx: most positions ever attended to. */
int attention_open(struct attention *a, const struct kernels *kern, struct pool *pool, size_t n_head, size_t n_head_kv,
                   size_t head_dim, size_t n_ctx, struct error *err);
void attention_close(struct attention *a); /* accepts a zero struct */

/* Queries first..n of the batch whose token 0 stands at position `past`; keys and values of all its tokens are in the
 * cache. q, out: [n][n_head][head_dim]; rows before `first` are neither read nor written. */
void attention_run(const struct attention *a, const struct kv *kv, size_t layer, const float *q, float *out,
                   size_t past, size_t first, size_t n);

#endif
