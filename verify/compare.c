/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/stats.h"
#include "kernels/codec.h"
#include "verify/reference.h"

/* ---- the metric ---- */

void compare_add(struct compare_sums *s, const float *w, const float *v, size_t n, const double *h, uint64_t first,
                 uint64_t n_cols)
{
    double dd = s->dd, ww = s->ww, vv = s->vv, wv = s->wv, max = s->max;
    uint64_t zeros = 0;

    for (size_t i = 0; i < n; i++) {
        double a = (double)w[i], b = (double)v[i], d = a - b, m = fabs(d);
        dd += d * d;
        ww += a * a;
        vv += b * b;
        wv += a * b;
        zeros += b == 0;
        if (!(m <= max)) /* also takes NaN, and keeps it: no number is above it */
            max = isnan(max) ? max : m;
    }
    s->dd = dd;
    s->ww = ww;
    s->vv = vv;
    s->wv = wv;
    s->max = max;
    s->zeros += zeros;
    s->n += n;
    for (size_t i = 0, col = (size_t)(first % n_cols); h && i < n; i++) {
        double a = (double)w[i], d = a - (double)v[i];
        s->hdd += h[col] * d * d;
        s->hww += h[col] * a * a;
        if (++col == n_cols)
            col = 0;
    }
}

void compare_merge(struct compare_sums *into, const struct compare_sums *from)
{
    into->n += from->n;
    into->zeros += from->zeros;
    into->bytes += from->bytes;
    into->dd += from->dd;
    into->ww += from->ww;
    into->vv += from->vv;
    into->wv += from->wv;
    into->hdd += from->hdd;
    into->hww += from->hww;
    if (!(from->max <= into->max))
        into->max = isnan(into->max) ? into->max : from->max;
}

static double ratio(double dd, double ww)
{
    return dd == 0 ? 0 : sqrt(dd / ww);
}

double compare_relative(const struct compare_sums *s)
{
    return ratio(s->dd, s->ww);
}

double compare_weighted(const struct compare_sums *s)
{
    return ratio(s->hdd, s->hww);
}

double compare_cosine(const struct compare_sums *s)
{
    if (s->dd == 0)
        return 1;
    if (s->ww == 0 || s->vv == 0)
        return 0;
    return s->wv / (sqrt(s->ww) * sqrt(s->vv));
}

double compare_bpw(const struct compare_sums *s)
{
    return s->n ? 8.0 * (double)s->bytes / (double)s->n : 0;
}

double compare_zeros(const struct compare_sums *s)
{
    return s->n ? (double)s->zeros / (double)s->n : 0;
}

/* ---- the pass ---- */

struct worker {
    uint8_t *raw; /* 8 * REFERENCE_CHUNK bytes */
    float *w, *v; /* REFERENCE_CHUNK each */
    double *h;    /* columns of the widest weighted tensor; NULL: none */
};

struct run {
    const struct gguf *g;
    const struct reference *ref;
    const struct stats *stats; /* NULL: none */
    const struct compare_options *o;
    struct compare *c;
    struct worker *workers;
};

/* Mean square of each input of matrix `mat`; a matrix that saw no tokens weighs all inputs alike. */
static void column_weights(const struct stats_entry *e, uint64_t mat, double *h)
{
    const float *sum2 = e->sum2 + mat * e->n_in;
    double count = (double)e->counts[mat];
    for (uint64_t j = 0; j < e->n_in; j++)
        h[j] = count > 0 ? (double)sum2[j] / count : 1;
}

