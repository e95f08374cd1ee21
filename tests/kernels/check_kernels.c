/* SPDX-License-Identifier: Apache-2.0 */
/* Every implementation this processor runs, against the scalar one: between guard pages, at odd sizes and alignments.
 */
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/rng.h"
#include "kernels/ref/scalar.h"
#include "tests/support/support.h"

static const uint32_t ternary[] = { BLOCK_TQ1_0, BLOCK_TQ2_0, BLOCK_Q2_0, BLOCK_PQ2_0, BLOCK_PTQ1_0 };

static void fill(struct rng *r, float *x, size_t n, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * rng_normal(r));
}

/* Rows of any bytes whose scales are finite: code 3, spare digits and non-canonical bytes included. */
static void fill_packed(struct rng *r, uint32_t type, uint8_t *w, size_t bytes)
{
    const struct block_info *info = block_info(type);
    size_t scale_at = type == BLOCK_TQ1_0 ? 52 : type == BLOCK_TQ2_0 ? 64 : type == BLOCK_PTQ1_0 ? 26 : 0;
    for (size_t i = 0; i < bytes; i++)
        w[i] = (uint8_t)rng_u64(r);
    for (size_t b = 0; b < bytes / info->bytes; b++) {
        static const uint16_t odd[] = { 0, 0x8000, 0x0001, 0x03ff, 0xb800, 0x7bff };
        uint64_t pick = rng_below(r, 12);
        bytes_put_u16(w + b * info->bytes + scale_at, pick < 6 ? odd[pick] : (uint16_t)(0x2000 + rng_below(r, 0x1800)));
    }
}

static void *guarded_copy(const void *src, size_t n)
{
    void *p = support_guard(n, 1);
    memcpy(p, src, n);
    return p;
}

START_TEST(ternary_matmul_is_bit_equal)
{
    static const size_t rows[] = { 1, 3, 8, 33, 70 }, tokens[] = { 1, 2, 7, 8, 9, 19 };
    uint32_t type = ternary[_i];
    struct rng rng;
    const struct kernels *k, *ref = kernels_at(0);
    rng_seed(&rng, 7 + (uint64_t)_i);
    const size_t step = block_info(type)->weights;
    for (size_t n_cols = step; n_cols <= 1536; n_cols += n_cols < 512 ? step : 1024)
        for (size_t ri = 0; ri < 5; ri++)
            for (size_t ti = 0; ti < 6; ti++) {
                size_t n_rows = rows[ri], n_tokens = tokens[ti], n_act = n_tokens * n_cols, stride = n_rows + 3;
                uint64_t row_bytes;
                ck_assert(block_row_bytes(block_info(type), n_cols, &row_bytes));
                uint8_t *raw = malloc(n_rows * row_bytes);
                float *x = malloc(n_act * sizeof *x), *a = malloc(n_act / 64 * sizeof *a);
                int8_t *q = malloc(n_act);
                float *want = calloc(n_tokens * stride, sizeof *want), *got = calloc(n_tokens * stride, sizeof *got);
                fill_packed(&rng, type, raw, n_rows * row_bytes);
                fill(&rng, x, n_act, 3);
                memset(x, 0, 64 * sizeof *x); /* one all-zero activation block */
                ref->quantize_act(x, q, a, n_act);
                uint8_t *w = guarded_copy(raw, n_rows * row_bytes);
                int8_t *gq = guarded_copy(q, n_act);
                void *scratch = aligned_alloc(64, (kernels_scratch(n_cols) + 63) / 64 * 64);
                ref->ternary_matmul(type, w, row_bytes, n_rows, n_cols, gq, a, n_tokens, want, stride, scratch);
                for (unsigned i = 1; (k = kernels_at(i)); i++) {
                    memset(got, 0, n_tokens * stride * sizeof *got);
                    k->ternary_matmul(type, w, row_bytes, n_rows, n_cols, gq, a, n_tokens, got, stride, scratch);
                    ck_assert_msg(!memcmp(got, want, n_tokens * stride * sizeof *got),
                                  "%s type %u, %zu x %zu, %zu tokens", k->name, type, n_rows, n_cols, n_tokens);
                }
                support_guard_free(w, n_rows * row_bytes, 1);
                support_guard_free(gq, n_act, 1);
                free(scratch), free(raw), free(x), free(a), free(q), free(want), free(got);
            }
}
END_TEST

/* The scalar product itself against double arithmetic on dequantized weights and activations. Each of the n/64 block
 * terms and each addition rounds once: |error| <= (n/64 + 3) eps sum|d a isum|. Scales below 1 matter. */
