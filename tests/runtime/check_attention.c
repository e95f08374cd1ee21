/* SPDX-License-Identifier: Apache-2.0 */
/* Cache, attention, rotary tables and products against plain double loops; and the same bits for 1 and 3 threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/rng.h"
#include "runtime/attention.h"
#include "runtime/backend.h"
#include "runtime/rope.h"
#include "tests/support/support.h"

static const struct kernels *best(void)
{
    const struct kernels *k;
    struct error err = { 0 };
    ck_ok(kernels_select(&k, getenv("TERNPACK_KERNELS"), &err), err);
    return k;
}

static float *noise(size_t n, uint64_t seed)
{
    struct rng r;
    float *x = malloc(n * sizeof *x);
    rng_seed(&r, seed);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(&r);
    return x;
}

struct shape {
    size_t n_head, n_head_kv, head_dim, past, n, first;
};

/* out[t][h] of one query by definition, with the cache's own (rounded) keys and values */
static void naive(const struct shape *s, const struct kv *kv, size_t t, size_t h, const float *q, double *out)
{
    size_t hd = s->head_dim, seen = s->past + t + 1, head = h / (s->n_head / s->n_head_kv);
    double *p = malloc(seen * sizeof *p), max = -INFINITY, sum = 0;
    float *row = malloc(hd * sizeof *row);
    for (size_t j = 0; j < seen; j++) {
        const float *k = kv_rows(kv->k, kv, kernels_at(0), 1, head, j, 1, row);
        p[j] = 0;
        for (size_t i = 0; i < hd; i++)
            p[j] += (double)k[i] * q[i] / sqrt((double)hd);
        max = p[j] > max ? p[j] : max;
    }
    for (size_t j = 0; j < seen; j++)
        sum += p[j] = exp(p[j] - max);
    memset(out, 0, hd * sizeof *out);
    for (size_t j = 0; j < seen; j++) {
        const float *v = kv_rows(kv->v, kv, kernels_at(0), 1, head, j, 1, row);
        for (size_t i = 0; i < hd; i++)
            out[i] += p[j] / sum * v[i];
    }
    free(p);
    free(row);
}

static void attend(const struct shape *s, const struct kv *kv, const float *q, float *out, unsigned threads)
{
    struct error err = { 0 };
    struct pool *pool = NULL;
    struct attention a;
    ck_ok(pool_open(&pool, threads, &err), err);
    ck_ok(attention_open(&a, best(), pool, s->n_head, s->n_head_kv, s->head_dim, kv->n_ctx, &err), err);
    attention_run(&a, kv, 1, q, out, s->past, s->first, s->n);
    attention_close(&a);
    pool_close(pool);
}

static void check_shape(const struct shape *s, enum kv_type type)
{
    size_t hd = s->head_dim, n_ctx = s->past + s->n + 3, width = s->n_head * hd, compared = 0;
    struct error err = { 0 };
    struct kv kv;
    ck_ok(kv_open(&kv, type, 2, s->n_head_kv, n_ctx, hd, &err), err);
    float *keys = noise((s->past + s->n) * s->n_head_kv * hd, 1),
          *values = noise((s->past + s->n) * s->n_head_kv * hd, 2);
    float *q = noise(s->n * width, 3);
    float *out = calloc(s->n * width, sizeof *out), *again = calloc(s->n * width, sizeof *again);
    double *expected = malloc(hd * sizeof *expected);
    for (size_t t = 0; t < s->past + s->n; t++)
        for (size_t h = 0; h < s->n_head_kv; h++) {
            ck_assert_uint_eq(kv_store(kv.k, &kv, 1, h, t, keys + (t * s->n_head_kv + h) * hd), 0);
            ck_assert_uint_eq(kv_store(kv.v, &kv, 1, h, t, values + (t * s->n_head_kv + h) * hd), 0);
        }
    attend(s, &kv, q, out, 1);
    attend(s, &kv, q, again, 3);
    ck_assert_int_eq(memcmp(out, again, s->n * width * sizeof *out), 0);
    for (size_t t = s->first; t < s->n; t++)
        for (size_t h = 0; h < s->n_head; h++) {
            naive(s, &kv, t, h, q + t * width + h * hd, expected);
            for (size_t i = 0; i < hd; i++, compared++)
                ck_assert_msg(fabs(out[t * width + h * hd + i] - expected[i]) <= 2e-5,
                              "query %zu head %zu [%zu]: %g, %g", t, h, i, out[t * width + h * hd + i], expected[i]);
        }
    ck_assert_uint_eq(compared, (s->n - s->first) * width);
    for (size_t i = 0; i < s->first * width; i++)
        ck_assert(out[i] == 0);
    free(keys);
    free(values);
    free(q);
    free(out);
    free(again);
    free(expected);
    kv_close(&kv);
}

