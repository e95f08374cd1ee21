/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/score.h"

#include <math.h>
#include <string.h>

#include "base/util/mem.h"

/* Logits held at a time. The head's weights are dequantized once per tile, so few rows are slow. */
enum { LOGITS_BYTES = 32 << 20, MAX_TILE_ROWS = 256, MIN_TILE_ROWS = 16 };

void score_add(struct score_sum *s, double nll)
{
    s->nll += nll;
    s->nll2 += nll * nll;
    s->n++;
}

void score_merge(struct score_sum *s, const struct score_sum *other)
{
    s->nll += other->nll;
    s->nll2 += other->nll2;
    s->n += other->n;
}

double score_mean(const struct score_sum *s)
{
    return s->n ? s->nll / (double)s->n : NAN;
}

double score_perplexity(const struct score_sum *s)
{
    return exp(score_mean(s));
}

double score_stderr(const struct score_sum *s)
{
    double mean = score_mean(s), variance = s->nll2 / (double)s->n - mean * mean;
    return s->n > 1 && variance > 0 ? sqrt(variance / (double)(s->n - 1)) * exp(mean) : 0;
}

double score_nll(const struct kernels *k, const float *logits, size_t n_vocab, int32_t target)
{
    return k->log_sum_exp(logits, n_vocab, NULL) - logits[target];
}

int score_plan(struct score_plan *p, size_t n_tokens, size_t n_ctx, size_t chunks, size_t stride, bool add_bos,
               const char *what, struct error *err)
{
    *p = (struct score_plan){ .window = n_ctx, .step = n_ctx, .first = n_ctx / 2, .bos = add_bos };
    if (stride) {
        p->window = n_ctx + stride / 2;
        p->step = stride;
        if (stride >= p->window)
            return error_set(err, ERROR_USAGE,
                             "--ppl-stride %zu leaves no context before the scored tokens; use less than %zu", stride,
                             n_ctx);
        p->first = p->window - stride - 1;
        p->bos = false;
    }
    p->n_scored = p->window - 1 - p->first;
    size_t need = stride ? p->window + 1 : p->window;
    if (n_tokens < need)
        return error_set(
            err, ERROR_FORMAT,
            "%s: %zu tokens are too few to score; a context of %zu needs at least %zu (choose a smaller -c)", what,
            n_tokens, n_ctx, need);
    p->n_chunks = stride ? (n_tokens - p->window + stride - 1) / stride : n_tokens / n_ctx;
    if (chunks && chunks < p->n_chunks)
        p->n_chunks = chunks;
    return 0;
}

int scorer_open(struct scorer *s, const struct model *m, const struct kernels *k, struct pool *pool,
                const struct score_plan *p, size_t n_batch, enum kv_type kv, int32_t bos, struct error *err)
{
    const struct hparams *h = model_hparams(m);
    *s = (struct scorer){ .m = m,
                          .pool = pool,
                          .k = k,
                          .bos = bos,
                          .window = p->window,
                          .n_scored = p->n_scored,
                          .n_embd = h->n_embd,
                          .n_vocab = h->n_vocab };
    if (p->window > UINT32_MAX / 2)
        return error_set(err, ERROR_USAGE, "a context of %zu is too large", p->window);
    s->tile_rows = LOGITS_BYTES / sizeof(float) / h->n_vocab;
    s->tile_rows = s->tile_rows < MIN_TILE_ROWS   ? MIN_TILE_ROWS
                   : s->tile_rows > MAX_TILE_ROWS ? MAX_TILE_ROWS
                                                  : s->tile_rows;
    if (s->tile_rows > p->n_scored)
        s->tile_rows = p->n_scored;
    size_t n_tiles = (p->n_scored + s->tile_rows - 1) / s->tile_rows; /* equal tiles */
    s->tile_rows = (p->n_scored + n_tiles - 1) / n_tiles;
    n_batch = n_batch < p->window ? n_batch : p->window;
    int rc = context_open(&s->c, m, (uint32_t)p->window, (uint32_t)n_batch, kv, err);
    if (!rc &&
        (!(s->ids = mem_zalloc(p->window, sizeof *s->ids, "token ids", err)) ||
         !(s->hidden = mem_aligned((uint64_t)p->n_scored * h->n_embd, sizeof *s->hidden, "hidden states", err)) ||
         !(s->logits = mem_aligned((uint64_t)s->tile_rows * h->n_vocab, sizeof *s->logits, "logits", err)) ||
         !(s->nll = mem_zalloc(s->tile_rows, sizeof *s->nll, "scores", err))))
        rc = ERROR_NOMEM;
    if (rc)
        scorer_close(s);
    return rc;
}

void scorer_close(struct scorer *s)
{
    context_close(s->c);
    mem_free(s->ids);
    mem_free(s->hidden);
    mem_free(s->logits);
    mem_free(s->nll);
    *s = (struct scorer){ 0 };
}

int scorer_chunk(struct scorer *s, const struct score_plan *p, const int32_t *tokens, struct error *err)
{
    size_t end = p->first + p->n_scored; /* the last token predicts nothing that counts */
    memcpy(s->ids, tokens, p->window * sizeof *s->ids);
    if (p->bos)
        s->ids[0] = s->bos;
    context_reset(s->c);
    for (size_t at = 0; at < end;) {
        size_t n = end - at < context_batch(s->c) ? end - at : context_batch(s->c);
        size_t first = p->first > at ? p->first - at : 0;
        first = first < n ? first : n;
        float *hidden = first < n ? s->hidden + (at + first - p->first) * s->n_embd : NULL;
        int rc = context_eval(s->c, s->ids + at, n, first, hidden, err);
        if (rc)
            return rc;
        at += n;
    }
    return 0;
}

int scorer_logits(struct scorer *s, size_t row, size_t n, struct error *err)
{
    return context_logits(s->c, s->hidden + row * s->n_embd, n, s->logits, err);
}

struct nll_job {
    struct scorer *s;
    const int32_t *targets;
};

static void nll_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct nll_job *j = ctx;
    j->s->nll[item] = score_nll(j->s->k, j->s->logits + item * j->s->n_vocab, j->s->n_vocab, j->targets[item]);
}

void scorer_nll(struct scorer *s, const int32_t *targets, size_t n)
{
    struct nll_job j = { s, targets };
    pool_run(s->pool, n, nll_item, &j);
}
