/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util/json.h"
#include "base/util/text.h"

double report_relative_error(double diff2, double source2)
{
    return source2 > 0 ? sqrt(diff2 / source2) : diff2 > 0 ? INFINITY : 0;
}

/* ---- table: one line per role and type ---- */

struct line {
    const char *label, *type;
    uint64_t tensors, weights, bytes;
    size_t exact;
    struct encode_sums sums;
};

static void line_add(struct line *to, const struct plan_tensor *t, const struct emit_tensor *r)
{
    to->tensors++;
    to->weights += t->src->n_elements;
    to->bytes += t->bytes;
    to->exact += t->exact;
    encode_add(&to->sums, &r->sums);
}

static int line_print(const struct line *l, bool done, bool weighted, struct buffer *b, struct error *err)
{
    char size[32];
    int rc = buffer_printf(b, err, "%-14s %7" PRIu64 "  %-7s %9.4f %12s", l->label, l->tensors, l->type,
                           l->weights ? 8.0 * (double)l->bytes / (double)l->weights : 0,
                           text_bytes(size, sizeof size, l->bytes));
    if (rc == 0 && done)
        rc = buffer_printf(b, err, " %7.2f%% %10.6f",
                           l->weights ? 100.0 * (double)(l->weights - l->sums.nonzero) / (double)l->weights : 0,
                           report_relative_error(l->sums.diff2, l->sums.source2));
    if (rc == 0 && done && weighted)
        rc = l->sums.weighted_source2 > 0
                 ? buffer_printf(b, err, " %10.6f",
                                 report_relative_error(l->sums.weighted_diff2, l->sums.weighted_source2))
                 : buffer_printf(b, err, " %10s", "");
    if (rc == 0 && l->exact)
        rc = buffer_printf(b, err, "  %zu exact", l->exact);
    return rc == 0 ? buffer_append(b, "\n", 1, err) : rc;
}

static int print_roles(const struct emit *e, struct buffer *b, struct error *err)
{
    const struct plan *p = e->plan;
    int rc = 0;
    for (int role = 0; role <= ROLE_OTHER && rc == 0; role++)
        for (unsigned i = 0; block_at(i) && rc == 0; i++) {
            struct line l = { .label = role_info(role)->label, .type = block_at(i)->name };
            for (size_t j = 0; j < p->n; j++)
                if ((int)p->tensors[j].role == role && p->tensors[j].type == block_at(i))
                    line_add(&l, &p->tensors[j], &e->tensors[j]);
            if (l.tensors)
                rc = line_print(&l, e->done, p->options->stats, b, err);
        }
    return rc;
}

int report_table(const struct emit *e, struct buffer *b, struct error *err)
{
    const struct plan *p = e->plan;
    struct line ternary = { .label = "ternary", .type = p->options->type->name }, all = { .label = "all", .type = "" };
    bool mixed = false;
    for (size_t i = 0; i < p->n; i++) {
        line_add(&all, &p->tensors[i], &e->tensors[i]);
        if (p->tensors[i].kind != PLAN_TERNARY)
            continue;
        line_add(&ternary, &p->tensors[i], &e->tensors[i]);
        mixed = mixed || p->tensors[i].type != p->options->type;
    }
    if (mixed)
        ternary.type = "mixed";
    all.exact = 0;
    int rc = buffer_printf(b, err, "%-14s %7s  %-7s %9s %12s%s%s\n", "role", "tensors", "type", "bits/w", "bytes",
                           e->done ? "    zeros rel. error" : "", e->done && p->options->stats ? " wtd. error" : "");
    if (rc == 0)
        rc = print_roles(e, b, err);
    if (rc == 0)
        rc = line_print(&ternary, e->done, p->options->stats, b, err);
    if (rc == 0)
        rc = line_print(&all, e->done, false, b, err);
    char size[32];
    if (rc == 0)
        rc = buffer_printf(b, err, "%s%s: %s, %.4f bits per weight with everything in it; %s opens in %s\n",
                           p->options->output ? p->options->output : "no output",
                           e->done ? "" : " (dry run, nothing written)", text_bytes(size, sizeof size, e->file_bytes),
                           p->n_weights ? 8.0 * (double)e->file_bytes / (double)p->n_weights : 0,
                           p->options->type->name, p->options->type->readers);
    return rc;
}

int report_remarks(const struct emit *e, struct buffer *b, struct error *err)
{
    struct encode_sums s = { 0 };
    for (size_t i = 0; i < e->plan->n; i++)
        encode_add(&s, &e->tensors[i].sums);
    int rc = 0;
    if (s.scales.flushed)
        rc = buffer_printf(b, err, "%" PRIu64 " scales were too small for fp16: their groups are zero\n",
                           s.scales.flushed);
    if (rc == 0 && s.scales.subnormal)
        rc = buffer_printf(b, err, "%" PRIu64 " scales are fp16 subnormals and lost precision\n", s.scales.subnormal);
    if (rc == 0 && s.uniform_groups)
        rc = buffer_printf(b, err, "%" PRIu64 " groups had no importance: all their inputs counted the same\n",
                           s.uniform_groups);
    if (rc == 0 && s.negative_zeros)
        rc = buffer_printf(b, err, "%" PRIu64 " negative zeros of exact tensors became +0, which is equal\n",
                           s.negative_zeros);
    return rc;
}

/* ---- JSON ---- */