static int compare_tensor(const struct run *run, size_t item, struct worker *w, struct error *err)
{
    const struct gguf_tensor *t = &run->g->tensors[item];
    struct compare_tensor *out = &run->c->tensors[item];
    const struct stats_entry *e = out->weighted ? stats_find(run->stats, t->name) : NULL;
    uint64_t per_matrix = t->ne[0] * t->ne[1];
    struct reference_tensor ref;
    const struct block_info *b = t->info;

    reference_find(run->ref, t->name, &ref);
    for (uint64_t at = 0; at < t->n_elements;) {
        uint64_t in_matrix = at % per_matrix, n = per_matrix - in_matrix;
        int code = interrupt_check(err);
        if (n > REFERENCE_CHUNK)
            n = REFERENCE_CHUNK;
        if (e && !in_matrix)
            column_weights(e, at / per_matrix, w->h);
        if (!code)
            code = reference_read(run->ref, &ref, at, n, w->raw, w->w, err);
        if (!code)
            code = file_read_at(&run->g->file, w->raw, n / b->weights * b->bytes,
                                t->offset + at / b->weights * b->bytes, err);
        if (!code && !codec_dequantize(t->type, w->raw, w->v, n))
            code =
                error_set(err, ERROR_UNSUPPORTED, "%s: %s: type %s cannot be decoded", run->o->path, t->name, b->name);
        if (code)
            return code;
        compare_add(&out->sums, w->w, w->v, n, e ? w->h : NULL, in_matrix, t->ne[0]);
        at += n;
        progress_add(run->o->progress, 0, n / b->weights * b->bytes);
    }
    return 0;
}

static int compare_one(void *ctx, size_t item, unsigned worker, struct error *err)
{
    struct run *run = ctx;
    struct worker *w = &run->workers[worker];

    if (!run->c->tensors[item].compared)
        return 0;
    int code = compare_tensor(run, item, w, err);
    progress_add(run->o->progress, 1, 0);
    return code;
}

/* Shapes of both sides as text for the error. */
static void shape_text(char buf[96], const uint64_t ne[4])
{
    uint32_t n = 4;
    size_t at = 0;
    while (n > 1 && ne[n - 1] == 1)
        n--;
    for (uint32_t d = 0; d < n; d++)
        at += (size_t)snprintf(buf + at, 96 - at, "%s%" PRIu64, d ? ", " : "", ne[d]);
}

/* Decide for one tensor whether it can be compared, before any data is read. */
static int plan_tensor(const struct run *run, size_t item, struct report *r, struct error *err)
{
    const struct gguf_tensor *t = &run->g->tensors[item];
    struct compare_tensor *out = &run->c->tensors[item];
    const struct stats_entry *e = run->stats ? stats_find(run->stats, t->name) : NULL;
    struct reference_tensor ref;
    char have[96], want[96];
    int layer;

    out->name = mem_strdup(t->name, err);
    if (!out->name)
        return ERROR_NOMEM;
    out->type = t->info->name;
    out->role = role_of(t->name, &layer);
    out->sums.bytes = t->bytes;
    if (run->o->tensor && strcmp(run->o->tensor, t->name))
        return 0;
    if (!reference_find(run->ref, t->name, &ref)) {
        bool derived = run->ref->folder && (out->role == ROLE_ROPE_FREQS || out->role == ROLE_OTHER);
        report_add(r, derived ? REPORT_NOTE : REPORT_ERROR, ERROR_MISMATCH, t->name,
                   "the reference has no such tensor");
        return 0;
    }
    if (memcmp(ref.ne, t->ne, sizeof ref.ne)) {
        shape_text(have, t->ne);
        shape_text(want, ref.ne);
        report_add(r, REPORT_ERROR, ERROR_MISMATCH, t->name, "shape [%s], the reference has [%s]", have, want);
        return 0;
    }
    if (!t->info->decodes || !reference_decodes(&ref)) {
        report_add(r, REPORT_WARNING, 0, t->name, "not compared: no decoder for %s%s", t->info->name,
                   t->info->decodes ? " of the reference" : "");
        return 0;
    }
    if (e && (e->n_in != t->ne[0] || e->n_mat != t->ne[2] * t->ne[3]))
        return error_set(err, ERROR_MISMATCH,
                         "%s: %s: statistics for %" PRIu64 " matrices of %" PRIu64 " inputs, the tensor has %" PRIu64
                         " of %" PRIu64,
                         run->o->stats, t->name, e->n_mat, e->n_in, t->ne[2] * t->ne[3], t->ne[0]);
    out->compared = true;
    out->weighted = e != NULL;
    run->c->any_weighted |= out->weighted;
    return 0;
}

/* Tensors of the reference that the file lacks. A head equal to the embedding is left out of tied models. */
static void check_missing(const struct run *run, struct report *r)
{
    char buf[64];
    for (size_t i = 0; i < reference_count(run->ref); i++) {
        const char *name = reference_name(run->ref, i, buf);
        if (!name || gguf_tensor(run->g, name) || (run->o->tensor && strcmp(run->o->tensor, name)))
            continue;
        if (run->ref->folder && !strcmp(name, "output.weight"))
            report_add(r, REPORT_NOTE, 0, name, "only in the reference: the model is tied");
        else
            report_add(r, REPORT_ERROR, ERROR_MISSING, name, "missing, the reference has it");
    }
}

