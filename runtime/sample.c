/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/sample.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/mem.h"
#include "base/util/rng.h"

void sample_penalize(float *logits, const int32_t *recent, size_t n_recent, double penalty)
{
    for (size_t i = 0; i < n_recent; i++) {
        bool again = false;
        for (size_t j = 0; j < i && !again; j++)
            again = recent[j] == recent[i];
        float *l = &logits[recent[i]];
        if (!again)
            *l = (float)(*l > 0 ? *l / penalty : *l * penalty);
    }
}

/* a before b: the larger logit, then the lower id */
static bool before(const struct sample_item *a, const struct sample_item *b)
{
    return a->logit > b->logit || (a->logit == b->logit && a->id < b->id);
}

static int compare(const void *a, const void *b)
{
    return before(a, b) ? -1 : before(b, a) ? 1 : 0;
}

/* items[0..n) is a heap with the last in order on top; restore it after items[i] changed. */
static void sift(struct sample_item *items, size_t n, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && before(&items[child], &items[child + 1]))
            child++;
        if (!before(&items[i], &items[child]))
            return;
        struct sample_item t = items[i];
        items[i] = items[child];
        items[child] = t;
    }
}

size_t sample_top_k(struct sample_item *items, const float *logits, size_t n, size_t k)
{
    k = k && k < n ? k : n;
    for (size_t i = 0; i < k; i++)
        items[i] = (struct sample_item){ .id = (int32_t)i, .logit = logits[i] };
    if (k < n) {
        for (size_t i = k / 2; i-- > 0;)
            sift(items, k, i);
        for (size_t i = k; i < n; i++) {
            struct sample_item next = { .id = (int32_t)i, .logit = logits[i] };
            if (!before(&next, &items[0]))
                continue;
            items[0] = next;
            sift(items, k, 0);
        }
    }
    qsort(items, k, sizeof *items, compare);
    return k;
}

void sample_softmax(struct sample_item *items, size_t n, double temp)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += items[i].p = exp(((double)items[i].logit - items[0].logit) / temp);
    for (size_t i = 0; i < n; i++)
        items[i].p /= sum;
}

size_t sample_top_p(const struct sample_item *items, size_t n, double top_p)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        if ((sum += items[i].p) >= top_p)
            return i + 1;
    return n;
}

size_t sample_min_p(const struct sample_item *items, size_t n, double min_p)
{
    size_t keep = 1;
    while (keep < n && items[keep].p >= min_p * items[0].p)
        keep++;
    return keep < n ? keep : n;
}

size_t sample_mirostat(const struct sample_item *items, size_t n, double mu)
{
    size_t keep = 1;
    while (keep < n && -log2(items[keep].p) <= mu)
        keep++;
    return keep < n ? keep : n;
}

size_t sample_draw(const struct sample_item *items, size_t n, double u)
{
    double sum = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        sum += items[i].p;
    for (size_t i = 0; i + 1 < n; i++)
        if ((at += items[i].p) > u * sum)
            return i;
    return n - 1;
}

struct sampler {
    struct sample_params p;
    struct rng rng;
    double mu;
    size_t n_vocab, n_recent, next_recent;
    struct sample_item *items; /* [n_vocab] */
    float *logits;             /* [n_vocab] */
    int32_t *recent;           /* [repeat_last_n], a ring */
};

int sampler_open(struct sampler **out, const struct sample_params *p, size_t n_vocab, struct error *err)
{
    struct sampler *s = *out = mem_zalloc(1, sizeof *s, "sampler", err);
    if (!s)
        return ERROR_NOMEM;
    *s = (struct sampler){ .p = *p, .mu = 2 * p->mirostat_ent, .n_vocab = n_vocab };
    rng_seed(&s->rng, p->seed);
    if ((s->items = mem_zalloc(n_vocab, sizeof *s->items, "candidates", err)) &&
        (s->logits = mem_zalloc(n_vocab, sizeof *s->logits, "candidates", err)) &&
        (s->recent = mem_zalloc(p->repeat_last_n, sizeof *s->recent, "recent tokens", err)))
        return 0;
    sampler_close(s);
    *out = NULL;
    return ERROR_NOMEM;
}

void sampler_close(struct sampler *s)
{
    if (!s)
        return;
    mem_free(s->items);
    mem_free(s->logits);
    mem_free(s->recent);
    mem_free(s);
}

void sampler_accept(struct sampler *s, int32_t id)
{
    if (!s->p.repeat_last_n)
        return;
    s->recent[s->next_recent] = id;
    s->next_recent = (s->next_recent + 1) % s->p.repeat_last_n;
    if (s->n_recent < s->p.repeat_last_n)
        s->n_recent++;
}

static int32_t draw_mirostat(struct sampler *s)
{
    size_t n = sample_top_k(s->items, s->logits, s->n_vocab, 0);
    sample_softmax(s->items, n, s->p.temp);
    n = sample_mirostat(s->items, n, s->mu);
    double kept = 0;
    for (size_t i = 0; i < n; i++)
        kept += s->items[i].p;
    size_t i = sample_draw(s->items, n, rng_f64(&s->rng));
    s->mu -= s->p.mirostat_lr * (-log2(s->items[i].p / kept) - s->p.mirostat_ent);
    return s->items[i].id;
}

static int32_t draw(struct sampler *s)
{
    size_t n = sample_top_k(s->items, s->logits, s->n_vocab, s->p.temp > 0 ? s->p.top_k : 1);
    if (!(s->p.temp > 0))
        return s->items[0].id;
    sample_softmax(s->items, n, 1);
    n = sample_top_p(s->items, n, s->p.top_p);
    n = sample_min_p(s->items, n, s->p.min_p);
    sample_softmax(s->items, n, s->p.temp);
    return s->items[sample_draw(s->items, n, rng_f64(&s->rng))].id;
}

int32_t sampler_next(struct sampler *s, const float *logits)
{
    memcpy(s->logits, logits, s->n_vocab * sizeof *logits);
    if (s->p.repeat_penalty != 1)
        sample_penalize(s->logits, s->recent, s->n_recent, s->p.repeat_penalty);
    int32_t id = s->p.mirostat && s->p.temp > 0 ? draw_mirostat(s) : draw(s);
    sampler_accept(s, id);
    return id;
}