START_TEST(scalar_matmul_is_right)
{
    uint32_t type = ternary[_i];
    struct rng rng;
    enum { N = 1024, T = 2 };
    uint8_t w[N];
    float x[T * N], a[T * N / 64], values[N], y[T];
    int8_t q[T * N];
    uint64_t row_bytes;
    rng_seed(&rng, 99);
    ck_assert(block_row_bytes(block_info(type), N, &row_bytes));
    fill_packed(&rng, type, w, row_bytes);
    fill(&rng, x, T * N, 0.4);
    kernels_at(0)->quantize_act(x, q, a, T * N);
    codec_dequantize(type, w, values, N);
    void *scratch = aligned_alloc(64, (kernels_scratch(N) + 63) / 64 * 64);
    kernels_at(0)->ternary_matmul(type, w, row_bytes, 1, N, q, a, T, y, 1, scratch);
    for (int t = 0; t < T; t++) {
        double sum = 0, size = 0;
        for (int i = 0; i < N; i++) {
            double term = (double)values[i] * (double)a[(t * N + i) / 64] * q[t * N + i];
            sum += term;
            size += fabs(term);
        }
        ck_assert(fabs(y[t] - sum) <= (N / 64 + 3) * (double)FLT_EPSILON * size);
    }
    free(scratch);
}
END_TEST

START_TEST(activations)
{
    const struct kernels *k;
    struct rng rng;
    rng_seed(&rng, 5);
    enum { N = 640 };
    float x[N], a[N / 64], b[N / 64];
    int8_t q[N], p[N];
    for (int round = 0; round < 100; round++) {
        fill(&rng, x, N, exp(rng_normal(&rng) * 8));
        for (int i = 0; i < 64; i++) /* exact halves: ties to even */
            x[i] = (float)((int)rng_below(&rng, 255) - 127) * 0.5f;
        x[3] = 127.0f;
        memset(x + 64, 0, 64 * sizeof *x);
        x[130] = FLT_MIN / 64; /* the scale is subnormal */
        for (int i = 128; i < 192; i++)
            x[i] = i == 130 ? FLT_MIN / 64 : 0;
        kernels_at(0)->quantize_act(x, q, a, N);
        ck_assert(a[0] == 1.0f && a[1] == 0.0f && q[70] == 0);
        for (int i = 0; i < 64; i++)
            ck_assert_int_eq(q[i], (int)rint((double)x[i]));
        for (int i = 192; i < N; i++)
            ck_assert(fabs((double)x[i] - (double)a[i / 64] * q[i]) <= 0.5001 * (double)a[i / 64]);
        for (unsigned i = 1; (k = kernels_at(i)); i++) {
            k->quantize_act(x, p, b, N);
            ck_assert_mem_eq(p, q, N);
            ck_assert_mem_eq(a, b, sizeof a);
        }
    }
}
END_TEST

/* A number that is none must not vanish in the rounding: its block's scale, and every product with it, is NaN. */
START_TEST(not_finite_stays_visible)
{
    static const float bad[] = { NAN, -NAN, INFINITY, -INFINITY };
    const struct kernels *k;
    enum { N = 256 };
    float x[N], u[N], a[N / 64], y = 0;
    int8_t q[N], codes[N] = { 0 };
    uint16_t scale = 0x3c00;
    uint8_t w[66];
    codec_pack(BLOCK_TQ2_0, codes, &scale, w, N);
    void *scratch = aligned_alloc(64, (kernels_scratch(N) + 63) / 64 * 64);
    for (unsigned i = 0; (k = kernels_at(i)); i++)
        for (size_t at = 0; at < N; at += 13)
            for (size_t b = 0; b < 4; b++) {
                for (size_t j = 0; j < N; j++)
                    x[j] = u[j] = (float)(j % 17) - 8;
                x[at] = bad[b];
                k->quantize_act(x, q, a, N);
                for (size_t j = 0; j < N / 64; j++)
                    ck_assert(j == at / 64 ? isnan(a[j]) && q[at] == 0 : a[j] > 0);
                k->ternary_matmul(BLOCK_TQ2_0, w, 66, 1, N, q, a, 1, &y, 1, scratch);
                ck_assert_msg(isnan(y), "%s: product with %g at %zu", k->name, (double)bad[b], at);
                if (isinf(bad[b]))
                    continue;
                ck_assert(isnan(k->log_sum_exp(x, N, NULL)));
                k->swiglu(u, x, N);
                ck_assert(isnan(u[at]));
                memcpy(u, x, sizeof u);
                k->swiglu(u, x, N);
                ck_assert(isnan(u[at]));
                k->softmax(x, N);
                ck_assert(isnan(x[0]) && isnan(x[at]));
            }
    free(scratch);
}
END_TEST

