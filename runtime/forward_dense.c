/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One layer of the dense families. llama: RMSNorm, attention with rotary positions, residual, RMSNorm, SwiGLU,
 * residual. qwen3: the same with an RMSNorm over each query and key head before the rotation.
 */
#include "base/util/bytes.h"
#include "runtime/model_internal.h"

enum { TOKENS = 8 }; /* tokens of one work item in the row-wise steps */

struct rows {
    struct context *c;
    const struct layer *l;
    size_t layer, first, n;
    const float *gain; /* of the norm */
    size_t *overflow;  /* values the cache could not hold */
};

static void run_rows(struct rows *r, pool_fn *fn)
{
    if (r->first < r->n)
        pool_run(r->c->m->opt.pool, (r->n - r->first + TOKENS - 1) / TOKENS, fn, r);
}

static size_t rows_end(const struct rows *r, size_t item)
{
    size_t end = r->first + (item + 1) * TOKENS;
    return end < r->n ? end : r->n;
}

/* norm = rms(x) * gain */
static void norm_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct rows *r = ctx;
    const struct hparams *h = &r->c->m->h;
    for (size_t t = r->first + item * TOKENS, end = rows_end(r, item); t < end; t++)
        r->c->m->opt.kernels->rms_norm(r->c->x + t * h->n_embd, r->gain, h->rms_eps, r->c->norm + t * h->n_embd,
                                       h->n_embd);
}

/* x += norm */
static void add_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct rows *r = ctx;
    size_t w = r->c->m->h.n_embd;
    float *x = r->c->x;
    const float *y = r->c->norm;
    for (size_t i = (r->first + item * TOKENS) * w, end = rows_end(r, item) * w; i < end; i++)
        x[i] += y[i];
}

static void swiglu_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    const struct rows *r = ctx;
    size_t w = r->c->m->h.n_ff, t0 = r->first + item * TOKENS;
    r->c->m->opt.kernels->swiglu(r->c->gate + t0 * w, r->c->up + t0 * w, (rows_end(r, item) - t0) * w);
}

static void rotate_heads(const struct context *c, float *heads, size_t n_heads, const float *gain, size_t t)
{
    const struct hparams *h = &c->m->h;
    size_t n_pairs = h->n_rot / 2;
    for (size_t i = 0; i < n_heads; i++) {
        float *head = heads + i * h->head_dim;
        if (gain)
            c->m->opt.kernels->rms_norm(head, gain, h->rms_eps, head, h->head_dim);
        kernels_rope(head, c->cos_t + t * n_pairs, c->sin_t + t * n_pairs, h->n_rot, h->rope_neox);
    }
}

/* Norm and rotate queries and keys; keys and values go to the cache. */
static void rotate_item(void *ctx, size_t item, unsigned worker)
{
    (void)worker;
    struct rows *r = ctx;
    struct context *c = r->c;
    const struct hparams *h = &c->m->h;
    size_t n_q = (size_t)h->n_head * h->head_dim, n_kv = (size_t)h->n_head_kv * h->head_dim, lost = 0;
    for (size_t t = item * TOKENS, end = rows_end(r, item); t < end; t++) {
        float *k = c->k + t * n_kv, *v = c->v + t * n_kv;
        rotate_heads(c, c->q + t * n_q, h->n_head, r->l->q_norm, t);
        rotate_heads(c, k, h->n_head_kv, r->l->k_norm, t);
        for (size_t i = 0; i < h->n_head_kv; i++) {
            lost += kv_store(c->kv.k, &c->kv, r->layer, i, c->position + t, k + i * h->head_dim);
            lost += kv_store(c->kv.v, &c->kv, r->layer, i, c->position + t, v + i * h->head_dim);
        }
    }
    if (lost)
        __atomic_fetch_add(r->overflow, lost, __ATOMIC_RELAXED);
}

static int tap(const struct context *c, enum role role, size_t layer, const struct weight *w, const float *x, size_t n,
               struct error *err)
{
    return c->tap ? c->tap->input(c->tap->ctx, role, (int)layer, w->name, x, n, w->n_in, err) : 0;
}

