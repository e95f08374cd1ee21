/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/backend.h"

#include <cblas.h>

#include "base/util/mem.h"

enum {
    MAX_PRODUCTS = 4,
    QUANTIZE_TOKENS = 16, /* tokens of one work item when activations are quantized */
    TERNARY_ROWS = 64,    /* weight rows of one work item */
    DOT_ROWS = 256,       /* the same when there is a single token */
    /* Dense weights are dequantized into a tile that stays in the second-level cache's neighbourhood: every tile makes
     * the BLAS repack the activations, so few rows are slow; many rows spill. */
    TILE_FLOATS = 256 * 1024,
    TILE_MAX_ROWS = 384,
    TILE_MIN_ROWS = 16,
};

struct backend {
    const struct kernels *k;
    struct pool *pool;
    bool exact;
    size_t max_tokens, max_in;
    unsigned n_workers;
    char *scratch; /* [n_workers][worker_bytes], 64-aligned */
    size_t worker_bytes;
    int8_t *q; /* [max_tokens][max_in] */
    float *a;  /* [max_tokens][max_in / 64] */
};

int backend_open(struct backend **out, const struct kernels *k, struct pool *pool, bool exact, size_t max_tokens,
                 size_t max_in, struct error *err)
{
    struct backend *b = *out = mem_zalloc(1, sizeof *b, "backend", err);
    if (!b)
        return ERROR_NOMEM;
    *b = (struct backend){ .k = k, .pool = pool, .exact = exact, .max_tokens = max_tokens, .max_in = max_in };
    b->n_workers = pool ? pool_threads(pool) : 1;
    openblas_set_num_threads(1); /* the pool is the only place that makes threads */

    size_t tile = max_in * TILE_MIN_ROWS > TILE_FLOATS ? max_in * TILE_MIN_ROWS : TILE_FLOATS;
    size_t bytes = tile * sizeof(float), ternary = kernels_scratch(max_in);
    b->worker_bytes = ((bytes > ternary ? bytes : ternary) + 63) / 64 * 64;
    b->scratch = mem_aligned(b->n_workers, b->worker_bytes, "weight tiles", err);
    uint64_t n;
    if (!mem_mul(max_tokens, max_in, &n))
        n = UINT64_MAX;
    if (!exact) {
        b->q = mem_aligned(n, sizeof *b->q, "quantized activations", err);
        b->a = mem_aligned(n / KERNELS_ACT_BLOCK + max_tokens, sizeof *b->a, "activation scales", err);
    }
    if (b->scratch && (exact || (b->q && b->a)))
        return 0;
    backend_close(b);
    *out = NULL;
    return ERROR_NOMEM;
}

void backend_close(struct backend *b)
{
    if (!b)
        return;
    mem_free(b->scratch);
    mem_free(b->q);
    mem_free(b->a);
    mem_free(b);
}

struct job {
    struct backend *b;
    const float *x;
    size_t n_tokens, n_in;
    const struct product *p;
    size_t n_products;
    size_t rows[MAX_PRODUCTS];      /* rows of one tile */
    size_t first[MAX_PRODUCTS + 1]; /* first work item of each product */
};

static bool as_ternary(const struct backend *b, const struct weight *w)
{
    return w->ternary && !b->exact;
}

/* Equal tiles, as few as the limit allows. */
static size_t tile_rows(const struct backend *b, const struct weight *w, size_t n_tokens)
{
    size_t limit;
    if (as_ternary(b, w)) {
        limit = TERNARY_ROWS;
    } else if (n_tokens == 1) {
        limit = DOT_ROWS;
    } else {
        limit = TILE_FLOATS / w->n_in;
        limit = limit > TILE_MAX_ROWS ? TILE_MAX_ROWS : limit < TILE_MIN_ROWS ? TILE_MIN_ROWS : limit;
    }
    size_t n_tiles = (w->n_out + limit - 1) / limit;
    size_t rows = ((w->n_out + n_tiles - 1) / n_tiles + 7) / 8 * 8;
    return rows < limit ? rows : limit;
}

static void quantize_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct job *j = ctx;
    size_t end = (item + 1) * QUANTIZE_TOKENS;
    for (size_t t = item * QUANTIZE_TOKENS; t < end && t < j->n_tokens; t++)
        j->b->k->quantize_act(j->x + t * j->n_in, j->b->q + t * j->n_in, j->b->a + t * (j->n_in / KERNELS_ACT_BLOCK),
                              j->n_in);
}

static void dense_tile(const struct job *j, const struct product *p, size_t r0, size_t n_rows, float *tile)
{
    const struct weight *w = p->w;
    const uint8_t *data = w->data + r0 * w->row_bytes;
    const float *rows = tile;
    if (w->type == BLOCK_F32 && (uintptr_t)data % sizeof(float) == 0) {
        rows = (const float *)(const void *)data;
    } else {
        for (size_t r = 0; r < n_rows; r++)
            j->b->k->dequantize(w->type, data + r * w->row_bytes, tile + r * w->n_in, w->n_in);
    }
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)j->n_tokens, (blasint)n_rows, (blasint)w->n_in, 1.0f,
                j->x, (blasint)j->n_in, rows, (blasint)w->n_in, 0.0f, p->y + r0, (blasint)p->y_stride);
}

static void product_item(void *ctx, size_t item, unsigned worker)
{
    const struct job *j = ctx;
    size_t i = 0;
    while (item >= j->first[i + 1])
        i++;
    const struct product *p = &j->p[i];
    const struct weight *w = p->w;
    size_t r0 = (item - j->first[i]) * j->rows[i];
    size_t n_rows = w->n_out - r0 < j->rows[i] ? w->n_out - r0 : j->rows[i];
    void *scratch = j->b->scratch + worker * j->b->worker_bytes;

    if (as_ternary(j->b, w)) {
        j->b->k->ternary_matmul(w->type, w->data + r0 * w->row_bytes, w->row_bytes, n_rows, w->n_in, j->b->q, j->b->a,
                                j->n_tokens, p->y + r0, p->y_stride, scratch);
    } else if (j->n_tokens == 1) {
        for (size_t r = r0; r < r0 + n_rows; r++)
            p->y[r] = j->b->k->dense_dot(w->type, w->data + r * w->row_bytes, j->x, w->n_in);
    } else {
        dense_tile(j, p, r0, n_rows, scratch);
    }
}

void backend_products(struct backend *b, const float *x, size_t n_tokens, const struct product *p, size_t n_products)
{
    struct job j = { .b = b, .x = x, .n_tokens = n_tokens, .n_in = p[0].w->n_in, .p = p, .n_products = n_products };
    bool quantize = false;
    if (!n_tokens)
        return;
    for (size_t i = 0; i < n_products; i++) {
        quantize |= as_ternary(b, p[i].w);
        j.rows[i] = tile_rows(b, p[i].w, n_tokens);
        j.first[i + 1] = j.first[i] + (p[i].w->n_out + j.rows[i] - 1) / j.rows[i];
    }
    if (quantize)
        pool_run(b->pool, (n_tokens + QUANTIZE_TOKENS - 1) / QUANTIZE_TOKENS, quantize_item, &j);
    pool_run(b->pool, j.first[n_products], product_item, &j);
}
