/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Error of each tensor against a reference, in one streamed pass. With W the reference and V the file under test, both
 * decoded to FP32, all sums in double and in element order:
 *
 *   relative error   |W - V| / |W|       Frobenius norms; 0 when both are zero, infinite when only W is
 *   weighted error   the same, column j weighted by h_j = in_sum2_j / count, the mean square of input j
 *   cosine           <W, V> / (|W| |V|)  1 when W = V, 0 when one of them is zero
 *   maximum          max |w - v|
 *   zeros            share of v == 0
 */
#ifndef TERNPACK_VERIFY_COMPARE_H
#define TERNPACK_VERIFY_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/model/roles.h"
#include "base/util/error.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "verify/report.h"

/* Sums over one tensor; sums of several tensors add up. */
struct compare_sums {
    uint64_t n, zeros, bytes;
    double dd, ww, vv, wv; /* |W-V|^2, |W|^2, |V|^2, <W,V> */
    double hdd, hww;       /* weighted */
    double max;            /* NaN when a value was NaN */
};

struct compare_tensor {
    char *name;
    const char *type; /* of the file under test */
    enum role role;
    bool compared; /* false: not in the reference, another shape, or a type without decoder */
    bool weighted; /* statistics cover it */
    struct compare_sums sums;
};

struct compare {
    struct compare_tensor *tensors; /* file order */
    size_t n;
    bool any_weighted;
};

struct compare_options {
    const char *path, *reference, *stats; /* stats NULL: none */
    const char *tensor;                   /* NULL: all */
    double fail_above;                    /* < 0: no limit */
    struct pool *pool;
    struct progress *progress;
};

/* Tensors that are missing on one side, differ in shape, or are above the limit become errors in the report. A returned
 * code (unreadable reference, interrupt) leaves *c empty. */
int compare_run(struct compare *c, const struct compare_options *o, struct report *r, struct error *err);
void compare_free(struct compare *c);

/* The metric itself. h: weights of the columns, NULL for none; first: index of w[0] within the tensor (gives the
 * column). */
void compare_add(struct compare_sums *s, const float *w, const float *v, size_t n, const double *h, uint64_t first,
                 uint64_t n_cols);
void compare_merge(struct compare_sums *into, const struct compare_sums *from);
double compare_relative(const struct compare_sums *s);
double compare_weighted(const struct compare_sums *s);
double compare_cosine(const struct compare_sums *s);
double compare_bpw(const struct compare_sums *s);
double compare_zeros(const struct compare_sums *s);

#endif