static int check_finite(const struct context *c, size_t layer, size_t n, size_t first, struct error *err)
{
    size_t w = c->m->h.n_embd;
    for (size_t t = first; t < n; t++) {
        const float *x = c->x + t * w;
        unsigned bad = 0;
        for (size_t i = 0; i < w; i++)
            bad |= (bytes_f32_bits(x[i]) & 0x7fffffff) >= 0x7f800000;
        if (bad)
            return error_set(err, ERROR_FORMAT, "%s: layer %zu: output at position %zu is not finite",
                             c->m->g.file.path, layer, c->position + t);
    }
    return 0;
}

static int attention_part(struct context *c, size_t layer, size_t n, size_t first, struct error *err)
{
    const struct model *m = c->m;
    const struct layer *l = &m->layers[layer];
    const struct hparams *h = &m->h;
    size_t n_q = (size_t)h->n_head * h->head_dim, n_kv = (size_t)h->n_head_kv * h->head_dim, overflow = 0;
    struct rows r = { .c = c, .l = l, .layer = layer, .n = n, .gain = l->attn_norm, .overflow = &overflow };
    int rc;

    run_rows(&r, norm_item);
    if ((rc = tap(c, ROLE_ATTN_Q, layer, &l->q, c->norm, n, err)) ||
        (rc = tap(c, ROLE_ATTN_K, layer, &l->k, c->norm, n, err)) ||
        (rc = tap(c, ROLE_ATTN_V, layer, &l->v, c->norm, n, err)))
        return rc;
    const struct product qkv[] = { { &l->q, c->q, n_q }, { &l->k, c->k, n_kv }, { &l->v, c->v, n_kv } };
    backend_products(c->backend, c->norm, n, qkv, 3);
    run_rows(&r, rotate_item);
    if (overflow)
        return error_set(err, ERROR_FORMAT,
                         "%s: layer %zu: %zu keys or values do not fit the cache's 16-bit floats; use --kv-type f32",
                         m->g.file.path, layer, overflow);
    attention_run(&c->attention, &c->kv, layer, c->q, c->att, c->position, first, n);
    if ((rc = tap(c, ROLE_ATTN_OUTPUT, layer, &l->o, c->att + first * n_q, n - first, err)))
        return rc;
    const struct product o = { &l->o, c->norm + first * h->n_embd, h->n_embd };
    backend_products(c->backend, c->att + first * n_q, n - first, &o, 1);
    r.first = first;
    run_rows(&r, add_item);
    return 0;
}

static int ffn_part(struct context *c, size_t layer, size_t n, size_t first, struct error *err)
{
    const struct layer *l = &c->m->layers[layer];
    size_t n_embd = c->m->h.n_embd, n_ff = c->m->h.n_ff, rows = n - first;
    struct rows r = { .c = c, .l = l, .layer = layer, .first = first, .n = n, .gain = l->ffn_norm };
    float *norm = c->norm + first * n_embd, *gate = c->gate + first * n_ff;
    int rc;

    run_rows(&r, norm_item);
    if ((rc = tap(c, ROLE_FFN_GATE, layer, &l->gate, norm, rows, err)) ||
        (rc = tap(c, ROLE_FFN_UP, layer, &l->up, norm, rows, err)))
        return rc;
    const struct product gate_up[] = { { &l->gate, gate, n_ff }, { &l->up, c->up + first * n_ff, n_ff } };
    backend_products(c->backend, norm, rows, gate_up, 2);
    run_rows(&r, swiglu_item);
    if ((rc = tap(c, ROLE_FFN_DOWN, layer, &l->down, gate, rows, err)))
        return rc;
    const struct product down = { &l->down, norm, n_embd };
    backend_products(c->backend, gate, rows, &down, 1);
    run_rows(&r, add_item);
    return 0;
}

int forward_layer(struct context *c, size_t layer, size_t n, size_t first, struct error *err)
{
    int rc = attention_part(c, layer, n, first, err);
    if (!rc && first < n)
        rc = ffn_part(c, layer, n, first, err);
    return rc ? rc : check_finite(c, layer, n, first, err);
}
