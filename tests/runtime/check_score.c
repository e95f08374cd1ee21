/* SPDX-License-Identifier: Apache-2.0 */
/* Perplexity, divergence and the log-probability file against values worked out by hand. */
#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/file.h"
#include "kernels/kernels.h"
#include "runtime/kl.h"
#include "runtime/klbase.h"
#include "runtime/score.h"
#include "tests/support/support.h"

static void near(double found, double expected, double tolerance)
{
    ck_assert_msg(fabs(found - expected) <= tolerance, "found %.17g, expected %.17g", found, expected);
}

START_TEST(sum_mean_and_error)
{
    struct score_sum s = { 0 }, t = { 0 };
    score_add(&s, 1);
    score_add(&t, 2);
    score_add(&t, 3);
    score_merge(&s, &t);
    ck_assert_uint_eq(s.n, 3);
    near(score_mean(&s), 2, 0);
    near(score_perplexity(&s), exp(2), 1e-12);
    /* variance (1 + 0 + 1)/3, of the mean /2: sqrt(1/3) times the perplexity */
    near(score_stderr(&s), sqrt(1.0 / 3) * exp(2), 1e-12);
}
END_TEST

START_TEST(nll_of_each_implementation)
{
    /* e^l = 1, 2, 5 of 8 */
    const float logits[] = { 0, logf(2), logf(5) };
    for (unsigned i = 0; kernels_at(i); i++) {
        near(score_nll(kernels_at(i), logits, 3, 0), log(8), 1e-6);
        near(score_nll(kernels_at(i), logits, 3, 2), log(8.0 / 5), 1e-6);
    }
}
END_TEST

START_TEST(plan_without_overlap)
{
    struct score_plan p;
    struct error err = { 0 };
    ck_ok(score_plan(&p, 1535, 512, 0, 0, true, "text", &err), err);
    ck_assert(p.window == 512 && p.step == 512 && p.first == 256 && p.n_scored == 255 && p.n_chunks == 2 && p.bos);
    ck_ok(score_plan(&p, 1536, 512, 2, 0, false, "text", &err), err);
    ck_assert(p.n_chunks == 2 && !p.bos);
    /* odd context: first = 3, positions 3..5 */
    ck_ok(score_plan(&p, 7, 7, 0, 0, false, "text", &err), err);
    ck_assert(p.first == 3 && p.n_scored == 3 && p.n_chunks == 1);
    ck_assert_int_eq(score_plan(&p, 7, 512, 0, 0, false, "seven.txt", &err), ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "seven.txt"));
    ck_assert_ptr_nonnull(strstr(err.text, "at least 512"));
}
END_TEST

START_TEST(plan_with_stride)
{
    struct score_plan p;
    struct error err = { 0 };
    /* window 512 + 64, the last 128 predictions of each */
    ck_ok(score_plan(&p, 2000, 512, 0, 128, true, "text", &err), err);
    ck_assert(p.window == 576 && p.step == 128 && p.first == 447 && p.n_scored == 128 && !p.bos);
    ck_assert_uint_eq(p.n_chunks, 12); /* ceil((2000 - 576) / 128) */
    ck_assert_uint_le((p.n_chunks - 1) * p.step + p.window, 2000);
    ck_assert_int_eq(score_plan(&p, 100000, 512, 0, 2000, true, "text", &err), ERROR_USAGE);
    ck_assert_int_eq(score_plan(&p, 576, 512, 0, 128, true, "text", &err), ERROR_FORMAT);
}
END_TEST

START_TEST(divergence_by_hand)
{
    const struct kernels *k = kernels_at(0);
    const float ref[] = { logf(0.5f), logf(0.25f), logf(0.25f) }, logits[] = { 0, 0, logf(2) };
    struct kl_row row;
    kl_compare(&row, k, ref, -INFINITY, logits, 3, 0);
    /* model: 1/4, 1/4, 1/2. KL = 1/2 ln 2 + 0 + 1/4 ln(1/2) = 1/4 ln 2 */
    near(row.kld, 0.25 * log(2), 1e-6);
    near(row.nll, log(4), 1e-6);
    near(row.nll_ref, log(2), 1e-6);
    near(row.dp, -0.25, 1e-6);
    ck_assert(!row.same_top);
    kl_compare(&row, k, ref, -INFINITY, ref, 3, 2);
    near(row.kld, 0, 1e-6);
    ck_assert(row.same_top);
}
END_TEST

