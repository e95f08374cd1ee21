/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the plan that looks at values: which tensors are ternary already, and what the statistics say of the
 * others. */
#include <inttypes.h>
#include <string.h>

#include "base/util/digest.h"
#include "base/util/parallel.h"
#include "base/util/text.h"
#include "kernels/codec.h"
#include "pack/exact.h"
#include "pack/plan.h"

enum { SCAN_WEIGHTS = 1 << 16 }; /* read at once; an ordinary tensor shows itself in the first row */

static int scan_tensor(const struct gguf *g, struct plan_tensor *t, struct error *err)
{
    uint64_t n_cols = t->src->ne[0], step = n_cols < SCAN_WEIGHTS ? SCAN_WEIGHTS / n_cols : 1;
    struct exact_scan scan;
    void *raw = mem_zalloc(step, t->src->row_bytes, "source rows", err);
    float *w = mem_zalloc(step * n_cols, sizeof *w, "source rows", err);
    int rc = raw && w ? 0 : ERROR_NOMEM;
    bool go_on = true;

    exact_init(&scan, n_cols);
    for (uint64_t r = 0, n; rc == 0 && go_on && r < t->src->n_rows; r += n) {
        n = r == 0 ? 1 : t->src->n_rows - r < step ? t->src->n_rows - r : step;
        if ((rc = gguf_read_rows(g, t->src, r, n, raw, err)) != 0 || (rc = interrupt_check(err)) != 0)
            break;
        codec_dequantize(t->src->type, raw, w, n * n_cols);
        go_on = exact_rows(&scan, w, n);
    }
    t->source_group = exact_source_group(&scan);
    t->exact = exact_holds(&scan, t->type->weights);
    mem_free(raw);
    mem_free(w);
    return rc;
}

static int scan_warnings(struct plan *p, size_t n_wide, size_t n_ordinary, struct error *err)
{
    int rc = 0;
    if (n_wide)
        rc = buffer_printf(&p->warnings, err,
                           "%zu tensor%s ternary already, but not with one fp16 scale per block of the chosen "
                           "type: fitted anew, which loses precision (a type with smaller blocks may hold them)\n",
                           n_wide, n_wide == 1 ? " is" : "s are");
    if (rc == 0 && n_ordinary)
        rc = buffer_printf(&p->warnings, err,
                           "%zu of %zu linear tensors are ordinary, not trained ternary: rounding them to one "
                           "ternary plane changes the model a lot (a relative error near 0.4 is what to expect)\n",
                           n_ordinary, p->n_ternary);
    const struct pack_options *o = p->options;
    if (rc == 0 && p->n_exact && (o->sparsity_given || o->zeros_given))
        rc = buffer_printf(&p->warnings, err,
                           "%zu of %zu linear tensors are ternary already and keep the zeros they have\n", p->n_exact,
                           p->n_ternary);
    if (rc == 0 && p->n_fitted == 0 && o->stats)
        rc =
            buffer_printf(&p->warnings, err, "every linear tensor is ternary already: the statistics change nothing\n");
    return rc;
}

int plan_scan(struct plan *p, struct progress *progress, struct error *err)
{
    size_t n_wide = 0, n_ordinary = 0;
    int rc = 0;
    progress_phase(progress, "scan", p->n_ternary, 0);
    for (size_t i = 0; i < p->n && rc == 0; i++) {
        struct plan_tensor *t = &p->tensors[i];
        if (t->kind != PLAN_TERNARY)
            continue;
        if ((rc = scan_tensor(p->model, t, err)) != 0)
            break;
        if (t->exact)
            t->method = "exact";
        else if (p->options->lossless == LOSSLESS_REQUIRE)
            rc = error_set(err, ERROR_MISMATCH, "%s: tensor %s: %s cannot hold it without loss (%s%s)",
                           p->model->file.path, t->src->name, t->type->name,
                           t->source_group ? "ternary, one scale per " : "not ternary",
                           t->source_group ? t->source_group : "");
        p->n_exact += t->exact;
        p->n_fitted += !t->exact;
        n_wide += !t->exact && t->source_group;
        n_ordinary += !t->source_group;
        progress_add(progress, 1, 0);
    }
    progress_end(progress);
    return rc == 0 ? scan_warnings(p, n_wide, n_ordinary, err) : rc;
}

/* ---- statistics ---- */

/* Entries must fit the model; "output.weight" may stand for the tied head. */
static int check_entries(const struct plan *p, const struct stats *s, struct error *err)
{
    for (size_t i = 0; i < s->n; i++) {
        const struct stats_entry *e = &s->entries[i];
        const struct gguf_tensor *t = gguf_tensor(p->model, e->name);
        if (!t && strcmp(e->name, "output.weight") == 0)
            continue;
        if (!t)
            return error_set(err, ERROR_MISMATCH,
                             "%s: statistics for %s, which %s does not have: they are another model's",
                             p->options->stats, e->name, p->model->file.path);
        if (e->n_in != t->ne[0])
            return error_set(err, ERROR_MISMATCH,
                             "%s: statistics for %s have %" PRIu64 " inputs, the tensor has %" PRIu64,
                             p->options->stats, e->name, e->n_in, t->ne[0]);
        if (e->n_mat != 1)
            return error_set(err, ERROR_UNSUPPORTED,
                             "%s: statistics for %s are for %" PRIu64 " matrices, the tensor is one", p->options->stats,
                             e->name, e->n_mat);
    }
    return 0;
}

static int bind_entry(struct plan *p, struct plan_tensor *t, const struct stats_entry *e, struct error *err)
{
    bool any = false;
    float *h = arena_alloc(&p->arena, e->n_in, sizeof *h, err);
    if (!h)
        return ERROR_NOMEM;
    for (uint64_t i = 0; i < e->n_in && e->counts[0] > 0; i++) {
        h[i] = e->sum2[i] / e->counts[0];
        any = any || h[i] > 0;
    }
    if (any) {
        t->importance = h;
        return 0;
    }
    char name[4 * GGUF_MAX_NAME + 1];
    t->method = "optimal";
    return buffer_printf(&p->warnings, err, "statistics for %s are all zero: every input counts the same there\n",
                         text_quote(name, sizeof name, t->src->name, strlen(t->src->name)));
}

int plan_stats(struct plan *p, const struct stats *s, struct error *err)
{
    int rc = check_entries(p, s, err);
    for (size_t i = 0; i < p->n && rc == 0; i++) {
        struct plan_tensor *t = &p->tensors[i];
        if (t->kind != PLAN_TERNARY || t->exact)
            continue;
        const struct stats_entry *e = stats_find(s, t->src->name);
        rc = e ? bind_entry(p, t, e, err)
               : error_set(err, ERROR_MISSING, "%s: no statistics for %s", p->options->stats, t->src->name);
    }
    return rc;
}

int plan_load_stats(struct plan *p, struct error *err)
{
    const char *path = p->options->stats;
    struct stats s = { 0 };
    struct digest_result d;
    int rc = stats_read(&s, path, err);
    if (rc == 0 && s.model_sha256 && strcmp(s.model_sha256, p->source_sha256) != 0)
        rc =
            error_set(err, ERROR_MISMATCH, "%s: statistics of another model (SHA-256 %.16s..., that of %s is %.16s...)",
                      path, s.model_sha256, p->model->file.path, p->source_sha256);
    if (rc == 0 && (rc = digest_file(DIGEST_SHA256, path, &d, err)) == 0)
        digest_hex(d.sha256, 32, p->stats_sha256);
    if (rc == 0)
        rc = plan_stats(p, &s, err);
    stats_free(&s);
    return rc;
}
