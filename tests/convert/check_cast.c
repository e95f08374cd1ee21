/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "convert/cast.h"
#include "tests/support/support.h"

static uint16_t one_to_16(float v, uint32_t to, bool clamp, struct cast_counts *c)
{
    uint8_t in[4], out[2];
    *c = (struct cast_counts){ 0 };
    bytes_put_f32(in, v);
    cast_values(BLOCK_F32, to, in, out, 1, clamp, c);
    return bytes_get_u16(out);
}

/* Every 16-bit pattern to F32 and back is itself (a NaN stays a NaN), and the widened value is the one the format
 * defines. */
START_TEST(all_16_bit_patterns)
{
    static const uint32_t types[] = { BLOCK_F16, BLOCK_BF16 };
    for (size_t k = 0; k < 2; k++)
        for (uint32_t h = 0; h < 65536; h++) {
            uint8_t in[2], wide[4], back[2];
            struct cast_counts c = { 0 };
            unsigned man_bits = types[k] == BLOCK_F16 ? 10 : 7, exp_max = types[k] == BLOCK_F16 ? 31 : 255;
            unsigned exponent = (h & 0x7fff) >> man_bits, mantissa = h & ((1u << man_bits) - 1);
            int bias = (int)(exp_max / 2);
            bytes_put_u16(in, (uint16_t)h);
            cast_values(types[k], BLOCK_F32, in, wide, 1, false, &c);
            cast_values(BLOCK_F32, types[k], wide, back, 1, false, &c);
            if (exponent == exp_max && mantissa) {
                ck_assert(isnan(bytes_get_f32(wide)) && (bytes_get_u16(back) & 0x7fff) > (exp_max << man_bits));
                continue;
            }
            ck_assert_uint_eq(bytes_get_u16(back), h);
            if (exponent == exp_max)
                continue;
            double v = exponent ? ldexp(1 + ldexp(mantissa, -(int)man_bits), (int)exponent - bias)
                                : ldexp(mantissa, 1 - bias - (int)man_bits);
            ck_assert(bytes_get_f32(wide) == (float)(h & 0x8000 ? -v : v));
            ck_assert(!c.nan && !c.inf && !c.overflow && !c.underflow);
        }
}
END_TEST

START_TEST(same_type_copies_bits_and_counts)
{
    static const uint16_t f16[] = { 0x3c00, 0x7c00, 0xfc00, 0x7c01, 0xfe00, 0x7bff, 0 };
    static const uint32_t f32[] = { 0x3f800000, 0x7f800000, 0x7f800001, 0xffc00000, 0x7f7fffff, 1 };
    uint8_t in[64], out[64];
    struct cast_counts c = { 0 };
    for (size_t i = 0; i < 7; i++)
        bytes_put_u16(in + 2 * i, f16[i]);
    cast_values(BLOCK_F16, BLOCK_F16, in, out, 7, false, &c);
    ck_assert(!memcmp(in, out, 14));
    ck_assert(c.nan == 2 && c.inf == 2 && !c.overflow);
    for (size_t i = 0; i < 6; i++)
        bytes_put_u32(in + 4 * i, f32[i]);
    cast_values(BLOCK_F32, BLOCK_F32, in, out, 6, false, &c);
    ck_assert(!memcmp(in, out, 24));
    ck_assert(c.nan == 4 && c.inf == 3 && !c.overflow);
}
END_TEST

START_TEST(overflow_and_clamp)
{
    struct cast_counts c;
    ck_assert_uint_eq(one_to_16(65504, BLOCK_F16, false, &c), 0x7bff);
    ck_assert_uint_eq(c.overflow, 0);
    ck_assert_uint_eq(one_to_16(65519.996f, BLOCK_F16, false, &c), 0x7bff); /* rounds down */
    ck_assert_uint_eq(c.overflow, 0);
    ck_assert_uint_eq(one_to_16(65520, BLOCK_F16, false, &c), 0x7c00);
    ck_assert_uint_eq(c.overflow, 1);
    ck_assert_uint_eq(one_to_16(-1e9f, BLOCK_F16, true, &c), 0xfbff);
    ck_assert_uint_eq(c.overflow, 1);
    ck_assert_uint_eq(one_to_16(-3.4e38f, BLOCK_BF16, true, &c), 0xff7f);
    ck_assert_uint_eq(c.overflow, 1);
    ck_assert_uint_eq(one_to_16(bytes_f32_from_bits(0x7f7fffff), BLOCK_BF16, false, &c), 0x7f80);
    ck_assert_uint_eq(c.overflow, 1);
    ck_assert_uint_eq(one_to_16(INFINITY, BLOCK_F16, true, &c), 0x7c00); /* an infinity is not an overflow */
    ck_assert(c.overflow == 0 && c.inf == 1);
}
END_TEST

START_TEST(ties_and_underflow)
{
    struct cast_counts c;
    ck_assert_uint_eq(one_to_16(1 + 0x1p-11f, BLOCK_F16, false, &c), 0x3c00);
    ck_assert_uint_eq(one_to_16(1 + 3 * 0x1p-11f, BLOCK_F16, false, &c), 0x3c02);
    ck_assert_uint_eq(one_to_16(0x1p-25f, BLOCK_F16, false, &c), 0);
    ck_assert_uint_eq(c.underflow, 1);
    ck_assert_uint_eq(one_to_16(-0x1.8p-25f, BLOCK_F16, false, &c), 0x8001);
    ck_assert_uint_eq(c.underflow, 0);
    ck_assert_uint_eq(one_to_16(-0.0f, BLOCK_F16, false, &c), 0x8000);
    ck_assert_uint_eq(c.underflow, 0);
}
END_TEST

START_TEST(which_casts_may_overflow)
{
    ck_assert(cast_may_overflow(BLOCK_F32, BLOCK_F16) && cast_may_overflow(BLOCK_BF16, BLOCK_F16));
    ck_assert(cast_may_overflow(BLOCK_F32, BLOCK_BF16) && !cast_may_overflow(BLOCK_F16, BLOCK_BF16));
    ck_assert(!cast_may_overflow(BLOCK_BF16, BLOCK_F32) && !cast_may_overflow(BLOCK_BF16, BLOCK_BF16));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cast");
    TCase *c = tcase_create("cast");
    suite_add_tcase(s, c);
    tcase_add_test(c, all_16_bit_patterns);
    tcase_add_test(c, same_type_copies_bits_and_counts);
    tcase_add_test(c, overflow_and_clamp);
    tcase_add_test(c, ties_and_underflow);
    tcase_add_test(c, which_casts_may_overflow);
    return s;
}

int main(void)
{
    return support_main(suite);
}
