/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/collect.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/model/roles.h"
#include "base/util/mem.h"

static size_t n_linear(void)
{
    size_t n = 0;
    for (int r = 0; r < ROLE_OTHER; r++)
        n += role_info(r)->linear;
    return n;
}

/* Place of (layer, role) among the slots; role is linear. */
static size_t slot_of(enum role role, size_t layer)
{
    size_t before = 0;
    for (int r = 0; r < (int)role; r++)
        before += role_info(r)->linear;
    return layer * n_linear() + before;
}

static int input(void *ctx, enum role role, int layer, const char *name, const float *x, size_t n_tokens, size_t n_in,
                 struct error *err)
{
    struct collect *c = ctx;
    if (!role_info(role)->linear)
        return 0;
    if (layer < 0 || (size_t)layer >= c->n_layer)
        return error_set(err, ERROR_INTERNAL, "%s: layer %d of %zu", name, layer, c->n_layer);
    struct collect_slot *s = &c->slots[slot_of(role, (size_t)layer)];
    if (s->n_in != n_in || strcmp(s->name, name))
        return error_set(err, ERROR_INTERNAL, "%s: inputs of %zu channels where %s has %" PRIu64, name, n_in, s->name,
                         s->n_in);
    c->kernels->add_squares(x, n_tokens, n_in, n_in, s->sum2);
    s->count += n_tokens;
    return 0;
}

int collect_open(struct collect *c, const struct model *m, const struct kernels *k, size_t n_ctx, struct error *err)
{
    const struct gguf *g = model_gguf(m);
    *c = (struct collect){ .kernels = k, .n_layer = model_hparams(m)->n_layer };
    c->tap = (struct model_tap){ .input = input, .ctx = c };
    c->n_slots = c->n_layer * n_linear();
    int rc = context_open(&c->context, m, (uint32_t)n_ctx, (uint32_t)n_ctx, KV_F32, err);
    if (rc)
        goto out;
    if (!(c->slots = mem_zalloc(c->n_slots, sizeof *c->slots, "statistics", err))) {
        rc = ERROR_NOMEM;
        goto out;
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        int layer;
        enum role role = role_of(t->name, &layer);
        if (!role_info(role)->linear || layer < 0 || (size_t)layer >= c->n_layer)
            continue;
        struct collect_slot *s = &c->slots[slot_of(role, (size_t)layer)];
        *s = (struct collect_slot){ .name = t->name, .n_in = t->ne[0] };
        if (!(s->sum2 = mem_zalloc(s->n_in, sizeof *s->sum2, "statistics", err))) {
            rc = ERROR_NOMEM;
            goto out;
        }
    }
    context_set_tap(c->context, &c->tap);
out:
    if (rc)
        collect_close(c);
    return rc;
}

void collect_close(struct collect *c)
{
    for (size_t i = 0; c->slots && i < c->n_slots; i++)
        mem_free(c->slots[i].sum2);
    mem_free(c->slots);
    context_close(c->context);
    *c = (struct collect){ 0 };
}

int collect_chunk(struct collect *c, const int32_t *ids, size_t n, struct error *err)
{
    context_reset(c->context);
    int rc = context_eval(c->context, ids, n, n, NULL, err);
    for (size_t i = 0; i < c->n_slots && !rc; i++) {
        const struct collect_slot *s = &c->slots[i];
        for (uint64_t j = 0; j < s->n_in && !rc; j++)
            if (!isfinite(s->sum2[j]))
                rc = error_set(err, ERROR_FORMAT, "%s: input channel %" PRIu64 " became %s", s->name, j,
                               isnan(s->sum2[j]) ? "NaN" : "infinite");
    }
    return rc;
}

int collect_stats(const struct collect *c, struct stats *s, struct error *err)
{
    for (size_t i = 0; i < c->n_slots; i++) {
        const struct collect_slot *slot = &c->slots[i];
        struct stats_entry *e;
        if (!slot->count)
            return error_set(err, ERROR_INTERNAL, "%s was never used", slot->name);
        int rc = stats_add(s, slot->name, slot->n_in, 1, &e, err);
        if (rc)
            return rc;
        for (uint64_t j = 0; j < slot->n_in; j++)
            if (!isfinite(e->sum2[j] = (float)slot->sum2[j]))
                return error_set(err, ERROR_FORMAT, "%s: the sum of input channel %" PRIu64 " is too large for a float",
                                 slot->name, j);
        e->counts[0] = (float)slot->count;
    }
    return 0;
}
