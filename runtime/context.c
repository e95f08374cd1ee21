/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/mem.h"
#include "runtime/model_internal.h"
#include "runtime/rope.h"

static float *rows_alloc(const struct context *c, uint64_t width, struct error *err)
{
    uint64_t n;
    return mem_aligned(mem_mul(c->n_batch, width, &n) ? n : UINT64_MAX, sizeof(float), "activations", err);
}

static int context_init(struct context *c, enum kv_type kv, struct error *err)
{
    const struct hparams *h = &c->m->h;
    const struct model_options *o = &c->m->opt;
    size_t n_q = (size_t)h->n_head * h->head_dim, n_kv = (size_t)h->n_head_kv * h->head_dim;
    size_t widest = h->n_ff > h->n_embd ? h->n_ff : h->n_embd;
    widest = n_q > widest ? n_q : widest;
    int rc;
    if ((rc = kv_open(&c->kv, kv, h->n_layer, h->n_head_kv, c->n_ctx, h->head_dim, err)) ||
        (rc = backend_open(&c->backend, o->kernels, o->pool, o->exact, c->n_batch, widest, err)) ||
        (rc = attention_open(&c->attention, o->kernels, o->pool, h->n_head, h->n_head_kv, h->head_dim, c->n_ctx, err)))
        return rc;
    if (!(c->x = rows_alloc(c, h->n_embd, err)) || !(c->norm = rows_alloc(c, h->n_embd, err)) ||
        !(c->q = rows_alloc(c, n_q, err)) || !(c->att = rows_alloc(c, n_q, err)) ||
        !(c->k = rows_alloc(c, n_kv, err)) || !(c->v = rows_alloc(c, n_kv, err)) ||
        !(c->gate = rows_alloc(c, h->n_ff, err)) || !(c->up = rows_alloc(c, h->n_ff, err)) ||
        !(c->cos_t = rows_alloc(c, h->n_rot / 2, err)) || !(c->sin_t = rows_alloc(c, h->n_rot / 2, err)))
        return ERROR_NOMEM;
    return 0;
}

int context_open(struct context **out, const struct model *m, uint32_t n_ctx, uint32_t n_batch, enum kv_type kv,
                 struct error *err)
{
    *out = NULL;
    if (!n_ctx || !n_batch || n_batch > INT32_MAX / 4)
        return error_set(err, ERROR_USAGE, "a context needs at least one position and a batch of 1 to %d tokens",
                         INT32_MAX / 4);
    struct context *c = mem_zalloc(1, sizeof *c, "context", err);
    if (!c)
        return ERROR_NOMEM;
    c->m = m;
    c->n_ctx = n_ctx;
    c->n_batch = n_batch < n_ctx ? n_batch : n_ctx;
    int rc = context_init(c, kv, err);
    if (rc)
        context_close(c);
    else
        *out = c;
    return rc;
}

void context_close(struct context *c)
{
    if (!c)
        return;
    kv_close(&c->kv);
    backend_close(c->backend);
    attention_close(&c->attention);
    float *rows[] = { c->x, c->norm, c->q, c->att, c->k, c->v, c->gate, c->up, c->cos_t, c->sin_t };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        mem_free(rows[i]);
    mem_free(c);
}

uint32_t context_batch(const struct context *c)
{
    return c->n_batch;
}

void context_reset(struct context *c)
{
    c->position = 0;
}

uint32_t context_position(const struct context *c)
{
    return c->position;
}

int context_truncate(struct context *c, uint32_t position)
{
    if (position > c->position)
        return ERROR_USAGE;
    c->position = position;
    return 0;
}

void context_set_tap(struct context *c, const struct model_tap *tap)
{
    c->tap = tap;
}

static int check_call(const struct context *c, const int32_t *ids, size_t n, size_t first, struct error *err)
{
    if (n > c->n_batch || n > c->n_ctx - c->position || first > n)
        return error_set(err, ERROR_USAGE,
                         "%zu tokens at position %u do not fit a context of %u (at most %u at a time)", n, c->position,
                         c->n_ctx, c->n_batch);
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= c->m->h.n_vocab)
            return error_set(err, ERROR_FORMAT, "token %zu: id %d is outside the vocabulary of %u", i, ids[i],
                             c->m->h.n_vocab);
    return 0;
}

int context_eval(struct context *c, const int32_t *ids, size_t n, size_t first, float *hidden, struct error *err)
{
    const struct model *m = c->m;
    const struct hparams *h = &m->h;
    size_t n_embd = h->n_embd, n_pairs = h->n_rot / 2;
    int rc = check_call(c, ids, n, first, err);
    if (rc || !n)
        return rc;
    for (size_t t = 0; t < n; t++) {
        m->opt.kernels->dequantize(m->embd.type, m->embd.data + (size_t)ids[t] * m->embd.row_bytes, c->x + t * n_embd,
                                   n_embd);
        rope_table(m->rope_freq, m->rope_gain, n_pairs, (uint32_t)(c->position + t), c->cos_t + t * n_pairs,
                   c->sin_t + t * n_pairs);
    }
    if (!hidden)
        first = n;
    for (uint32_t i = 0; i < h->n_layer; i++) {
        bool last = i + 1 == h->n_layer && !c->tap; /* nobody looks at the last layer's other rows */
        if ((rc = interrupt_check(err)) || (rc = forward_layer(c, i, n, last ? first : 0, err)))
            return rc;
    }
    for (size_t t = first; t < n; t++)
        m->opt.kernels->rms_norm(c->x + t * n_embd, m->output_norm, h->rms_eps, hidden + (t - first) * n_embd, n_embd);
    c->position += (uint32_t)n;
    return 0;
}

int context_logits(struct context *c, const float *hidden, size_t n_rows, float *logits, struct error *err)
{
    const struct model *m = c->m;
    size_t n_embd = m->h.n_embd, n_vocab = m->h.n_vocab;
    for (size_t i = 0; i < n_rows; i += c->n_batch) {
        size_t n = n_rows - i < c->n_batch ? n_rows - i : c->n_batch;
        const float *x = hidden + i * n_embd;
        int rc = interrupt_check(err);
        if (!rc && c->tap && c->tap->head)
            rc = c->tap->input(c->tap->ctx, m->h.tied ? ROLE_TOKEN_EMBD : ROLE_OUTPUT, -1, m->head.name, x, n, n_embd,
                               err);
        if (rc)
            return rc;
        const struct product p = { &m->head, logits + i * n_vocab, n_vocab };
        backend_products(c->backend, x, n, &p, 1);
    }
    return 0;
}