static int put_field(struct buffer *b, const char *name, const char *s, struct error *err)
{
    int rc = buffer_printf(b, err, "\"%s\":", name);
    if (rc == 0)
        rc = s && *s ? json_put_str(b, s, strlen(s), err) : buffer_append(b, "null", 4, err);
    return rc == 0 ? buffer_append(b, ",", 1, err) : rc;
}

static int put_number(struct buffer *b, const char *name, double v, struct error *err)
{
    int rc = buffer_printf(b, err, "\"%s\":", name);
    if (rc == 0)
        rc = json_put_f64(b, v, err);
    return rc == 0 ? buffer_append(b, ",", 1, err) : rc;
}

static int put_results(const struct plan_tensor *t, const struct emit_tensor *r, struct buffer *b, struct error *err)
{
    const struct encode_sums *s = &r->sums;
    char hex[65];
    int rc = put_number(b, "zeros", s->weights ? (double)(s->weights - s->nonzero) / (double)s->weights : 0, err);
    if (rc == 0)
        rc = put_number(b, "relative_error", report_relative_error(s->diff2, s->source2), err);
    if (rc == 0 && t->importance)
        rc = put_number(b, "weighted_error", report_relative_error(s->weighted_diff2, s->weighted_source2), err);
    if (rc == 0)
        rc = buffer_printf(b, err,
                           "\"flushed_scales\":%" PRIu64 ",\"subnormal_scales\":%" PRIu64 ",\"uniform_groups\":%" PRIu64
                           ",\"xxh3\":\"%016" PRIx64 "\",",
                           s->scales.flushed, s->scales.subnormal, s->uniform_groups, r->digest.xxh3);
    digest_hex(r->digest.sha256, 32, hex);
    return rc == 0 ? put_field(b, "sha256", hex, err) : rc;
}

static int put_tensor(const struct emit *e, size_t i, struct buffer *b, struct error *err)
{
    const struct plan_tensor *t = &e->plan->tensors[i];
    int rc = buffer_append(b, i ? ",\n {" : "\n {", i ? 4 : 3, err);
    if (rc == 0)
        rc = put_field(b, "name", t->src->name, err);
    if (rc == 0)
        rc = put_field(b, "role", role_info(t->role)->label, err);
    if (rc == 0)
        rc = put_field(b, "source_type", t->src->info->name, err);
    if (rc == 0)
        rc = put_field(b, "type", t->type->name, err);
    if (rc == 0)
        rc = put_field(b, "method", t->method, err);
    if (rc == 0)
        rc = put_field(b, "source_group", t->source_group, err);
    if (rc == 0)
        rc = put_number(b, "bits_per_weight", plan_bits_per_weight(t), err);
    if (rc == 0 && e->done)
        rc = put_results(t, &e->tensors[i], b, err);
    if (rc == 0)
        rc = buffer_printf(b, err, "\"weights\":%" PRIu64 ",\"bytes\":%" PRIu64 "}", t->src->n_elements, t->bytes);
    return rc;
}

/* Each line of a text as one string. */
static int put_lines(const char *name, const struct buffer *text, struct buffer *b, struct error *err)
{
    int rc = buffer_printf(b, err, "\"%s\":[", name);
    for (size_t i = 0, n; i < text->len && rc == 0; i += n + 1) {
        n = strcspn(text->data + i, "\n");
        if (i)
            rc = buffer_append(b, ",", 1, err);
        if (rc == 0)
            rc = json_put_str(b, text->data + i, n, err);
    }
    return rc == 0 ? buffer_append(b, "],", 2, err) : rc;
}

int report_json(const struct emit *e, struct buffer *b, struct error *err)
{
    const struct plan *p = e->plan;
    struct buffer remarks = { 0 };
    char hex[65] = "";
    if (e->done)
        digest_hex(e->sha256, 32, hex);
    int rc = buffer_append(b, "{", 1, err);
    if (rc == 0)
        rc = put_field(b, "model", p->options->model, err);
    if (rc == 0)
        rc = put_field(b, "output", p->options->output, err);
    if (rc == 0)
        rc = buffer_printf(b, err, "\"written\":%s,", e->done ? "true" : "false");
    if (rc == 0)
        rc = put_field(b, "type", p->options->type->name, err);
    if (rc == 0)
        rc = put_field(b, "method", options_method_name(p->options->method), err);
    if (rc == 0)
        rc = buffer_printf(b, err, "\"group_size\":%u,", p->options->type->weights);
    if (rc == 0)
        rc = put_field(b, "source_sha256", p->source_sha256, err);
    if (rc == 0)
        rc = put_field(b, "stats_sha256", p->stats_sha256, err);
    if (rc == 0)
        rc = put_field(b, "sha256", hex, err);
    if (rc == 0)
        rc = buffer_printf(
            b, err, "\"bytes\":%" PRIu64 ",\"weights\":%" PRIu64 ",\"ternary_tensors\":%zu,\"exact_tensors\":%zu,",
            e->file_bytes, p->n_weights, p->n_ternary, p->n_exact);
    if (rc == 0)
        rc = put_number(b, "bits_per_weight", p->n_weights ? 8.0 * (double)e->file_bytes / (double)p->n_weights : 0,
                        err);
    if (rc == 0)
        rc = put_lines("warnings", &p->warnings, b, err);
    if (rc == 0 && e->done && (rc = report_remarks(e, &remarks, err)) == 0)
        rc = put_lines("remarks", &remarks, b, err);
    if (rc == 0)
        rc = buffer_append(b, "\"tensors\":[", 11, err);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        rc = put_tensor(e, i, b, err);
    buffer_free(&remarks);
    return rc == 0 ? buffer_append(b, "\n]}\n", 4, err) : rc;
}