START_TEST(attention_equals_its_definition)
{
    static const struct shape shapes[] = {
        { 4, 4, 16, 0, 1, 0 },  { 4, 2, 16, 0, 33, 0 },  { 9, 3, 64, 0, 70, 0 },    { 9, 3, 64, 300, 1, 0 },
        { 2, 1, 32, 5, 65, 0 }, { 6, 2, 24, 250, 7, 0 }, { 4, 2, 32, 10, 130, 67 }, { 4, 1, 32, 0, 10, 9 },
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        check_shape(&shapes[i], KV_F32);
        check_shape(&shapes[i], KV_F16);
        if (shapes[i].head_dim % 32 == 0)
            check_shape(&shapes[i], KV_Q8_0);
    }
}
END_TEST

START_TEST(cache_refuses_what_it_cannot_hold)
{
    struct error err = { 0 };
    struct kv kv;
    ck_assert_int_eq(kv_open(&kv, KV_Q8_0, 1, 1, 4, 24, &err), ERROR_USAGE);
    ck_assert_int_eq(kv_open(&kv, KV_F32, 1u << 31, 1u << 31, 1u << 31, 1 << 20, &err), ERROR_NOMEM);
    ck_ok(kv_open(&kv, KV_F16, 1, 1, 4, 2, &err), err);
    const float big[] = { 70000, 1 };
    ck_assert_uint_eq(kv_store(kv.k, &kv, 0, 0, 3, big), 1);
    kv_close(&kv);
}
END_TEST

START_TEST(rope_frequencies_by_hand)
{
    struct hparams h = { .n_rot = 4,
                         .rope_base = 100,
                         .rope_factor = 1,
                         .yarn_ext_factor = 1,
                         .yarn_attn_factor = 1,
                         .yarn_beta_fast = 32,
                         .yarn_beta_slow = 1,
                         .rope_orig_ctx = 4096 };
    const float factors[] = { 2, 8 };
    double f[2], gain;
    float c[2], s[2];
    rope_frequencies(&h, NULL, f, &gain);
    ck_assert(f[0] == 1 && fabs(f[1] - 0.1) < 1e-15 && gain == 1); /* 100^(-2/4) */
    rope_frequencies(&h, factors, f, &gain);
    ck_assert(f[0] == 0.5 && fabs(f[1] - 0.0125) < 1e-15);
    h.rope_scaling = ROPE_LINEAR;
    h.rope_factor = 4;
    rope_frequencies(&h, NULL, f, &gain);
    ck_assert(f[0] == 0.25 && fabs(f[1] - 0.025) < 1e-15 && gain == 1);
    rope_table(f, 2, 2, 3, c, s);
    ck_assert(fabs(c[0] - 2 * cos(0.75)) < 1e-6 && fabs(s[1] - 2 * sin(0.075)) < 1e-6);
}
END_TEST

/* YaRN of base 10000, 64 dimensions, factor 4 over 32768: the ramp runs from pair 16 (32 turns: 17.66...) to pair 30 (1
 * turn). */
START_TEST(yarn_ramp)
{
    struct hparams h = { .n_rot = 64,
                         .rope_base = 10000,
                         .rope_scaling = ROPE_YARN,
                         .rope_factor = 4,
                         .yarn_ext_factor = 1,
                         .yarn_attn_factor = 1,
                         .yarn_beta_fast = 32,
                         .yarn_beta_slow = 1,
                         .rope_orig_ctx = 32768 };
    double f[32], gain;
    rope_frequencies(&h, NULL, f, &gain);
    ck_assert(fabs(gain - (1 + 0.1 * log(4))) < 1e-12);
    double turns32 = 64 * log(32768 / (32 * 2 * M_PI)) / (2 * log(10000));
    double turns1 = 64 * log(32768 / (2 * M_PI)) / (2 * log(10000));
    double low = floor(turns32), high = ceil(turns1);
    for (int i = 0; i < 32; i++) {
        double plain = pow(10000, -2.0 * i / 64), ramp = (i - low) / (high - low);
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        ck_assert_msg(fabs(f[i] / (plain / 4 * ramp + plain * (1 - ramp)) - 1) <= 1e-12, "pair %d", i);
    }
    ck_assert(f[0] == 1 && fabs(f[31] - pow(10000, -62.0 / 64) / 4) < 1e-15);
}
END_TEST

static void products(const struct weight *w, const float *x, size_t n_tokens, unsigned threads, bool exact, float *y)
{
    struct error err = { 0 };
    struct pool *pool = NULL;
    struct backend *b;
    const struct product p[] = { { &w[0], y, w[0].n_out }, { &w[1], y + n_tokens * w[0].n_out, w[1].n_out } };
    ck_ok(pool_open(&pool, threads, &err), err);
    ck_ok(backend_open(&b, best(), pool, exact, n_tokens, w[0].n_in, &err), err);
    backend_products(b, x, n_tokens, p, 2);
    backend_close(b);
    pool_close(pool);
}