/* scalar_exp is the exponential of every implementation. */
START_TEST(exponential_alone)
{
    struct rng rng;
    rng_seed(&rng, 17);
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        float x = (float)(rng_f64(&rng) * 175.6 - 87.3);
        double want = exp((double)x), error = fabs((double)scalar_exp(x) - want) / want;
        ck_assert_msg(error <= 2e-7, "exp(%.9g): relative error %g", (double)x, error);
        worst = error > worst ? error : worst;
    }
    ck_assert(worst > 1e-8); /* the comparison compares something */
    ck_assert(scalar_exp(0) == 1 && scalar_exp(-88) == 0 && scalar_exp(-INFINITY) == 0 && isnan(scalar_exp(NAN)));
    ck_assert(scalar_exp(1000) == scalar_exp(88.3f));
}
END_TEST

static const uint32_t decodable[] = { BLOCK_F32,   BLOCK_F16,   BLOCK_BF16, BLOCK_Q8_0,  BLOCK_Q4_0,
                                      BLOCK_TQ1_0, BLOCK_TQ2_0, BLOCK_Q2_0, BLOCK_PQ2_0, BLOCK_PTQ1_0 };

START_TEST(dequantize_and_dot)
{
    uint32_t type = decodable[_i];
    const struct block_info *info = block_info(type);
    const struct kernels *k;
    struct rng rng;
    rng_seed(&rng, 31 + (uint64_t)_i);
    for (size_t n = info->weights; n <= 1100; n += info->weights * (info->weights == 1 ? 13 : 1)) {
        size_t bytes = n / info->weights * info->bytes;
        uint8_t *raw = malloc(bytes);
        float *x = malloc(n * sizeof *x), *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
        fill(&rng, x, n, 1);
        if (info->ternary)
            fill_packed(&rng, type, raw, bytes);
        else if (info->weights == 32)
            for (size_t i = 0; i < bytes; i++)
                raw[i] = i % info->bytes == 1 ? 0x2c : (uint8_t)rng_u64(&rng);
        else
            for (size_t i = 0; i < n; i++) {
                float v = (float)rng_normal(&rng);
                type == BLOCK_F32   ? bytes_put_f32(raw + 4 * i, v)
                : type == BLOCK_F16 ? bytes_put_u16(raw + 2 * i, bytes_f16_from_f32(v))
                                    : bytes_put_u16(raw + 2 * i, bytes_bf16_from_f32(v));
            }
        uint8_t *w = guarded_copy(raw, bytes);
        ck_assert(codec_dequantize(type, w, want, n));
        double sum = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            sum += (double)want[i] * (double)x[i];
            size += fabs((double)want[i] * (double)x[i]);
        }
        for (unsigned i = 0; (k = kernels_at(i)); i++) {
            k->dequantize(type, w, got, n);
            ck_assert_msg(!memcmp(got, want, n * sizeof *got), "%s: dequantize type %u, n %zu", k->name, type, n);
            float dot = k->dense_dot(type, w, x, n);
            ck_assert_msg(fabs((double)dot - sum) <= 4 * (double)n * (double)FLT_EPSILON * size,
                          "%s: dot of type %u, n %zu", k->name, type, n);
        }
        support_guard_free(w, bytes, 1);
        free(raw), free(x), free(want), free(got);
    }
}
END_TEST

/* softmax, log_sum_exp and swiglu against double arithmetic: the exponential's relative error is at most 2e-7, plus a
 * few roundings (numerics.md). */
START_TEST(exponentials)
{
    const struct kernels *k;
    struct rng rng;
    rng_seed(&rng, 11);
    for (size_t n = 1; n <= 300; n += 7) {
        float *x = support_guard(n * sizeof *x, 1), *y = support_guard(n * sizeof *y, 1), max;
        for (unsigned i = 0; (k = kernels_at(i)); i++) {
            fill(&rng, x, n, 10);
            x[0] = 40; /* the others underflow gently */
            if (n > 3)
                x[3] = -1000;
            double sum = 0, top = 40;
            for (size_t j = 0; j < n; j++)
                top = fmax(top, (double)x[j]);
            for (size_t j = 0; j < n; j++)
                sum += exp((double)x[j] - top);
            double lse = k->log_sum_exp(x, n, &max);
            ck_assert(lse == kernels_at(0)->log_sum_exp(x, n, NULL));
            ck_assert((double)max == top);
            ck_assert(fabs(lse - (top + log(sum))) <= 1e-6);
            memcpy(y, x, n * sizeof *x);
            k->softmax(y, n);
            float *z = malloc(n * sizeof *z);
            memcpy(z, x, n * sizeof *x);
            kernels_at(0)->softmax(z, n);
            ck_assert_mem_eq(y, z, n * sizeof *y);
            for (size_t j = 0; j < n; j++) {
                /* x - max rounds in FP32: a relative error of |x - max| * eps / 2 in its exponential */
                double want = exp((double)x[j] - top) / sum,
                       tol = 1e-6 + fabs((double)x[j] - top) * (double)FLT_EPSILON;
                ck_assert_msg(fabs((double)y[j] - want) <= tol * want + 1e-37, "%s softmax %g: %g, expected %g",
                              k->name, (double)x[j], (double)y[j], want);
            }
            float *g = malloc(n * sizeof *g);
            fill(&rng, g, n, 20);
            g[0] = -200;
            memcpy(y, g, n * sizeof *g);
            memcpy(z, g, n * sizeof *g);
            k->swiglu(y, x, n);
            kernels_at(0)->swiglu(z, x, n);
            ck_assert_mem_eq(y, z, n * sizeof *y);
            free(z);
            for (size_t j = 0; j < n; j++) {
                double want = (double)g[j] / (1 + exp(-(double)g[j])) * (double)x[j];
                ck_assert_msg(fabs((double)y[j] - want) <= 1e-6 * fabs(want) + 1e-30, "%s swiglu %g", k->name,
                              (double)g[j]);
            }
            free(g);
        }
        support_guard_free(x, n * sizeof *x, 1);
        support_guard_free(y, n * sizeof *y, 1);
    }
}
END_TEST

