/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/sample.h"
#include "tests/support/support.h"

static void near(double found, double expected)
{
    ck_assert_msg(fabs(found - expected) <= 1e-12, "found %.17g, expected %.17g", found, expected);
}

START_TEST(top_k_sorts_and_keeps_lower_ids_first)
{
    const float logits[] = { 1, 4, -2, 4, 3, 0 };
    struct sample_item items[6];
    const int32_t all[] = { 1, 3, 4, 0, 5, 2 };
    for (size_t k = 0; k <= 7; k++) {
        size_t n = sample_top_k(items, logits, 6, k);
        ck_assert_uint_eq(n, k == 0 || k > 6 ? 6 : k);
        for (size_t i = 0; i < n; i++)
            ck_assert_int_eq(items[i].id, all[i]);
    }
}
END_TEST

START_TEST(top_k_of_many_equals_the_sorted_head)
{
    float logits[1000];
    struct sample_item all[1000], some[1000];
    for (size_t i = 0; i < 1000; i++)
        logits[i] = (float)((i * 7919) % 331);
    sample_top_k(all, logits, 1000, 0);
    ck_assert_uint_eq(sample_top_k(some, logits, 1000, 37), 37);
    for (size_t i = 0; i < 37; i++)
        ck_assert_int_eq(some[i].id, all[i].id);
}
END_TEST

/* logits ln 8, ln 4, ln 2, ln 2: p = 1/2, 1/4, 1/8, 1/8 */
static size_t halves(struct sample_item items[4], double temp)
{
    const float logits[] = { logf(2), logf(8), logf(4), logf(2) };
    size_t n = sample_top_k(items, logits, 4, 0);
    sample_softmax(items, n, temp);
    return n;
}

START_TEST(softmax_and_temperature)
{
    struct sample_item items[4];
    halves(items, 1);
    ck_assert_int_eq(items[0].id, 1);
    ck_assert(fabs(items[0].p - 0.5) < 1e-6 && fabs(items[1].p - 0.25) < 1e-6 && fabs(items[3].p - 0.125) < 1e-6);
    /* temperature 1/2 squares the ratios: 16, 4, 1, 1 of 22 */
    halves(items, 0.5);
    ck_assert(fabs(items[0].p - 16.0 / 22) < 1e-6 && fabs(items[3].p - 1.0 / 22) < 1e-6);
}
END_TEST

static const struct sample_item ladder[] = { { 0, 0, 0.5 }, { 1, 0, 0.25 }, { 2, 0, 0.125 }, { 3, 0, 0.125 } };

START_TEST(top_p_keeps_the_shortest_head)
{
    ck_assert_uint_eq(sample_top_p(ladder, 4, 0.0), 1);
    ck_assert_uint_eq(sample_top_p(ladder, 4, 0.5), 1);
    ck_assert_uint_eq(sample_top_p(ladder, 4, 0.51), 2);
    ck_assert_uint_eq(sample_top_p(ladder, 4, 0.75), 2);
    ck_assert_uint_eq(sample_top_p(ladder, 4, 0.8), 3);
    ck_assert_uint_eq(sample_top_p(ladder, 4, 1.0), 4);
}
END_TEST

START_TEST(min_p_is_relative_to_the_largest)
{
    ck_assert_uint_eq(sample_min_p(ladder, 4, 0), 4);
    ck_assert_uint_eq(sample_min_p(ladder, 4, 0.25), 4);
    ck_assert_uint_eq(sample_min_p(ladder, 4, 0.26), 2);
    ck_assert_uint_eq(sample_min_p(ladder, 4, 0.51), 1);
    ck_assert_uint_eq(sample_min_p(ladder, 4, 1), 1);
}
END_TEST

START_TEST(mirostat_cuts_by_surprise)
{
    /* surprises 1, 2, 3, 3 bits */
    ck_assert_uint_eq(sample_mirostat(ladder, 4, 0.5), 1);
    ck_assert_uint_eq(sample_mirostat(ladder, 4, 1.9), 1);
    ck_assert_uint_eq(sample_mirostat(ladder, 4, 2), 2);
    ck_assert_uint_eq(sample_mirostat(ladder, 4, 3), 4);
}
END_TEST

START_TEST(draw_follows_the_cumulative_sum)
{
    ck_assert_uint_eq(sample_draw(ladder, 4, 0), 0);
    ck_assert_uint_eq(sample_draw(ladder, 4, 0.499), 0);
    ck_assert_uint_eq(sample_draw(ladder, 4, 0.5), 1);
    ck_assert_uint_eq(sample_draw(ladder, 4, 0.76), 2);
    ck_assert_uint_eq(sample_draw(ladder, 4, 0.9999999), 3);
    /* the first two alone: 2/3 and 1/3 */
    ck_assert_uint_eq(sample_draw(ladder, 2, 0.66), 0);
    ck_assert_uint_eq(sample_draw(ladder, 2, 0.67), 1);
}
END_TEST

