/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/text.h"
#include "driver/driver.h"
#include "driver/facts.h"

void report_note(const struct driver *d, const char *step, const char *text)
{
    if (!d->o->common.quiet)
        fprintf(stderr, "ternpack: %s: %s\n", step, text);
}

void report_talk(const struct driver *d, const char *step, const struct buffer *talk, bool failed)
{
    for (size_t i = 0, n; i < talk->len; i += n + 1) {
        const char *line = talk->data + i;
        const char *newline = memchr(line, '\n', talk->len - i);
        n = newline ? (size_t)(newline - line) : talk->len - i;
        size_t name = n >= 5 && memcmp(line, "tern-", 5) == 0 ? strcspn(line, " ") + 1 : 0; /* "tern-pack: " */
        if (name < n) {
            line += name;
            n -= name;
            i += name;
        }
        bool warning = n >= 8 && memcmp(line, "warning:", 8) == 0;
        if (n && (failed || (!d->o->common.quiet && (warning || d->o->common.verbose))))
            fprintf(stderr, "%s: %.*s\n", step, (int)n, line);
    }
}

static int print(struct buffer *b, int code)
{
    if (!code && b->len)
        fwrite(b->data, 1, b->len, stdout);
    buffer_free(b);
    return code;
}

/* "2.6 M" */
static const char *count_text(char buf[24], double n)
{
    if (n >= 1e9)
        snprintf(buf, 24, "%.2f G", n / 1e9);
    else if (n >= 1e6)
        snprintf(buf, 24, "%.1f M", n / 1e6);
    else
        snprintf(buf, 24, "%.0f", n);
    return buf;
}

/* ---- the plan ---- */

static int plan_text(const struct driver *d, struct buffer *b, struct error *err)
{
    char source[32], packed[32], count[24];
    int place = 0;
    int code = buffer_printf(b, err, "%s: %s, %s parameters, to become %s\n", d->o->model, d->architecture,
                             count_text(count, (double)d->parameters), d->o->block->name);
    for (int i = 0; !code && i < N_STEPS; i++) {
        if (!d->steps[i].wanted)
            continue;
        code = buffer_printf(b, err, "%d. ", ++place);
        if (!code)
            code = command_print(&d->steps[i].command, b, err);
    }
    if (!code)
        code = buffer_printf(b, err, "%s: %s, until the end (or with --keep)\n", d->steps[STEP_CONVERT].output,
                             text_bytes(source, sizeof source, d->source_bytes));
    if (!code)
        code = buffer_printf(b, err, "%s: about %s, %.3f bits per weight; opens in %s\n", d->out,
                             text_bytes(packed, sizeof packed, d->packed_bytes),
                             8.0 * (double)d->packed_bytes / (double)d->parameters, d->o->block->readers);
    uint64_t room;
    if (!code && file_free_space(d->out, &room))
        code = buffer_printf(b, err, "both need %s; %s are free there\n",
                             text_bytes(source, sizeof source, d->source_bytes + d->packed_bytes),
                             text_bytes(packed, sizeof packed, room));
    return code ? code : buffer_printf(b, err, "dry run, nothing written\n");
}

static int plan_json(const struct driver *d, struct buffer *b, struct error *err)
{
    struct buffer line = { 0 };
    bool any = false;
    int code = facts_text(b, "{\"model\":", d->o->model, err);
    if (!code)
        code = facts_text(b, ",\"output\":", d->out, err);
    if (!code)
        code = buffer_printf(b, err,
                             ",\"written\":false,\"type\":\"%s\",\"parameters\":%" PRIu64 ",\"source_bytes\":%" PRIu64
                             ",\"planned_bytes\":%" PRIu64 ",\"steps\":[",
                             d->o->block->name, d->parameters, d->source_bytes, d->packed_bytes);
    for (int i = 0; !code && i < N_STEPS; i++) {
        if (!d->steps[i].wanted)
            continue;
        line.len = 0;
        code = command_print(&d->steps[i].command, &line, err);
        if (!code) {
            line.data[line.len - 1] = 0;
            code = buffer_printf(b, err, "%s{\"name\":\"%s\"", any ? "," : "", d->steps[i].name);
        }
        if (!code)
            code = facts_text(b, ",\"command\":", line.data, err);
        if (!code)
            code = buffer_append(b, "}", 1, err);
        any = true;
    }
    buffer_free(&line);
    return code ? code : buffer_append(b, "]}\n", 3, err);
}

int report_plan(const struct driver *d, struct error *err)
{
    struct buffer b = { 0 };
    return print(&b, d->o->common.json ? plan_json(d, &b, err) : plan_text(d, &b, err));
}

/* ---- the summary ---- */

