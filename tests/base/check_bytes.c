/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/util/bytes.h"
#include "base/util/rng.h"
#include "tests/support/support.h"

START_TEST(little_endian_at_any_alignment)
{
    unsigned char b[16];
    for (int at = 0; at < 8; at++) {
        bytes_put_u64(b + at, 0x0102030405060708u);
        for (int i = 0; i < 8; i++)
            ck_assert_uint_eq(b[at + i], 8 - i);
        ck_assert(bytes_get_u64(b + at) == 0x0102030405060708u);
        ck_assert_uint_eq(bytes_get_u32(b + at), 0x05060708);
        ck_assert_uint_eq(bytes_get_u16(b + at), 0x0708);
    }
    bytes_put_u32(b, 0xfffefdfc);
    ck_assert_uint_eq(bytes_get_u32(b), 0xfffefdfc);
    bytes_put_f32(b, -1.5f);
    ck_assert(bytes_get_f32(b) == -1.5f);
}
END_TEST

/* The value of a half by its definition, in double. */
static double half_value(unsigned h)
{
    unsigned exp = h >> 10 & 31, man = h & 0x3ff;
    double v = exp == 31 ? (man ? NAN : INFINITY) : exp ? ldexp(1024 + man, (int)exp - 25) : ldexp(man, -24);
    return h & 0x8000 ? -v : v;
}

START_TEST(every_half_round_trips)
{
    for (unsigned h = 0; h < 65536; h++) {
        float f = bytes_f32_from_f16((uint16_t)h);
        double want = half_value(h);
        if (isnan(want)) {
            ck_assert(isnan(f));
            ck_assert_uint_eq(bytes_f16_from_f32(f), (h & 0x8000) | 0x7e00);
            continue;
        }
        ck_assert(f == want);
        ck_assert_int_eq(!!signbit(f), h >> 15);
        ck_assert_uint_eq(bytes_f16_from_f32(f), h);
    }
}
END_TEST

/* Between each pair of neighbours: below the middle down, above it up, the middle itself to the even one. */
START_TEST(rounding_is_to_nearest_even)
{
    for (unsigned h = 0; h < 0x7bff; h++) {
        float low = bytes_f32_from_f16((uint16_t)h), high = bytes_f32_from_f16((uint16_t)(h + 1));
        float middle = (float)(((double)low + (double)high) / 2); /* exact: one more bit than a half */
        unsigned even = h & 1 ? h + 1 : h;
        for (unsigned sign = 0; sign < 2; sign++) {
            float m = sign ? -1.0f : 1.0f;
            ck_assert_uint_eq(bytes_f16_from_f32(m * middle), sign << 15 | even);
            ck_assert_uint_eq(bytes_f16_from_f32(m * nextafterf(middle, 0)), sign << 15 | h);
            ck_assert_uint_eq(bytes_f16_from_f32(m * nextafterf(middle, INFINITY)), sign << 15 | (h + 1));
        }
    }
}
END_TEST

START_TEST(half_limits)
{
    ck_assert_uint_eq(bytes_f16_from_f32(65504.0f), 0x7bff);
    ck_assert_uint_eq(bytes_f16_from_f32(nextafterf(65520.0f, 0)), 0x7bff);
    ck_assert_uint_eq(bytes_f16_from_f32(65519.99f), 0x7bff);
    ck_assert_uint_eq(bytes_f16_from_f32(65520.0f), 0x7c00);
    ck_assert_uint_eq(bytes_f16_from_f32(-65520.0f), 0xfc00);
    ck_assert_uint_eq(bytes_f16_from_f32(3.4e38f), 0x7c00);
    ck_assert_uint_eq(bytes_f16_from_f32(INFINITY), 0x7c00);
    ck_assert_uint_eq(bytes_f16_from_f32(-INFINITY), 0xfc00);
    ck_assert_uint_eq(bytes_f16_from_f32(bytes_f32_from_bits(0x7f800001)), 0x7e00);
    ck_assert_uint_eq(bytes_f16_from_f32(bytes_f32_from_bits(0xffffffff)), 0xfe00);
    ck_assert_uint_eq(bytes_f16_from_f32(-0.0f), 0x8000);
    ck_assert_uint_eq(bytes_f16_from_f32(0x1p-25f), 0); /* tie of 0 and 2^-24 */
    ck_assert_uint_eq(bytes_f16_from_f32(nextafterf(0x1p-25f, 1)), 1);
    ck_assert_uint_eq(bytes_f16_from_f32(0x1.8p-24f), 2);                   /* tie of 1 and 2 */
    ck_assert_uint_eq(bytes_f16_from_f32(nextafterf(0x1p-14f, 0)), 0x0400); /* subnormal rounds up to normal */
    ck_assert_uint_eq(bytes_f16_from_f32(bytes_f32_from_bits(1)), 0);
}
END_TEST

START_TEST(bfloat16)
{
    for (unsigned h = 0; h < 65536; h++) {
        float f = bytes_f32_from_bf16((uint16_t)h);
        uint16_t back = bytes_bf16_from_f32(f);
        if (isnan(f))
            ck_assert(isnan(bytes_f32_from_bf16(back)));
        else
            ck_assert_uint_eq(back, h);
    }
    ck_assert_uint_eq(bytes_bf16_from_f32(bytes_f32_from_bits(0x3f808000)), 0x3f80); /* tie to even */
    ck_assert_uint_eq(bytes_bf16_from_f32(bytes_f32_from_bits(0x3f818000)), 0x3f82);
    ck_assert_uint_eq(bytes_bf16_from_f32(bytes_f32_from_bits(0x3f808001)), 0x3f81);
    ck_assert_uint_eq(bytes_bf16_from_f32(bytes_f32_from_bits(0x7f7fffff)), 0x7f80);
    ck_assert_uint_eq(bytes_bf16_from_f32(bytes_f32_from_bits(0x7f800001)), 0x7fc0); /* NaN, not infinity */
}
END_TEST

/* First outputs of xoshiro256** from the state {1, 2, 3, 4} and of splitmix64 from 0, worked out by hand from their
 * definitions: 2 * 5 = 10, rotl 7 = 1280, * 9 = 11520; then s1 = 0 gives 0. */
START_TEST(random_numbers)
{
    struct rng r = { { 1, 2, 3, 4 } };
    ck_assert(rng_u64(&r) == 11520);
    ck_assert(rng_u64(&r) == 0);
    ck_assert(rng_u64(&r) == 1509978240);
    rng_seed(&r, 0);
    ck_assert(r.s[0] == 0xe220a8397b1dcdafu);
    ck_assert(r.s[1] == 0x6e789e6aa1b965f4u);
    double sum = 0, squares = 0;
    for (int i = 0; i < 20000; i++) {
        double u = rng_f64(&r), z = rng_normal(&r);
        ck_assert(u >= 0 && u < 1);
        ck_assert_uint_lt(rng_below(&r, 7), 7);
        sum += z;
        squares += z * z;
    }
    ck_assert(fabs(sum / 20000) < 0.03 && fabs(squares / 20000 - 1) < 0.04);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bytes");
    TCase *c = tcase_create("bytes");
    tcase_add_test(c, little_endian_at_any_alignment);
    tcase_add_test(c, every_half_round_trips);
    tcase_add_test(c, rounding_is_to_nearest_even);
    tcase_add_test(c, half_limits);
    tcase_add_test(c, bfloat16);
    tcase_add_test(c, random_numbers);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