START_TEST(penalty_counts_each_token_once)
{
    float logits[] = { 2, -2, 3, 0 };
    const int32_t recent[] = { 0, 1, 0, 3 };
    sample_penalize(logits, recent, 4, 2);
    near(logits[0], 1);
    near(logits[1], -4);
    near(logits[2], 3);
    near(logits[3], 0);
}
END_TEST

static void run(const struct sample_params *p, const float *logits, size_t n, int32_t *ids, size_t n_ids)
{
    struct error err = { 0 };
    struct sampler *s;
    ck_ok(sampler_open(&s, p, n, &err), err);
    for (size_t i = 0; i < n_ids; i++)
        ids[i] = sampler_next(s, logits);
    sampler_close(s);
}

START_TEST(same_seed_same_tokens)
{
    float logits[50];
    int32_t a[200], b[200], c[200];
    for (size_t i = 0; i < 50; i++)
        logits[i] = (float)(i % 7);
    struct sample_params p = { .temp = 1, .top_p = 1, .repeat_penalty = 1, .seed = 11 };
    run(&p, logits, 50, a, 200);
    run(&p, logits, 50, b, 200);
    p.seed = 12;
    run(&p, logits, 50, c, 200);
    ck_assert_int_eq(memcmp(a, b, sizeof a), 0);
    ck_assert_int_ne(memcmp(a, c, sizeof a), 0);
}
END_TEST

START_TEST(drawn_frequencies_match_the_distribution)
{
    const float logits[] = { logf(2), logf(8), logf(4), logf(2) };
    const double expected[] = { 0.125, 0.5, 0.25, 0.125 };
    static int32_t ids[40000];
    size_t count[4] = { 0 };
    struct sample_params p = { .temp = 1, .top_p = 1, .repeat_penalty = 1, .seed = 5 };
    run(&p, logits, 4, ids, 40000);
    for (size_t i = 0; i < 40000; i++)
        count[ids[i]]++;
    /* standard deviation of a share is at most 0.0025 */
    for (size_t i = 0; i < 4; i++)
        ck_assert_msg(fabs((double)count[i] / 40000 - expected[i]) <= 0.0125, "token %zu: %zu of 40000", i, count[i]);
}
END_TEST

START_TEST(mirostat_settles_at_its_target)
{
    /* 256 equally likely of 4096 have 8 bits, then a long tail: the mean surprise should come near 5 bits */
    static float logits[4096];
    static int32_t ids[3000];
    for (size_t i = 0; i < 4096; i++)
        logits[i] = -1.2f * logf((float)i + 1);
    double sum = 0, total = 0;
    for (size_t i = 0; i < 4096; i++)
        total += exp(logits[i]);
    struct sample_params p = {
        .temp = 1, .top_p = 1, .repeat_penalty = 1, .mirostat = 2, .mirostat_ent = 4, .mirostat_lr = 0.1, .seed = 3
    };
    run(&p, logits, 4096, ids, 3000);
    for (size_t i = 1000; i < 3000; i++)
        sum += -log2(exp(logits[ids[i]]) / total);
    /* surprise is measured after the cut, which lowers it by the log of the kept share: allow a bit */
    ck_assert_msg(fabs(sum / 2000 - 4) <= 1, "mean surprise %g bits", sum / 2000);
}
END_TEST

START_TEST(greedy_and_repeat_penalty)
{
    const float logits[] = { 1, 3, 2 };
    int32_t ids[4];
    struct sample_params p = { .temp = 0, .top_p = 1, .repeat_penalty = 1, .repeat_last_n = 2 };
    run(&p, logits, 3, ids, 3);
    ck_assert(ids[0] == 1 && ids[1] == 1 && ids[2] == 1);
    /* penalty 4 over the last two: 1, then 2 (3/4 < 2), then 0 (2/4 < 1), then 1 again (forgotten) */
    p.repeat_penalty = 4;
    run(&p, logits, 3, ids, 4);
    ck_assert(ids[0] == 1 && ids[1] == 2 && ids[2] == 0 && ids[3] == 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("sample");
    TCase *t = tcase_create("steps");
    tcase_add_test(t, top_k_sorts_and_keeps_lower_ids_first);
    tcase_add_test(t, top_k_of_many_equals_the_sorted_head);
    tcase_add_test(t, softmax_and_temperature);
    tcase_add_test(t, top_p_keeps_the_shortest_head);
    tcase_add_test(t, min_p_is_relative_to_the_largest);
    tcase_add_test(t, mirostat_cuts_by_surprise);
    tcase_add_test(t, draw_follows_the_cumulative_sum);
    tcase_add_test(t, penalty_counts_each_token_once);
    tcase_add_test(t, same_seed_same_tokens);
    tcase_add_test(t, drawn_frequencies_match_the_distribution);
    tcase_add_test(t, mirostat_settles_at_its_target);
    tcase_add_test(t, greedy_and_repeat_penalty);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
