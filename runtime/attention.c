/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/attention.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "base/util/mem.h"

enum {
    QUERIES = 64,   /* positions of one work item */
    KEY_TILE = 256, /* cached rows dequantized at a time */
};

/* Scratch of a worker: scores [queries * group][n_ctx], then queries and results gathered per kv head
 * [queries * group][head_dim] each, then a tile of keys or values. */

int attention_open(struct attention *a, const struct kernels *kern, struct pool *pool, size_t n_head, size_t n_head_kv,
                   size_t head_dim, size_t n_ctx, struct error *err)
{
    *a = (struct attention){
        .kern = kern, .pool = pool, .n_head = n_head, .n_head_kv = n_head_kv, .head_dim = head_dim
    };
    uint64_t rows = (uint64_t)(n_ctx < QUERIES ? n_ctx : QUERIES) * (n_head / n_head_kv), cells, floats;
    if (!mem_mul(rows, n_ctx + 2 * head_dim, &cells) || !mem_add(cells, (uint64_t)KEY_TILE * head_dim, &floats) ||
        floats > SIZE_MAX / 64)
        return error_set(err, ERROR_NOMEM, "attention over %zu positions needs too much memory", n_ctx);
    a->worker_bytes = (floats * sizeof(float) + 63) / 64 * 64;
    a->scratch = mem_aligned(pool ? pool_threads(pool) : 1, a->worker_bytes, "attention scores", err);
    return a->scratch ? 0 : ERROR_NOMEM;
}

void attention_close(struct attention *a)
{
    mem_free(a->scratch);
    *a = (struct attention){ 0 };
}

struct job {
    const struct attention *a;
    const struct kv *kv;
    size_t layer;
    const float *q;
    float *out;
    size_t past, first, n, n_runs;
};

/* scores [rows][n_keys] = queries [rows][head_dim] . keys^T, in tiles of keys. */
static void multiply_keys(const struct job *j, size_t head, const float *q, size_t rows, size_t n_keys, float *scores,
                          float *tile)
{
    const struct attention *a = j->a;
    float scale = 1.0f / sqrtf((float)a->head_dim);
    for (size_t k0 = 0; k0 < n_keys; k0 += KEY_TILE) {
        size_t n = n_keys - k0 < KEY_TILE ? n_keys - k0 : KEY_TILE;
        const float *keys = kv_rows(j->kv->k, j->kv, a->kern, j->layer, head, k0, n, tile);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows, (blasint)n, (blasint)a->head_dim, scale, q,
                    (blasint)a->head_dim, keys, (blasint)a->head_dim, 0.0f, scores + k0, (blasint)n_keys);
    }
}

/* out [rows][head_dim] = scores [rows][n_keys] . values */
static void multiply_values(const struct job *j, size_t head, const float *scores, size_t rows, size_t n_keys,
                            float *out, float *tile)
{
    const struct attention *a = j->a;
    for (size_t k0 = 0; k0 < n_keys; k0 += KEY_TILE) {
        size_t n = n_keys - k0 < KEY_TILE ? n_keys - k0 : KEY_TILE;
        const float *values = kv_rows(j->kv->v, j->kv, a->kern, j->layer, head, k0, n, tile);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)a->head_dim, (blasint)n, 1.0f,
                    scores + k0, (blasint)n_keys, values, (blasint)a->head_dim, k0 ? 1.0f : 0.0f, out,
                    (blasint)a->head_dim);
    }
}

static void attention_item(void *ctx, size_t item, unsigned worker)
{
    const struct job *j = ctx;
    const struct attention *a = j->a;
    size_t head = item / j->n_runs, t0 = j->first + item % j->n_runs * QUERIES;
    size_t n_q = j->n - t0 < QUERIES ? j->n - t0 : QUERIES;
    size_t group = a->n_head / a->n_head_kv, hd = a->head_dim, rows = n_q * group;
    size_t n_keys = j->past + t0 + n_q; /* the last query sees this many */
    float *scores = (float *)(void *)(a->scratch + worker * a->worker_bytes);
    float *q = scores + rows * n_keys, *out = q + rows * hd, *tile = out + rows * hd;

    /* the heads of a group are neighbours: [t][group][head_dim] is contiguous per token */
    for (size_t t = 0; t < n_q; t++)
        memcpy(q + t * group * hd, j->q + ((t0 + t) * a->n_head + head * group) * hd, group * hd * sizeof *q);
    multiply_keys(j, head, q, rows, n_keys, scores, tile);
    for (size_t r = 0; r < rows; r++) {
        size_t seen = j->past + t0 + r / group + 1;
        float *s = scores + r * n_keys;
        a->kern->softmax(s, seen);
        memset(s + seen, 0, (n_keys - seen) * sizeof *s);
    }
    multiply_values(j, head, scores, rows, n_keys, out, tile);
    for (size_t t = 0; t < n_q; t++)
        memcpy(j->out + ((t0 + t) * a->n_head + head * group) * hd, out + t * group * hd, group * hd * sizeof *q);
}

void attention_run(const struct attention *a, const struct kv *kv, size_t layer, const float *q, float *out,
                   size_t past, size_t first, size_t n)
{
    if (first >= n)
        return;
    struct job j = { .a = a,
                     .kv = kv,
                     .layer = layer,
                     .q = q,
                     .out = out,
                     .past = past,
                     .first = first,
                     .n = n,
                     .n_runs = (n - first + QUERIES - 1) / QUERIES };
    pool_run(a->pool, a->n_head_kv * j.n_runs, attention_item, &j);
}
