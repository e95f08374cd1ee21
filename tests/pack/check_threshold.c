/* SPDX-License-Identifier: Apache-2.0 */
/* Optimal scale and threshold against exhaustive search: over every k, and for small groups over every code assignment.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/rng.h"
#include "pack/scale.h"
#include "pack/threshold.h"
#include "tests/support/support.h"

/* sum h (w - s t)^2 */
static double error_of(const float *w, const float *h, unsigned g, const int8_t *t, double s)
{
    double e = 0;
    for (unsigned i = 0; i < g; i++) {
        double d = w[i] - s * t[i];
        e += (h ? h[i] : 1) * d * d;
    }
    return e;
}

static double energy(const float *w, const float *h, unsigned g)
{
    const int8_t none[THRESHOLD_MAX_GROUP] = { 0 };
    return error_of(w, h, g, none, 0);
}

/* Least error over all 3^g code vectors, each with its own best scale (negative scales are mirror images). */
static double best_of_all(const float *w, const float *h, unsigned g)
{
    double best = energy(w, h, g);
    unsigned n = 1;
    for (unsigned i = 0; i < g; i++)
        n *= 3;
    for (unsigned c = 0; c < n; c++) {
        int8_t t[16];
        double num = 0, den = 0;
        for (unsigned i = 0, rest = c; i < g; i++, rest /= 3) {
            t[i] = (int8_t)(rest % 3) - 1;
            num += (h ? h[i] : 1) * w[i] * t[i];
            den += (h ? h[i] : 1) * t[i] * t[i];
        }
        double e = den > 0 ? error_of(w, h, g, t, num / den) : best;
        best = e < best ? e : best;
    }
    return best;
}

/* Least error over thresholds: the sets {i : |w_i| >= |w_j|} for every j. */
static double best_of_sets(const float *w, const float *h, unsigned g)
{
    double best = energy(w, h, g);
    for (unsigned j = 0; j < g; j++) {
        int8_t t[THRESHOLD_MAX_GROUP];
        double num = 0, den = 0;
        for (unsigned i = 0; i < g; i++) {
            t[i] = fabsf(w[i]) >= fabsf(w[j]) ? (w[i] > 0) - (w[i] < 0) : 0;
            num += (h ? h[i] : 1) * w[i] * t[i];
            den += (h ? h[i] : 1) * t[i] * t[i];
        }
        double e = den > 0 ? error_of(w, h, g, t, num / den) : best;
        best = e < best ? e : best;
    }
    return best;
}

static void check_free(const float *w, const float *h, unsigned g, double want)
{
    int8_t codes[THRESHOLD_MAX_GROUP];
    double s, tolerance = 1e-12 * energy(w, h, g);
    threshold_group(w, h, g, THRESHOLD_FREE, codes, &s);
    double e = error_of(w, h, g, codes, s);
    ck_assert_msg(fabs(e - want) <= tolerance, "error %.17g, best %.17g (group of %u)", e, want, g);
    ck_assert(s >= 0);
    for (unsigned i = 0; i < g; i++)
        ck_assert_msg(codes[i] == 0 || (codes[i] > 0) == (w[i] > 0), "sign of weight %u", i);
}

/* Weights on coarse grids make ties and zeros; continuous ones make none. Importances with zeros every other round. */
static void fill(struct rng *r, float *w, float *h, unsigned g, int kind)
{
    for (unsigned i = 0; i < g; i++) {
        w[i] = (float)(kind == 0 ? rng_normal(r) : kind == 1 ? (double)rng_below(r, 7) - 3 : pow(rng_normal(r), 5));
        h[i] = (float)(kind == 1 ? (double)rng_below(r, 3) : exp(3 * rng_normal(r)));
    }
}

START_TEST(against_all_codes)
{
    struct rng r;
    rng_seed(&r, 20260101);
    for (int round = 0; round < 3000; round++) {
        float w[8], h[8];
        unsigned g = 1 + (unsigned)rng_below(&r, 8);
        fill(&r, w, h, g, round % 3);
        check_free(w, NULL, g, best_of_all(w, NULL, g));
        if (energy(w, h, g) > 0)
            check_free(w, h, g, best_of_all(w, h, g));
    }
}
END_TEST

START_TEST(against_all_thresholds)
{
    struct rng r;
    rng_seed(&r, 20260102);
    for (int round = 0; round < 600; round++) {
        float w[256], h[256];
        unsigned g = 64u << rng_below(&r, 3);
        fill(&r, w, h, g, round % 3);
        check_free(w, NULL, g, best_of_sets(w, NULL, g));
        check_free(w, h, g, best_of_sets(w, h, g));
    }
}
END_TEST