/* Two weights of one input: the first dense, the second ternary, n_in 256. */
static void check_products(uint32_t type, uint32_t ternary, size_t n_tokens, bool exact)
{
    enum { N_IN = 256, OUT0 = 517, OUT1 = 70 };
    uint64_t row0, row1;
    ck_assert(block_row_bytes(block_info(type), N_IN, &row0) && block_row_bytes(block_info(ternary), N_IN, &row1));
    /* odd address: file data may be aligned to anything */
    uint8_t *data0 = (uint8_t *)malloc(row0 * OUT0 + 1) + 1, *data1 = (uint8_t *)malloc(row1 * OUT1 + 1) + 1;
    float *w0 = noise(N_IN * OUT0, 7), *w1 = malloc(N_IN * OUT1 * sizeof *w1), *x = noise(n_tokens * N_IN, 8);
    size_t n_y = n_tokens * (OUT0 + OUT1);
    float *y = malloc(n_y * sizeof *y), *again = malloc(n_y * sizeof *again);
    if (type == BLOCK_F32)
        memcpy(data0, w0, row0 * OUT0);
    else if (type == BLOCK_F16)
        codec_to_f16(w0, data0, N_IN * OUT0);
    else if (type == BLOCK_BF16)
        codec_to_bf16(w0, data0, N_IN * OUT0);
    else
        codec_quantize_q8_0(w0, data0, N_IN * OUT0);
    codec_dequantize(type, data0, w0, N_IN * OUT0);
    int8_t codes[N_IN];
    uint16_t scales[4] = { 0x3800, 0x3400, 0x3a00, 0x3000 };
    for (size_t r = 0; r < OUT1; r++) {
        for (size_t i = 0; i < N_IN; i++)
            codes[i] = (int8_t)((i * 31 + r * 17) / 5 % 3) - 1;
        codec_pack(ternary, codes, scales, data1 + r * row1, N_IN);
    }
    codec_dequantize(ternary, data1, w1, N_IN * OUT1);
    const struct weight w[] = { { "dense", data0, type, false, N_IN, OUT0, row0 },
                                { "ternary", data1, ternary, true, N_IN, OUT1, row1 } };
    products(w, x, n_tokens, 1, exact, y);
    products(w, x, n_tokens, 3, exact, again);
    ck_assert_int_eq(memcmp(y, again, n_y * sizeof *y), 0);
    for (size_t t = 0; t < n_tokens; t++)
        for (size_t r = 0; r < OUT0 + OUT1; r++) {
            const float *row = r < OUT0 ? w0 + r * N_IN : w1 + (r - OUT0) * N_IN;
            float found = r < OUT0 ? y[t * OUT0 + r] : y[n_tokens * OUT0 + t * OUT1 + r - OUT0];
            double sum = 0, size = 0;
            for (size_t i = 0; i < N_IN; i++) {
                sum += (double)row[i] * x[t * N_IN + i];
                size += fabs((double)row[i] * x[t * N_IN + i]);
            }
            /* activations rounded to 8 bits: half a step of max/127 each */
            double tolerance = r < OUT0 || exact ? 1e-5 * size : 0.02 * size;
            ck_assert_msg(fabs(found - sum) <= tolerance, "type %u/%u token %zu row %zu: %g, expected %g", type,
                          ternary, t, r, found, sum);
        }
    free(data0 - 1);
    free(data1 - 1);
    free(w0);
    free(w1);
    free(x);
    free(y);
    free(again);
}

START_TEST(products_equal_their_definition)
{
    static const uint32_t dense[] = { BLOCK_F32, BLOCK_F16, BLOCK_BF16, BLOCK_Q8_0, BLOCK_F16 };
    static const uint32_t ternary[] = { BLOCK_TQ1_0, BLOCK_TQ2_0, BLOCK_Q2_0, BLOCK_PQ2_0, BLOCK_PTQ1_0 };
    static const size_t n_tokens[] = { 1, 2, 33 };
    for (size_t i = 0; i < 5; i++)
        for (size_t t = 0; t < 3; t++) {
            check_products(dense[i], ternary[i], n_tokens[t], false);
            check_products(dense[i], ternary[i], n_tokens[t], true);
        }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("attention");
    TCase *t = tcase_create("parts");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, attention_equals_its_definition);
    tcase_add_test(t, cache_refuses_what_it_cannot_hold);
    tcase_add_test(t, rope_frequencies_by_hand);
    tcase_add_test(t, yarn_ramp);
    tcase_add_test(t, products_equal_their_definition);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
