/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numeric kernels on arrays: no files, no model, no allocation. Two implementations today: "scalar" (the specification)
 * and "avx2". The table is chosen once by kernels_select and handed down; there is no global pointer. All functions are
 * thread-safe and may be given any alignment (dst must not overlap src unless said).
 *
 * Ternary products use int8 activations: for each 64 inputs one FP32 scale a = max|x|/127 and q = round-half-even(x /
 * a) (a = 0 gives q = 0; a block that holds NaN or infinity gets a = NaN and q = 0, so that its products are NaN). The
 * product of a row and an activation row is y = sum over 64-blocks b, in index order, FP32, of (d_b * a_b) * isum_b,
 * isum_b = exact int32 sum of code*q so every implementation gives the same bits (test: check_kernels, guard pages, odd
 * sizes).
 */
#ifndef TERNPACK_KERNELS_KERNELS_H
#define TERNPACK_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "kernels/codec.h"

enum { KERNELS_ACT_BLOCK = 64 };

struct kernels {
    const char *name;

    /* Activations: n a multiple of 64. q[n], a[n/64]. */
    void (*quantize_act)(const float *x, int8_t *q, float *a, size_t n);

    /* y[t*y_stride + r] = W[r] . X[t] for r < n_rows, t < n_tokens; W packed rows of a ternary `type`, `row_bytes`
     * apart; q [n_tokens][n_cols], a [n_tokens][n_cols/64]. scratch: at least kernels_scratch(n_cols) bytes,
     * 64-aligned. */
    void (*ternary_matmul)(uint32_t type, const void *w, size_t row_bytes, size_t n_rows, size_t n_cols,
                           const int8_t *q, const float *a, size_t n_tokens, float *y, size_t y_stride, void *scratch);

    /* Dot product of a dense row (F32, F16, BF16, Q8_0 or any type that decodes) with an FP32 vector, for generation.
     * Not bit-equal between implementations (tolerance: |diff| <= 4 * n * eps * sum|w x|, checked by the test). */
    float (*dense_dot)(uint32_t type, const void *w, const float *x, size_t n);

    /* Row of any decodable type to FP32: bit-equal to codec_dequantize. */
    void (*dequantize)(uint32_t type, const void *src, float *dst, size_t n);

    /* y[i] = x[i] * rsqrt(mean(x^2) + eps) * w[i]; sum of squares in double. May run in place. w NULL: gain 1. */
    void (*rms_norm)(const float *x, const float *w, float eps, float *y, size_t n);
    /* The next three use one exponential (ref/scalar.c, relative error below 2e-7) and fixed orders of addition, so
     * they are bit-equal between implementations for finite input; NaN comes out as NaN. g[i] = silu(g[i]) * u[i]: */
    void (*swiglu)(float *g, const float *u, size_t n);
    /* In place, max subtracted, sum in double. */
    void (*softmax)(float *x, size_t n);
    /* log(sum(exp(x))) in double, max subtracted; *max_out is the largest value when not NULL. */
    double (*log_sum_exp)(const float *x, size_t n, float *max_out);
    /* acc[i] += x[i]^2 over n_rows rows `stride` apart: acc in double. */
    void (*add_squares)(const float *x, size_t n_rows, size_t stride, size_t n, double *acc);
};

/* name: NULL or "" for the best this CPU has, "scalar", "avx2"; an unknown name or one this CPU lacks is ERROR_USAGE
 * that lists what there is. Callers pass getenv("TERNPACK_KERNELS"). */
int kernels_select(const struct kernels **out, const char *name, struct error *err);
/* Every implementation this CPU can run, scalar first; NULL at the end. For tests and -v. */
const struct kernels *kernels_at(unsigned i);
size_t kernels_scratch(size_t n_cols);

/* Rotary position, in place on one head vector (first n_rot of it); cos/sin tables have n_rot/2 entries. neox: pairs
 * (i, i+n_rot/2), else (2i, 2i+1). */
void kernels_rope(float *x, const float *cos_t, const float *sin_t, size_t n_rot, bool neox);

#endif
