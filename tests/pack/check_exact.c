/* SPDX-License-Identifier: Apache-2.0 */
/* Recognising tensors that are ternary already, and the size of their groups. */
#include <stdlib.h>
#include <string.h>

#include "base/util/rng.h"
#include "pack/exact.h"
#include "tests/support/support.h"

enum { ROWS = 6, COLS = 512, N = ROWS * COLS };

/* Ternary with one scale of sixteenths per `group`, seen as a flat tensor. */
static void fill(float *w, size_t group, uint64_t seed)
{
    struct rng r;
    rng_seed(&r, seed);
    for (size_t i = 0; i < N; i++)
        w[i] = (float)((double)rng_below(&r, 3) - 1) * (float)(1 + (i / group) % 7) / 16;
}

static struct exact_scan scan(const float *w, size_t cols, size_t rows_at_once)
{
    struct exact_scan x;
    exact_init(&x, cols);
    for (size_t r = 0, rows = N / cols; r < rows; r += rows_at_once)
        if (!exact_rows(&x, w + r * cols, rows - r < rows_at_once ? rows - r : rows_at_once))
            break;
    return x;
}

START_TEST(sizes)
{
    static const struct {
        size_t group;
        const char *name;
    } cases[] = { { 32, "32" }, { 64, "64" }, { 128, "128" }, { 256, "256" }, { COLS, "row" }, { N, "tensor" } };
    float w[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step <= ROWS; step += 2) {
            fill(w, cases[i].group, 7 + i);
            struct exact_scan x = scan(w, COLS, step);
            ck_assert_str_eq(exact_source_group(&x), cases[i].name);
            for (unsigned block = 64; block <= 256; block *= 2)
                ck_assert_int_eq(exact_holds(&x, block), block <= cases[i].group);
        }
}
END_TEST

/* One weight that differs, wherever it stands, is found; a group of zeros goes with any neighbour. */
START_TEST(one_wrong)
{
    struct rng r;
    float w[N];
    rng_seed(&r, 11);
    for (int round = 0; round < 500; round++) {
        size_t at = rng_below(&r, N), start = at / 32 * 32;
        fill(w, N, 13);
        w[start + (at + 1) % 32] = 1.0f / 16;
        w[at] = at % 2 ? 0.0626f : -0.125f;
        struct exact_scan x = scan(w, COLS, 2);
        ck_assert(exact_source_group(&x) == NULL);
        ck_assert(!exact_holds(&x, 64));
        memset(w + start, 0, 32 * sizeof *w);
        x = scan(w, COLS, 2);
        ck_assert_str_eq(exact_source_group(&x), "tensor");
    }
}
END_TEST

START_TEST(odd_rows)
{
    float w[N];
    fill(w, N, 3);
    struct exact_scan x = scan(w, 96, 4); /* 32 divides, 64 does not */
    ck_assert(!exact_holds(&x, 64));
    ck_assert_str_eq(exact_source_group(&x), "tensor");
    x = scan(w, 48, 4); /* only whole rows */
    ck_assert_str_eq(exact_source_group(&x), "tensor");
    fill(w, 48, 4);
    x = scan(w, 48, 4);
    ck_assert_str_eq(exact_source_group(&x), "row");
    w[50] = 9;
    w[51] = 8;
    x = scan(w, 48, 4);
    ck_assert(exact_source_group(&x) == NULL);
}
END_TEST

/* Scales must be fp16 values: 1 + 2^-11 is not, 2^-24 is, 65520 is not; zeros may be negative. */
START_TEST(scales)
{
    float w[N];
    static const struct {
        float s;
        bool ok;
    } cases[] = { { 1 + 0x1p-11f, false }, { 1 + 0x1p-10f, true }, { 0x1p-24f, true }, { 0x1p-25f, false },
                  { 65504, true },         { 65520, false },       { 3e38f, false } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fill(w, N, 5);
        for (size_t j = 0; j < N; j++)
            w[j] = w[j] > 0 ? cases[i].s : w[j] < 0 ? -cases[i].s : -0.0f;
        struct exact_scan x = scan(w, COLS, 3);
        ck_assert_str_eq(exact_source_group(&x), "tensor");
        ck_assert_int_eq(exact_holds(&x, 128), cases[i].ok);
    }
    memset(w, 0, sizeof w);
    struct exact_scan x = scan(w, COLS, 3);
    ck_assert(exact_holds(&x, 256));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("exact");
    TCase *t = tcase_create("exact");
    suite_add_tcase(s, t);
    tcase_add_test(t, sizes);
    tcase_add_test(t, one_wrong);
    tcase_add_test(t, odd_rows);
    tcase_add_test(t, scales);
    return s;
}

int main(void)
{
    return support_main(suite);
}
