/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perplexity as llama-perplexity defines it. The text's tokens are cut into chunks of n_ctx without overlap; each chunk
 * is evaluated from an empty cache, its first token replaced by BOS when the model asks for that; position i predicts
 * token i+1, and positions n_ctx/2 .. n_ctx-2 count. perplexity = exp(mean nll), its standard error that of the mean
 * times the perplexity. Strided: windows of n_ctx + stride/2 tokens, `stride` apart, of which the last `stride`
 * predictions count, no BOS. Sums are in double, in token order.
 */
#ifndef TERNPACK_RUNTIME_SCORE_H
#define TERNPACK_RUNTIME_SCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/parallel.h"
#include "kernels/kernels.h"
#include "runtime/model.h"

struct score_sum {
    double nll, nll2; /* sums of -ln p and of its square */
    uint64_t n;
};
void score_add(struct score_sum *s, double nll);
void score_merge(struct score_sum *s, const struct score_sum *other);
double score_mean(const struct score_sum *s);       /* mean nll */
double score_perplexity(const struct score_sum *s); /* exp of it */
double score_stderr(const struct score_sum *s);     /* of the perplexity; 0 for fewer than two tokens */

/* -ln softmax(logits)[target] */
double score_nll(const struct kernels *k, const float *logits, size_t n_vocab, int32_t target);

struct score_plan {
    size_t window;   /* tokens of a chunk */
    size_t step;     /* from one chunk's start to the next */
    size_t first;    /* first position whose prediction counts */
    size_t n_scored; /* predictions counted per chunk */
    size_t n_chunks;
    bool bos; /* the first token is replaced by BOS */
};
/* chunks 0: all. ERROR_USAGE for a stride that leaves no context, ERROR_FORMAT when the text is too short. `what` names
 * the text in the error. */
int score_plan(struct score_plan *p, size_t n_tokens, size_t n_ctx, size_t chunks, size_t stride, bool add_bos,
               const char *what, struct error *err);

/* Evaluates chunks of one model. */
struct scorer {
    const struct model *m;
    struct context *c;
    struct pool *pool;
    const struct kernels *k;
    int32_t bos;
    size_t window, n_scored, n_embd, n_vocab, tile_rows;
    int32_t *ids;  /* [window] */
    float *hidden; /* [n_scored][n_embd] */
    float *logits; /* [tile_rows][n_vocab] */
    double *nll;   /* [tile_rows] */
};
int scorer_open(struct scorer *s, const struct model *m, const struct kernels *k, struct pool *pool,
                const struct score_plan *p, size_t n_batch, enum kv_type kv, int32_t bos, struct error *err);
void scorer_close(struct scorer *s); /* accepts a zero struct */
/* Fill s->hidden for a chunk that starts at tokens[0]. */
int scorer_chunk(struct scorer *s, const struct score_plan *p, const int32_t *tokens, struct error *err);
/* Fill s->logits for rows [row, row + n) of the chunk, n <= tile_rows. */
int scorer_logits(struct scorer *s, size_t row, size_t n, struct error *err);
/* Fill s->nll for the n rows now in s->logits, on the pool. */
void scorer_nll(struct scorer *s, const int32_t *targets, size_t n);

#endif