START_TEST(norms_and_squares)
{
    const struct kernels *k;
    struct rng rng;
    rng_seed(&rng, 13);
    for (size_t n = 1; n <= 200; n += 9) {
        float *x = malloc(3 * n * sizeof *x), *w = malloc(n * sizeof *w), *y = malloc(n * sizeof *y);
        double *want = calloc(n, sizeof *want), *got = calloc(n, sizeof *got);
        fill(&rng, x, 3 * n, 2);
        fill(&rng, w, n, 1);
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += (double)x[i] * (double)x[i];
        for (unsigned i = 0; (k = kernels_at(i)); i++) {
            k->rms_norm(x, w, 1e-5f, y, n);
            for (size_t j = 0; j < n; j++) {
                double v = (double)x[j] / sqrt(sum / (double)n + 1e-5) * (double)w[j];
                ck_assert(fabs((double)y[j] - v) <= 4 * (double)FLT_EPSILON * fabs(v));
            }
            memset(got, 0, n * sizeof *got);
            k->add_squares(x, 3, n, n, got);
            if (i == 0)
                memcpy(want, got, n * sizeof *got);
            ck_assert_mem_eq(got, want, n * sizeof *got);
        }
        ck_assert(fabs(want[0] - ((double)x[0] * x[0] + (double)x[n] * x[n] + (double)x[2 * n] * x[2 * n])) <=
                  1e-12 * want[0]);
        free(x), free(w), free(y), free(want), free(got);
    }
}
END_TEST

START_TEST(rope)
{
    float x[6] = { 1, 2, 3, 4, 5, 6 }, cos_t[2] = { 0.5f, -1 }, sin_t[2] = { 2, 3 };
    kernels_rope(x, cos_t, sin_t, 4, false); /* pairs (0,1), (2,3); the rest stays */
    ck_assert(x[0] == 0.5f * 1 - 2 * 2 && x[1] == 1 * 2 + 0.5f * 2 && x[2] == -3 - 12 && x[3] == 9 - 4 && x[4] == 5 &&
              x[5] == 6);
    float z[4] = { 1, 2, 3, 4 };
    kernels_rope(z, cos_t, sin_t, 4, true); /* pairs (0,2), (1,3) */
    ck_assert(z[0] == 0.5f - 6 && z[2] == 2 + 1.5f && z[1] == -2 - 12 && z[3] == 6 - 4);
}
END_TEST

START_TEST(selection)
{
    const struct kernels *k;
    struct error err;
    ck_ok(kernels_select(&k, "scalar", &err), err);
    ck_assert_str_eq(k->name, "scalar");
    ck_ok(kernels_select(&k, NULL, &err), err);
    ck_assert_ptr_nonnull(k);
    ck_assert_int_eq(kernels_select(&k, "avx9", &err), ERROR_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "avx9"));
    ck_assert_ptr_nonnull(strstr(err.text, "scalar"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("kernels");
    TCase *t = tcase_create("kernels");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, ternary_matmul_is_bit_equal, 0, 5);
    tcase_add_loop_test(t, scalar_matmul_is_right, 0, 5);
    tcase_add_test(t, activations);
    tcase_add_loop_test(t, dequantize_and_dot, 0, 10);
    tcase_add_test(t, not_finite_stays_visible);
    tcase_add_test(t, exponential_alone);
    tcase_add_test(t, exponentials);
    tcase_add_test(t, norms_and_squares);
    tcase_add_test(t, rope);
    tcase_add_test(t, selection);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