/* Gaussian weights: relative squared error of the best ternary grid is 0.19. */
START_TEST(gaussian)
{
    struct rng r;
    double e = 0, all = 0;
    rng_seed(&r, 20260103);
    for (int round = 0; round < 2000; round++) {
        float w[256];
        int8_t codes[256];
        double s;
        for (int i = 0; i < 256; i++)
            w[i] = (float)rng_normal(&r);
        threshold_group(w, NULL, 256, THRESHOLD_FREE, codes, &s);
        e += error_of(w, NULL, 256, codes, s);
        all += energy(w, NULL, 256);
    }
    ck_assert_msg(fabs(e / all - 0.19) <= 0.002, "relative squared error %g", e / all);
}
END_TEST

START_TEST(fixed_count)
{
    struct rng r;
    rng_seed(&r, 20260104);
    for (int round = 0; round < 2000; round++) {
        float w[64], h[64];
        int8_t codes[64];
        double s, sum = 0;
        unsigned keep = (unsigned)rng_below(&r, 65), n = 0, zero = 0;
        fill(&r, w, h, 64, round % 2);
        threshold_group(w, NULL, 64, (int)keep, codes, &s);
        float least = INFINITY, most = 0;
        for (int i = 0; i < 64; i++) {
            zero += w[i] == 0;
            if (codes[i] == 0) {
                most = fmaxf(most, fabsf(w[i]));
                continue;
            }
            n++;
            least = fminf(least, fabsf(w[i]));
            sum += fabsf(w[i]);
        }
        ck_assert_uint_eq(n, keep < 64 - zero ? keep : 64 - zero);
        ck_assert(n == 0 || !(least < most));
        ck_assert_msg(fabs(s - (n ? sum / n : 0)) <= 1e-12 * (s + 1), "scale %g of %u", s, n);
    }
}
END_TEST

/* Equal magnitudes under a fixed count: the lower index stays. */
START_TEST(fixed_ties)
{
    const float w[8] = { -1, 1, 0.5f, -1, 1, 1, 0, -1 };
    const int8_t want[8] = { -1, 1, 0, -1, 1, 0, 0, 0 };
    int8_t codes[8];
    double s;
    threshold_group(w, NULL, 8, 4, codes, &s);
    ck_assert_mem_eq(codes, want, 8);
    ck_assert_double_eq(s, 1);
}
END_TEST

/* {2, 1.something} where two sets are equally good: (S+w)^2/2 = S^2 at w = (sqrt 2 - 1) S has no float, but integers
 * have: 9 units of 4 and then 16 of 1: 36^2/9 = 144, 52^2/25 = 108.2; equal sets arise as S^2/k = (S+w)^2/(k+j). Take 1
 * weight of 3 and 3 of 1: 9/1 = 36/4. The smaller set must win. */
START_TEST(free_tie)
{
    const float w[4] = { 1, -3, 1, 1 };
    const int8_t want[4] = { 0, -1, 0, 0 };
    int8_t codes[4];
    double s;
    threshold_group(w, NULL, 4, THRESHOLD_FREE, codes, &s);
    ck_assert_mem_eq(codes, want, 4);
    ck_assert_double_eq(s, 3);
}
END_TEST

START_TEST(special_groups)
{
    float w[64] = { 0 }, h[64] = { 0 };
    int8_t codes[64], want[64] = { 0 };
    double s = -1;
    ck_assert_int_eq(threshold_group(w, NULL, 64, THRESHOLD_FREE, codes, &s), 0);
    ck_assert_mem_eq(codes, want, 64);
    ck_assert_double_eq(s, 0);

    /* a ternary group comes back, starting with the negative; -0 is a zero */
    for (int i = 0; i < 64; i++) {
        want[i] = (int8_t)(i % 3 - 1);
        w[i] = 0.66f * want[i];
    }
    w[1] = -0.0f;
    ck_assert_int_eq(threshold_group(w, NULL, 64, THRESHOLD_FREE, codes, &s), 0);
    ck_assert_mem_eq(codes, want, 64);
    ck_assert(s == (double)0.66f);

    /* importances all zero: as without any */
    ck_assert_int_eq(threshold_group(w, h, 64, THRESHOLD_FREE, codes, &s), 1);
    ck_assert_mem_eq(codes, want, 64);

    /* one important weight: its value is the scale, the others follow the threshold */
    float v[4] = { 4, 1, -3, 2 }, one[4] = { 0, 1, 0, 0 };
    const int8_t want_v[4] = { 1, 1, -1, 1 };
    ck_assert_int_eq(threshold_group(v, one, 4, THRESHOLD_FREE, codes, &s), 0);
    ck_assert_double_eq(s, 1);
    ck_assert_mem_eq(codes, want_v, 4);
}
END_TEST

