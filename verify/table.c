/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/json.h"
#include "base/util/text.h"

/* Pointers to the compared tensors in the order asked for; ties keep the order of the file. */
struct order {
    const struct compare_tensor **t;
    size_t n;
};

static int by_place(const struct compare_tensor *a, const struct compare_tensor *b)
{
    return a < b ? -1 : a > b;
}

static int by_name(const void *x, const void *y)
{
    const struct compare_tensor *a = *(const struct compare_tensor *const *)x,
                                *b = *(const struct compare_tensor *const *)y;
    return strcmp(a->name, b->name);
}

/* Largest first; NaN counts as larger than any number. */
static int by_error(const void *x, const void *y)
{
    const struct compare_tensor *a = *(const struct compare_tensor *const *)x,
                                *b = *(const struct compare_tensor *const *)y;
    double p = compare_relative(&a->sums), q = compare_relative(&b->sums);
    if (isnan(p) != isnan(q))
        return isnan(p) ? -1 : 1;
    return p > q ? -1 : p < q ? 1 : by_place(a, b);
}

static int by_size(const void *x, const void *y)
{
    const struct compare_tensor *a = *(const struct compare_tensor *const *)x,
                                *b = *(const struct compare_tensor *const *)y;
    if (a->sums.bytes != b->sums.bytes)
        return a->sums.bytes > b->sums.bytes ? -1 : 1;
    return by_place(a, b);
}

static int order_make(struct order *o, const struct compare *c, enum options_sort sort, struct error *err)
{
    static int (*const orders[])(const void *, const void *) = { NULL, by_name, by_error, by_size };

    o->n = 0;
    if (!(o->t = mem_zalloc(c->n, sizeof *o->t, "table", err)))
        return ERROR_NOMEM;
    for (size_t i = 0; i < c->n; i++)
        if (c->tensors[i].compared)
            o->t[o->n++] = &c->tensors[i];
    if (orders[sort])
        qsort(o->t, o->n, sizeof *o->t, orders[sort]);
    return 0;
}

/* Rows after the roles: the matrices of the linear layers, and everything. */
enum { TOTAL_LINEAR = ROLE_OTHER + 1, TOTAL_ALL, N_TOTALS };

/* Sums of one such row. The weighted sums are only whole when statistics cover every member. */
struct total {
    struct compare_sums sums;
    size_t n;
    bool weighted;
};

static bool counts(int row, enum role role)
{
    return row == TOTAL_ALL || (row == TOTAL_LINEAR ? role_info(role)->linear : row == (int)role);
}

static struct total total_of(const struct compare *c, int row)
{
    struct total t = { .weighted = true };
    for (size_t i = 0; i < c->n; i++) {
        if (!c->tensors[i].compared || !counts(row, c->tensors[i].role))
            continue;
        compare_merge(&t.sums, &c->tensors[i].sums);
        t.weighted &= c->tensors[i].weighted;
        t.n++;
    }
    t.weighted &= t.n > 0;
    return t;
}

static const char *label_of(int row)
{
    return row == TOTAL_ALL ? "all" : row == TOTAL_LINEAR ? "linear" : role_info((enum role)row)->label;
}

static int text_sums(const struct compare_sums *s, bool any_weighted, bool weighted, struct buffer *b,
                     struct error *err)
{
    int code = buffer_printf(b, err, " %7.3f %10.6f", compare_bpw(s), compare_relative(s));
    if (!code && any_weighted)
        code = weighted ? buffer_printf(b, err, " %10.6f", compare_weighted(s)) : buffer_printf(b, err, " %10s", "-");
    return code ? code
                : buffer_printf(b, err, " %9.6f %10.4g %6.2f%%\n", compare_cosine(s), s->max, 100 * compare_zeros(s));
}