static const char *fmt(char buf[64], const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *fmt(char buf[64], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(buf, 64, format, args);
    va_end(args);
    return buf;
}

static int row(struct buffer *b, const char *label, const char *left, const char *right, struct error *err)
{
    return buffer_printf(b, err, "%-18s %-22s %s\n", label, left, right);
}

static int table_files(const struct driver *d, const struct facts *f, struct buffer *b, struct error *err)
{
    char l[64], r[64], size[32];
    const struct step *source = &d->steps[STEP_CONVERT], *packed = &d->steps[STEP_PACK];
    int code = row(b, "", "full precision", "packed", err);
    if (!code)
        code =
            row(b, "type", f->dtype, fmt(r, "%s, %u weights per scale", d->o->block->name, d->o->block->weights), err);
    if (!code)
        code = row(b, "file", text_bytes(l, sizeof l, source->bytes),
                   fmt(r, "%s (%.1f %%)", text_bytes(size, sizeof size, packed->bytes),
                       100.0 * (double)packed->bytes / (double)source->bytes),
                   err);
    if (!code)
        code = row(b, "bits per weight", fmt(l, "%.3f", f->source_bpw),
                   isfinite(f->linear_bpw) ? fmt(r, "%.3f (linear layers %.4f)", f->packed_bpw, f->linear_bpw)
                                           : fmt(r, "%.3f", f->packed_bpw),
                   err);
    if (!code)
        code = row(b, "ternary tensors", "",
                   f->exact == f->ternary ? fmt(r, "%" PRIu64 ", all exactly as they were", f->ternary)
                   : f->exact
                       ? fmt(r, "%" PRIu64 ", %" PRIu64 " exactly, others fitted (%s)", f->ternary, f->exact, f->method)
                       : fmt(r, "%" PRIu64 ", fitted (%s)", f->ternary, f->method),
                   err);
    if (!code && isfinite(f->relative_error))
        code = row(b, "relative error", "",
                   isfinite(f->weighted_error)
                       ? fmt(r, "%.4f, weighted %.4f (linear layers)", f->relative_error, f->weighted_error)
                       : fmt(r, "%.4f (linear layers)", f->relative_error),
                   err);
    if (!code && isfinite(f->zeros))
        code = row(b, "zeros", "", fmt(r, "%.1f %% (linear layers)", 100 * f->zeros), err);
    return code;
}

/* Perplexities of broken models have many digits before the point, and none after it mean anything. */
static const char *ppl_text(char buf[64], double ppl, double se)
{
    return ppl < 1e5 ? fmt(buf, "%.4f +/- %.4f", ppl, se) : fmt(buf, "%.4g +/- %.2g", ppl, se);
}

static int table_eval(const struct facts *f, struct buffer *b, struct error *err)
{
    char l[64], r[64], both[64];
    ppl_text(both, f->ppl, f->ppl_err);
    int code = row(b, "perplexity", ppl_text(l, f->ref_ppl, f->ref_ppl_err),
                   f->ppl_ratio < 1e4 ? fmt(r, "%.40s (x %.4f)", both, f->ppl_ratio)
                                      : fmt(r, "%.40s (x %.4g)", both, f->ppl_ratio),
                   err);
    if (!code)
        code = row(b, "KL divergence", "",
                   fmt(r, "%.6f mean, %.6f median, %.4f 99 %%", f->kl_mean, f->kl_median, f->kl_99), err);
    if (!code)
        code = row(b, "same top token", "", fmt(r, "%.2f %%", 100 * f->same_top), err);
    if (!code)
        code =
            row(b, "text", "",
                fmt(r, "%" PRIu64 " chunks of %" PRIu64 " tokens, sha256 %.12s", f->chunks, f->n_ctx, f->corpus_sha256),
                err);
    return code;
}

static int summary_text(const struct driver *d, const struct facts *f, struct buffer *b, struct error *err)
{
    char count[24];
    int code = buffer_printf(b, err, "%s: %s, %s parameters\n\n", d->out, d->architecture,
                             count_text(count, (double)d->parameters));
    if (!code)
        code = table_files(d, f, b, err);
    if (!code && d->steps[STEP_EVAL].done)
        code = table_eval(f, b, err);
    if (!code)
        code = buffer_printf(b, err, "%-18s ", "seconds");
    bool any = false;
    for (int i = 0; !code && i < N_STEPS; i++) {
        const struct step *s = &d->steps[i];
        if (!s->done)
            continue;
        code = buffer_printf(b, err, "%s%s %.1f%s", any ? ", " : "", s->name, s->seconds,
                             s->reused ? " (used again)" : "");
        any = true;
    }
    if (!code)
        code = buffer_printf(b, err, "\n%-18s %s\n%-18s %s\n", "sha256", d->steps[STEP_PACK].sha256, "opens in",
                             d->o->block->readers);
    return code;
}

int report_summary(const struct driver *d, struct error *err)
{
    struct buffer b = { 0 };
    struct facts f;
    facts_gather(d, &f);
    return print(&b, d->o->common.json ? facts_json(d, &f, &b, err) : summary_text(d, &f, &b, err));
}