static int open_workers(struct run *run, unsigned n, struct error *err)
{
    uint64_t widest = 0;

    for (size_t i = 0; i < run->c->n; i++)
        if (run->c->tensors[i].weighted && run->g->tensors[i].ne[0] > widest)
            widest = run->g->tensors[i].ne[0];
    if (!(run->workers = mem_zalloc(n, sizeof *run->workers, "workers", err)))
        return ERROR_NOMEM;
    for (unsigned i = 0; i < n; i++) {
        struct worker *w = &run->workers[i];
        if (!(w->raw = mem_aligned(REFERENCE_CHUNK, 8, "read buffer", err)) ||
            !(w->w = mem_aligned(REFERENCE_CHUNK, sizeof *w->w, "weights", err)) ||
            !(w->v = mem_aligned(REFERENCE_CHUNK, sizeof *w->v, "weights", err)) ||
            (widest && !(w->h = mem_zalloc(widest, sizeof *w->h, "column weights", err))))
            return ERROR_NOMEM;
    }
    return 0;
}

static int run_all(struct run *run, struct error *err)
{
    unsigned n_workers = run->o->pool ? pool_threads(run->o->pool) : 1;
    uint64_t n = 0, bytes = 0;
    int code = open_workers(run, n_workers, err);

    if (code)
        goto out;
    for (size_t i = 0; i < run->c->n; i++) {
        n += run->c->tensors[i].compared;
        bytes += run->c->tensors[i].compared ? run->g->tensors[i].bytes : 0;
    }
    progress_phase(run->o->progress, "comparing", n, bytes);
    code = pool_try(run->o->pool, run->c->n, compare_one, run, err);
    progress_end(run->o->progress);
out:
    for (unsigned i = 0; run->workers && i < n_workers; i++) {
        mem_free(run->workers[i].raw);
        mem_free(run->workers[i].w);
        mem_free(run->workers[i].v);
        mem_free(run->workers[i].h);
    }
    mem_free(run->workers);
    return code;
}

static void check_limit(const struct run *run, struct report *r)
{
    for (size_t i = 0; i < run->c->n && run->o->fail_above >= 0; i++) {
        const struct compare_tensor *t = &run->c->tensors[i];
        double e = compare_relative(&t->sums);
        if (t->compared && !(e <= run->o->fail_above))
            report_add(r, REPORT_ERROR, ERROR_MISMATCH, t->name, "relative error %.6g is above %g", e,
                       run->o->fail_above);
    }
}

int compare_run(struct compare *c, const struct compare_options *o, struct report *r, struct error *err)
{
    struct gguf g = { 0 };
    struct reference ref = { 0 };
    struct stats stats = { 0 };
    struct run run = { .g = &g, .ref = &ref, .o = o, .c = c };
    int code;

    memset(c, 0, sizeof *c);
    if ((code = gguf_open(&g, o->path, FILE_SEQUENTIAL, err)) || (code = reference_open(&ref, o->reference, &g, err)))
        goto out;
    if (o->stats) {
        if ((code = stats_read(&stats, o->stats, err)))
            goto out;
        run.stats = &stats;
    }
    if (!(c->tensors = mem_zalloc(g.n_tensors, sizeof *c->tensors, "comparison", err))) {
        code = ERROR_NOMEM;
        goto out;
    }
    c->n = g.n_tensors;
    for (size_t i = 0; i < c->n && !code; i++)
        code = plan_tensor(&run, i, r, err);
    if (code)
        goto out;
    check_missing(&run, r);
    if (!(code = run_all(&run, err)))
        check_limit(&run, r);
out:
    if (code)
        compare_free(c);
    stats_free(&stats);
    reference_close(&ref);
    gguf_close(&g);
    return code;
}

void compare_free(struct compare *c)
{
    for (size_t i = 0; i < c->n; i++)
        mem_free(c->tensors[i].name);
    mem_free(c->tensors);
    memset(c, 0, sizeof *c);
}