/* The range of F32 sources does not break the sums. */
START_TEST(extremes)
{
    const float w[4] = { 3e38f, -3e38f, 1e-45f, 0 };
    const int8_t want[4] = { 1, -1, 0, 0 };
    int8_t codes[4];
    double s;
    threshold_group(w, NULL, 4, THRESHOLD_FREE, codes, &s);
    ck_assert_mem_eq(codes, want, 4);
    ck_assert(s == (double)3e38f);
    const float tiny[2] = { 1e-45f, -1e-45f };
    threshold_group(tiny, NULL, 2, THRESHOLD_FREE, codes, &s);
    ck_assert(codes[0] == 1 && codes[1] == -1 && s > 0);
}
END_TEST

/* Many groups at once: the same bits as one by one, for all source types, with ties, zeros of both signs,
 * subnormals, the largest values, and fewer groups than lanes. */
START_TEST(batches)
{
    enum { N = THRESHOLD_LANES * 256 };
    static uint8_t source[4 * N + 1];
    static float w[N], h[N];
    static int8_t codes[N], want[N];
    struct rng r;
    rng_seed(&r, 20260105);
    for (int round = 0; round < 300; round++) {
        unsigned g = 64u << rng_below(&r, 3), n_groups = 1 + (unsigned)rng_below(&r, THRESHOLD_LANES);
        enum threshold_source kind = (enum threshold_source)(round % 3);
        size_t size = kind == THRESHOLD_F32 ? 4 : 2;
        bool weighted = round / 3 & 1;
        const float *hp[THRESHOLD_LANES];
        double scale[THRESHOLD_LANES], one;
        for (unsigned i = 0; i < n_groups * g; i++) {
            double x = rng_normal(&r), power = pow(2, (double)rng_below(&r, 40) - 24);
            int values = round / 6 % 3;
            float v = (float)(values == 0 ? x * 0.02 : values == 1 ? rint(x) : x * power);
            v = fabsf(v) > 65000 ? 65000 : v;
            uint8_t *at = source + 1 + size * i;
            if (kind == THRESHOLD_F32)
                bytes_put_f32(at, v);
            else
                bytes_put_u16(at, kind == THRESHOLD_BF16 ? bytes_bf16_from_f32(v) : bytes_f16_from_f32(v));
            w[i] = kind == THRESHOLD_F32    ? v
                   : kind == THRESHOLD_BF16 ? bytes_f32_from_bf16(bytes_get_u16(at))
                                            : bytes_f32_from_f16(bytes_get_u16(at));
            h[i] = round % 5 == 4 ? 1 : (float)(rng_below(&r, 4) == 0 ? 0 : exp(3 * rng_normal(&r)));
        }
        for (unsigned l = 0; l < n_groups; l++)
            hp[l] = h + (size_t)l * g;
        for (int instance = 0; instance < 2; instance++) {
            threshold_batch_fn *batch = threshold_batch_for(instance ? "avx2" : "scalar");
            memset(codes, 99, sizeof codes);
            batch(source + 1, kind, w, weighted ? hp : NULL, g, n_groups, codes, scale);
            for (unsigned l = 0; l < n_groups; l++) {
                threshold_group(w + l * g, weighted ? hp[l] : NULL, g, THRESHOLD_FREE, want + l * g, &one);
                ck_assert_msg(one == scale[l], "scale %.17g, one by one %.17g", scale[l], one);
            }
            ck_assert_mem_eq(codes, want, (size_t)n_groups * g);
        }
    }
}
END_TEST

START_TEST(stored_scales)
{
    struct scale_counts c = { 0 };
    uint16_t bits;
    ck_assert(scale_store(0, &bits, &c) && bits == 0);
    ck_assert(scale_store(0.5, &bits, &c) && bits == 0x3800);
    ck_assert(scale_store(65504, &bits, &c) && bits == 0x7bff);
    ck_assert(c.flushed == 0 && c.subnormal == 0);
    ck_assert(scale_store(0x1p-24, &bits, &c) && bits == 1 && c.subnormal == 1);
    ck_assert(scale_store(1e-8, &bits, &c) && bits == 0 && c.flushed == 1);
    ck_assert(scale_store(1e-300, &bits, &c) && bits == 0 && c.flushed == 2);
    ck_assert(!scale_store(65520, &bits, &c));
    ck_assert(!scale_store(1e300, &bits, &c));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("threshold");
    TCase *t = tcase_create("threshold");
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    tcase_add_test(t, against_all_codes);
    tcase_add_test(t, against_all_thresholds);
    tcase_add_test(t, gaussian);
    tcase_add_test(t, fixed_count);
    tcase_add_test(t, fixed_ties);
    tcase_add_test(t, free_tie);
    tcase_add_test(t, special_groups);
    tcase_add_test(t, extremes);
    tcase_add_test(t, batches);
    tcase_add_test(t, stored_scales);
    return s;
}

int main(void)
{
    return support_main(suite);
}
