/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of --against, against values worked out by hand. */
#include "tests/support/support.h"

#include <math.h>

#include "base/model/hfnames.h"
#include "verify/compare.h"

#define near(a, b) ck_assert_msg(fabs((a) - (b)) <= 1e-15 * fabs(b), "%.17g, expected %.17g", (double)(a), (double)(b))

START_TEST(hand_values)
{
    /* |W|^2 = 9 + 16 = 25, |W-V|^2 = 1 + 4 = 5, |V|^2 = 4 + 36 = 40, <W,V> = 6 + 24 = 30 */
    static const float w[4] = { 3, 0, -4, 0 }, v[4] = { 2, 0, -6, 0 };
    struct compare_sums s = { .bytes = 2 };

    compare_add(&s, w, v, 4, NULL, 0, 4);
    ck_assert_uint_eq(s.n, 4);
    near(compare_relative(&s), sqrt(5.0 / 25.0));
    near(compare_cosine(&s), 30.0 / sqrt(25.0 * 40.0));
    near(s.max, 2.0);
    near(compare_zeros(&s), 0.5);
    near(compare_bpw(&s), 4.0);
}
END_TEST

/* Columns 0 and 1 weigh 4 and 1: the weight follows the column, also when a chunk starts in the middle of a row. */
START_TEST(weighted)
{
    static const float w[4] = { 1, 2, 3, 4 }, v[4] = { 0, 2, 3, 2 };
    static const double h[2] = { 4, 1 };
    struct compare_sums whole = { 0 }, parts = { 0 };

    compare_add(&whole, w, v, 4, h, 0, 2);
    /* sum h d^2 = 4*1 + 1*4 = 8; sum h w^2 = 4*(1 + 9) + (4 + 16) = 60 */
    near(compare_weighted(&whole), sqrt(8.0 / 60.0));
    compare_add(&parts, w, v, 1, h, 0, 2);
    compare_add(&parts, w + 1, v + 1, 3, h, 1, 2);
    near(compare_weighted(&parts), compare_weighted(&whole));
    near(compare_relative(&parts), compare_relative(&whole));
}
END_TEST

START_TEST(edges)
{
    static const float zero[2] = { 0, 0 }, one[2] = { 1, 0 }, nan_[2] = { NAN, 0 };
    struct compare_sums equal = { 0 }, empty_ref = { 0 }, bad = { 0 }, none = { 0 };

    compare_add(&equal, zero, zero, 2, NULL, 0, 2);
    near(compare_relative(&equal) + 1, 1.0);
    near(compare_cosine(&equal), 1.0);
    compare_add(&empty_ref, zero, one, 2, NULL, 0, 2);
    ck_assert(isinf(compare_relative(&empty_ref)));
    near(compare_cosine(&empty_ref) + 1, 1.0);
    compare_add(&bad, one, nan_, 2, NULL, 0, 2);
    ck_assert(isnan(compare_relative(&bad)));
    ck_assert(isnan(bad.max));
    compare_add(&bad, one, zero, 2, NULL, 0, 2);
    ck_assert_msg(isnan(bad.max), "a later number must not hide a NaN");
    compare_merge(&none, &bad);
    ck_assert(isnan(none.max));
}
END_TEST

START_TEST(merge_adds)
{
    static const float w[4] = { 3, 0, -4, 1 }, v[4] = { 2, 0, -6, 1 };
    struct compare_sums whole = { .bytes = 8 }, a = { .bytes = 3 }, b = { .bytes = 5 };

    compare_add(&whole, w, v, 4, NULL, 0, 4);
    compare_add(&a, w, v, 2, NULL, 0, 4);
    compare_add(&b, w + 2, v + 2, 2, NULL, 2, 4);
    compare_merge(&a, &b);
    near(compare_relative(&a), compare_relative(&whole));
    near(compare_cosine(&a), compare_cosine(&whole));
    near(a.max, whole.max);
    ck_assert_uint_eq(a.zeros, whole.zeros);
    ck_assert_uint_eq(a.bytes, 8);
}
END_TEST

START_TEST(names_both_ways)
{
    char hf[HFNAMES_MAX], gguf[64];

    ck_assert(hfnames_of_gguf("blk.12.attn_q.weight", "model.", hf));
    ck_assert_str_eq(hf, "model.layers.12.self_attn.q_proj.weight");
    ck_assert(hfnames_of_gguf("token_embd.weight", "", hf));
    ck_assert_str_eq(hf, "embed_tokens.weight");
    ck_assert(hfnames_of_gguf("output.weight", "model.", hf));
    ck_assert_str_eq(hf, "lm_head.weight");
    ck_assert(!hfnames_of_gguf("rope_freqs.weight", "model.", hf));
    ck_assert(hfnames_to_gguf("model.layers.12.mlp.down_proj.weight", "model.", gguf));
    ck_assert_str_eq(gguf, "blk.12.ffn_down.weight");
    ck_assert(hfnames_to_gguf("norm.weight", "", gguf));
    ck_assert_str_eq(gguf, "output_norm.weight");
    ck_assert(hfnames_to_gguf("lm_head.weight", "model.", gguf));
    ck_assert_str_eq(gguf, "output.weight");
    ck_assert(!hfnames_to_gguf("model.lm_head.weight", "model.", gguf));
    ck_assert(!hfnames_to_gguf("norm.weight", "model.", gguf));
    ck_assert(!hfnames_to_gguf("model.layers.x.mlp.down_proj.weight", "model.", gguf));
    ck_assert(!hfnames_to_gguf("model.mlp.down_proj.weight", "model.", gguf));
    ck_assert(!hfnames_to_gguf("model.layers.1.rotary_emb.inv_freq", "model.", gguf));
    ck_assert(!hfnames_to_gguf("", "model.", gguf));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify/compare");
    TCase *t = tcase_create("metric");
    tcase_add_test(t, hand_values);
    tcase_add_test(t, weighted);
    tcase_add_test(t, edges);
    tcase_add_test(t, merge_adds);
    tcase_add_test(t, names_both_ways);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