START_TEST(divergence_statistics)
{
    struct kl_stats s = { 0 };
    struct kl_result r;
    struct error err = { 0 };
    for (int i = 10; i >= 0; i--) {
        struct kl_row row = { .kld = i, .nll = 3, .nll_ref = 2, .dp = i % 2 ? 0.1 : -0.1, .same_top = i < 3 };
        ck_ok(kl_add(&s, &row, &err), err);
    }
    kl_finish(&s, &r);
    near(r.mean, 5, 1e-12);
    near(r.mean_err, 1, 1e-12); /* variance 10, / 10 */
    near(r.median, 5, 0);
    near(r.p90, 9, 1e-12);
    near(r.p99, 9.9, 1e-12);
    near(r.max, 10, 0);
    near(r.min, 0, 0);
    near(r.rms_dp, 0.1, 1e-12);
    near(r.same_top, 3.0 / 11, 1e-12);
    near(r.ln_ratio, 1, 1e-12);
    near(r.ln_ratio_err, 0, 1e-6);
    kl_free(&s);
}
END_TEST

START_TEST(record_by_hand)
{
    const struct kernels *k = kernels_at(0);
    /* max 2, min cut at -14: scale 16/65535; third value below the cut; odd vocabulary pads with a zero */
    const float logits[] = { 2, -6, -40 };
    uint8_t record[16];
    float log_p[3];
    ck_assert_uint_eq(klbase_record_bytes(3), sizeof record);
    memset(record, 0xaa, sizeof record);
    klbase_encode(k, logits, 3, record);
    double log_sum = log(1 + exp(-8) + exp(-42));
    near(bytes_get_f32(record), 16.0 / 65535, 1e-9);
    near(bytes_get_f32(record + 4), -16 - log_sum, 1e-6);
    ck_assert_uint_eq(bytes_get_u16(record + 8), 65535);
    ck_assert_uint_eq(bytes_get_u16(record + 10), 32768); /* 8/16 * 65535 = 32767.5, to even */
    ck_assert_uint_eq(bytes_get_u16(record + 12), 0);
    ck_assert_uint_eq(bytes_get_u16(record + 14), 0);
    ck_assert(klbase_decode(record, 3, log_p));
    near(log_p[0], -log_sum, 1e-5);
    near(log_p[1], -8 - log_sum, 16.0 / 65535);

    const float flat[] = { 1, 1 };
    klbase_encode(k, flat, 2, record);
    near(bytes_get_f32(record), 0, 0);
    ck_assert(klbase_decode(record, 2, log_p));
    near(log_p[1], -log(2), 1e-6);
    bytes_put_f32(record, NAN);
    ck_assert(!klbase_decode(record, 2, log_p));
}
END_TEST

/* n_ctx 4: one record per chunk. */
static const char *write_base(const char *name, size_t extra, int32_t bad_token)
{
    const int32_t tokens[] = { 0, 1, 2, 3, 4, 3, 2, bad_token };
    const char *path = support_tmp(name);
    uint8_t record[8 + 2 * 6] = { 0 };
    struct writer w = WRITER_INIT;
    struct error err = { 0 };
    ck_ok(klbase_create(&w, path, 4, 5, 2, tokens, true, &err), err);
    for (int i = 0; i < 2; i++) {
        record[8] = (uint8_t)i;
        ck_ok(writer_write(&w, record, sizeof record, &err), err);
    }
    ck_ok(writer_write(&w, record, extra, &err), err);
    ck_ok(writer_commit(&w, &err), err);
    return path;
}

START_TEST(base_file_round_trip_and_checks)
{
    struct klbase b;
    struct error err = { 0 };
    uint8_t record[20];
    ck_ok(klbase_open(&b, write_base("good", 0, 1), &err), err);
    ck_assert(b.n_ctx == 4 && b.n_vocab == 5 && b.n_chunks == 2 && b.tokens[4] == 4);
    ck_ok(klbase_read(&b, 1, 0, 1, record, &err), err);
    ck_assert_uint_eq(record[8], 1);
    klbase_close(&b);
    ck_assert_int_eq(klbase_open(&b, write_base("longer", 1, 1), &err), ERROR_FORMAT);
    ck_assert_int_eq(klbase_open(&b, write_base("token", 0, 5), &err), ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "vocabulary"));
    ck_assert_int_eq(klbase_open(&b, support_path("data/garden-3m/config.json"), &err), ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.text, "_logits_"));
}
END_TEST

START_TEST(base_file_sizes_do_not_wrap)
{
    ck_assert_uint_eq(klbase_bytes(4, 5, 2), 20 + 32 + 40);
    ck_assert_uint_eq(klbase_bytes(INT32_MAX, INT32_MAX, INT32_MAX), UINT64_MAX);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("score");
    TCase *t = tcase_create("perplexity");
    tcase_add_test(t, sum_mean_and_error);
    tcase_add_test(t, nll_of_each_implementation);
    tcase_add_test(t, plan_without_overlap);
    tcase_add_test(t, plan_with_stride);
    suite_add_tcase(s, t);
    t = tcase_create("divergence");
    tcase_add_test(t, divergence_by_hand);
    tcase_add_test(t, divergence_statistics);
    tcase_add_test(t, record_by_hand);
    tcase_add_test(t, base_file_round_trip_and_checks);
    tcase_add_test(t, base_file_sizes_do_not_wrap);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