int table_text(const struct compare *c, enum options_sort sort, struct buffer *out, struct error *err)
{
    struct order o = { 0 };
    int width = 24, code = order_make(&o, c, sort, err);
    const char *head = c->any_weighted ? "     bpw  rel.error   weighted    cosine        max   zeros"
                                       : "     bpw  rel.error    cosine        max   zeros";

    for (size_t i = 0; i < o.n; i++)
        if ((int)strlen(o.t[i]->name) > width)
            width = (int)strlen(o.t[i]->name);
    if (!code)
        code = buffer_printf(out, err, "%-*s %-7s%s\n", width, "tensor", "type", head);
    for (size_t i = 0; i < o.n && !code; i++) {
        char name[160];
        text_quote(name, sizeof name, o.t[i]->name, strlen(o.t[i]->name));
        code = buffer_printf(out, err, "%-*s %-7s", width, name, o.t[i]->type);
        if (!code)
            code = text_sums(&o.t[i]->sums, c->any_weighted, o.t[i]->weighted, out, err);
    }
    if (!code)
        code = buffer_printf(out, err, "\n%-*s %-7s%s\n", width, "role", "tensors", head);
    for (int row = 0; row < N_TOTALS && !code; row++) {
        struct total t = total_of(c, row);
        if (!t.n)
            continue;
        code = buffer_printf(out, err, "%-*s %7zu", width, label_of(row), t.n);
        if (!code)
            code = text_sums(&t.sums, c->any_weighted, t.weighted, out, err);
    }
    mem_free(o.t);
    return code;
}

static int json_number(struct buffer *b, const char *key, double v, struct error *err)
{
    int code = buffer_printf(b, err, ",\"%s\":", key);
    return code ? code : json_put_f64(b, v, err);
}

static int json_sums(const struct compare_sums *s, bool weighted, struct buffer *b, struct error *err)
{
    int code = buffer_printf(b, err, ",\"weights\":%" PRIu64 ",\"bytes\":%" PRIu64, s->n, s->bytes);

    if (!code)
        code = json_number(b, "bits_per_weight", compare_bpw(s), err);
    if (!code)
        code = json_number(b, "relative_error", compare_relative(s), err);
    if (!code && weighted)
        code = json_number(b, "weighted_error", compare_weighted(s), err);
    if (!code)
        code = json_number(b, "cosine", compare_cosine(s), err);
    if (!code)
        code = json_number(b, "max_abs", s->max, err);
    return code ? code : json_number(b, "zeros", compare_zeros(s), err);
}

static int json_tensors(const struct order *o, struct buffer *b, struct error *err)
{
    int code = 0;
    for (size_t i = 0; i < o->n && !code; i++) {
        code = buffer_printf(b, err, "%s{\"name\":", i ? "," : "");
        if (!code)
            code = json_put_str(b, o->t[i]->name, strlen(o->t[i]->name), err);
        if (!code)
            code = buffer_printf(b, err, ",\"type\":\"%s\",\"role\":\"%s\"", o->t[i]->type,
                                 role_info(o->t[i]->role)->label);
        if (!code)
            code = json_sums(&o->t[i]->sums, o->t[i]->weighted, b, err);
        if (!code)
            code = buffer_append(b, "}", 1, err);
    }
    return code;
}

int table_json(const struct compare *c, enum options_sort sort, const char *reference, struct buffer *out,
               struct error *err)
{
    struct order o = { 0 };
    const char *before = "";
    int code = order_make(&o, c, sort, err);

    if (!code)
        code = buffer_printf(out, err, ",\"compare\":{\"reference\":");
    if (!code)
        code = json_put_str(out, reference, strlen(reference), err);
    if (!code)
        code = buffer_printf(out, err, ",\"tensors\":[");
    if (!code)
        code = json_tensors(&o, out, err);
    if (!code)
        code = buffer_printf(out, err, "],\"roles\":[");
    for (int row = 0; row < N_TOTALS && !code; row++) {
        struct total t = total_of(c, row);
        if (row == TOTAL_LINEAR || row == TOTAL_ALL)
            code = buffer_printf(out, err, "%s\"%s\":{\"tensors\":%zu", row == TOTAL_LINEAR ? "]," : ",",
                                 row == TOTAL_ALL ? "total" : "linear", t.n);
        else if (!t.n)
            continue;
        else
            code = buffer_printf(out, err, "%s{\"role\":\"%s\",\"tensors\":%zu", before, label_of(row), t.n);
        if (!code)
            code = json_sums(&t.sums, t.weighted, out, err);
        if (!code)
            code = buffer_append(out, "}", 1, err);
        before = ",";
    }
    mem_free(o.t);
    return code ? code : buffer_append(out, "}", 1, err);
}
