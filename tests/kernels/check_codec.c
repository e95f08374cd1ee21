/* SPDX-License-Identifier: Apache-2.0 */
/* Block codecs: test vectors of docs/format.md 2.3, round trips, illegal and non-canonical bytes, dense types. */
#include "kernels/codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/digest.h"
#include "base/util/rng.h"
#include "tests/support/support.h"

static const uint32_t ternary[] = { BLOCK_TQ1_0, BLOCK_TQ2_0, BLOCK_Q2_0, BLOCK_PQ2_0, BLOCK_PTQ1_0 };

/* docs/format.md 2.3: x0 = 1, x = (1103515245 x + 12345) mod 2^31, t = ((x >> 16) mod 3) - 1, 256 times; d = 0.5.
 * Q2_0, PQ2_0 and PTQ1_0 rows are the first block. */
static const char *const golden[] = {
    "f47341a786d30a0c4e4166b42e47bae454050a3fd59db829073755dc7ac8d6bcf62a4392aa96c367e9902a429cab5975bbcb1a170038",
    "9a05886925161010288891829458520aa84010485659521480a4a8268506569298111106a546a8568a45108255090604a995081a296a102258"
    "099"
    "6a9994092550038",
    "0038460990a0002680a9a6050a8982496415",
    "0038460990a0002680a9a6050a8982496415815612151255a8506200a81646152a92",
    "c65f13719dd83a0516175de72b51e8f7c041a84a5d5a7672fab10038",
};

static void pattern(int8_t codes[256])
{
    uint32_t x = 1;
    for (int i = 0; i < 256; i++) {
        x = (1103515245u * x + 12345u) & 0x7fffffffu;
        codes[i] = (int8_t)((int)((x >> 16) % 3) - 1);
    }
}

START_TEST(golden_vectors)
{
    const struct block_info *info = block_info(ternary[_i]);
    int8_t codes[256], back[256];
    uint16_t scales[4] = { 0x3800, 0x3800, 0x3800, 0x3800 }, scales_back[4];
    uint8_t bytes[128];
    char hex[257];
    float values[256];
    pattern(codes);
    codec_pack(info->id, codes, scales, bytes, info->weights);
    digest_hex(bytes, info->bytes, hex);
    ck_assert_str_eq(hex, golden[_i]);
    codec_unpack(info->id, bytes, back, scales_back, info->weights);
    ck_assert_mem_eq(back, codes, info->weights);
    ck_assert_uint_eq(scales_back[0], 0x3800);
    ck_assert(codec_dequantize(info->id, bytes, values, info->weights));
    for (uint32_t i = 0; i < info->weights; i++)
        ck_assert(values[i] == 0.5f * (float)codes[i]);
}
END_TEST

START_TEST(round_trip_is_canonical)
{
    const struct block_info *info = block_info(ternary[_i]);
    struct rng rng;
    rng_seed(&rng, 20260101 + (uint64_t)_i);
    enum { N = 1024 };
    int8_t codes[N], back[N];
    uint16_t scales[N / 64], scales_back[N / 64];
    uint8_t bytes[N];
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < N; i++)
            codes[i] = (int8_t)((int)rng_below(&rng, 3) - 1);
        for (int i = 0; i < N / 64; i++)
            scales[i] = (uint16_t)rng_below(&rng, 0x7c00);
        codec_pack(info->id, codes, scales, bytes, N);
        codec_unpack(info->id, bytes, back, scales_back, N);
        ck_assert_mem_eq(back, codes, N);
        ck_assert_mem_eq(scales_back, scales, N / info->weights * sizeof *scales);
        struct codec_check c;
        codec_check_init(&c);
        ck_assert(codec_check(info->id, bytes, N, 0, &c));
        ck_assert_uint_eq(c.illegal_codes + c.non_canonical + c.scale_nan + c.scale_inf + c.scale_negative, 0);
        ck_assert_uint_eq(c.weights, N);
        ck_assert_uint_eq(c.blocks, N / info->weights);
        uint64_t zeros = 0;
        for (int i = 0; i < N; i++)
            zeros += codes[i] == 0;
        ck_assert_uint_eq(c.zeros, zeros);
    }
}
END_TEST

START_TEST(all_zero_blocks)
{
    int8_t codes[256] = { 0 };
    uint16_t scale = 0;
    uint8_t bytes[66];
    codec_pack(BLOCK_TQ1_0, codes, &scale, bytes, 256);
    for (int i = 0; i < 52; i++)
        ck_assert_uint_eq(bytes[i], i < 48 ? 0x80 : 0x7f);
    codec_pack(BLOCK_TQ2_0, codes, &scale, bytes, 256);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(bytes[i], 0x55);
}
END_TEST

START_TEST(illegal_code_is_found)
{
    uint8_t bytes[2 * 66];
    int8_t codes[512] = { 0 };
    uint16_t scales[2] = { 0x3c00, 0x3c00 };
    struct codec_check c;
    float values[512];
    codec_pack(BLOCK_TQ2_0, codes, scales, bytes, 512);
    bytes[66] |= 0xc0; /* second block, byte 0, bits 6-7: weight 96 */
    codec_check_init(&c);
    ck_assert(codec_check(BLOCK_TQ2_0, bytes, 512, 1024, &c));
    ck_assert_uint_eq(c.illegal_codes, 1);
    ck_assert_uint_eq(c.first_illegal, 1024 + 256 + 96);
    codec_dequantize(BLOCK_TQ2_0, bytes, values, 512);
    ck_assert(values[256 + 96] == 2.0f);
}
END_TEST

/* docs/format.md 2.2: the 13 bytes no packer writes, found by trying all 256. */
START_TEST(non_canonical_bytes)
{
    static const uint8_t known[] = { 1, 20, 40, 60, 79, 99, 119, 138, 158, 178, 197, 217, 237 };
    uint8_t bytes[54];
    size_t found = 0;
    for (unsigned b = 0; b < 256; b++) {
        struct codec_check c;
        memset(bytes, 0x80, 48);
        memset(bytes + 48, 0x7f, 4);
        bytes_put_u16(bytes + 52, 0x3c00);
        bytes[5] = (uint8_t)b;
        codec_check_init(&c);
        codec_check(BLOCK_TQ1_0, bytes, 256, 0, &c);
        if (c.non_canonical) {
            ck_assert_uint_lt(found, sizeof known);
            ck_assert_uint_eq(known[found++], b);
        }
    }
    ck_assert_uint_eq(found, sizeof known);
}
END_TEST

START_TEST(bad_scales)
{
    static const uint16_t scales[] = { 0x7e00, 0x7c00, 0xfc00, 0xbc00, 0x0000, 0x0001 };
    uint8_t bytes[6 * 18];
    int8_t codes[6 * 64] = { 0 };
    struct codec_check c;
    codec_pack(BLOCK_Q2_0, codes, scales, bytes, 6 * 64);
    codec_check_init(&c);
    codec_check(BLOCK_Q2_0, bytes, 6 * 64, 0, &c);
    ck_assert_uint_eq(c.scale_nan, 1);
    ck_assert_uint_eq(c.scale_inf, 2);
    ck_assert_uint_eq(c.scale_negative, 1);
    ck_assert_uint_eq(c.scale_zero, 1);
    ck_assert_uint_eq(c.scale_subnormal, 1);
    ck_assert_uint_eq(c.first_bad_scale, 0);
    ck_assert(c.scale_min == -1.0f);
}
END_TEST

START_TEST(bad_values)
{
    uint8_t bytes[16];
    struct codec_check c;
    for (int i = 0; i < 8; i++)
        bytes_put_u16(bytes + 2 * i, 0x3c00);
    bytes_put_u16(bytes + 6, 0x7c01); /* signalling NaN */
    bytes_put_u16(bytes + 10, 0xfc00);
    codec_check_init(&c);
    codec_check(BLOCK_F16, bytes, 8, 100, &c);
    ck_assert_uint_eq(c.nan, 1);
    ck_assert_uint_eq(c.inf, 1);
    ck_assert_uint_eq(c.first_bad_value, 103);
}
END_TEST

/* ggml's reference: d = max|x| / 127, codes round half away from zero of x * (1/d). */
START_TEST(q8_0)
{
    float x[32] = { 0 }, back[32];
    uint8_t bytes[34];
    x[0] = 127.0f;
    x[1] = -0.5f;
    x[2] = 1.5f;
    x[3] = 0.49f;
    ck_assert_uint_eq(codec_quantize_q8_0(x, bytes, 32), 0);
    ck_assert_uint_eq(bytes_get_u16(bytes), 0x3c00);
    ck_assert_int_eq((int8_t)bytes[2], 127);
    ck_assert_int_eq((int8_t)bytes[3], -1);
    ck_assert_int_eq((int8_t)bytes[4], 2);
    ck_assert_int_eq((int8_t)bytes[5], 0);
    codec_dequantize(BLOCK_Q8_0, bytes, back, 32);
    ck_assert(back[0] == 127.0f && back[1] == -1.0f);
    memset(x, 0, sizeof x);
    codec_quantize_q8_0(x, bytes, 32);
    for (int i = 0; i < 34; i++)
        ck_assert_uint_eq(bytes[i], 0);
    x[7] = 1e30f;
    ck_assert_uint_eq(codec_quantize_q8_0(x, bytes, 32), 1);
}
END_TEST

START_TEST(f16_overflow_is_counted)
{
    const float x[4] = { 65519.0f, 65520.0f, -1e9f, INFINITY };
    uint8_t bytes[8];
    ck_assert_uint_eq(codec_to_f16(x, bytes, 4), 2);
    ck_assert_uint_eq(bytes_get_u16(bytes), 0x7bff);
}
END_TEST

/* The checker's counts against the dequantized weights, one by one, on random bytes of every type it looks into. */
START_TEST(counts_equal_the_weights)
{
    static const uint32_t types[] = { BLOCK_TQ1_0,  BLOCK_TQ2_0, BLOCK_Q2_0, BLOCK_PQ2_0,
                                      BLOCK_PTQ1_0, BLOCK_Q8_0,  BLOCK_Q4_0 };
    const struct block_info *info = block_info(types[_i]);
    struct rng rng;
    enum { N = 512 };
    uint8_t bytes[1024];
    float values[N];
    int8_t codes[N];
    uint16_t scales[N / 32];
    rng_seed(&rng, 41 + (uint64_t)_i);
    for (int round = 0; round < 300; round++) {
        size_t size = N / info->weights * info->bytes;
        uint64_t zeros = 0, illegal = 0, first = UINT64_MAX;
        struct codec_check c;
        for (size_t i = 0; i < size; i++)
            bytes[i] = round % 3 ? (uint8_t)rng_u64(&rng) : 0;
        codec_check_init(&c);
        ck_assert(codec_check(info->id, bytes, N, 4096, &c));
        ck_assert(codec_dequantize(info->id, bytes, values, N));
        if (info->ternary)
            codec_unpack(info->id, bytes, codes, scales, N);
        for (uint64_t i = 0; i < N; i++) {
            bool bad = info->ternary && codes[i] == 2;
            zeros += info->ternary ? codes[i] == 0 : values[i] == 0;
            illegal += bad;
            first = bad && first == UINT64_MAX ? 4096 + i : first;
        }
        ck_assert_uint_eq(c.zeros, zeros);
        ck_assert_uint_eq(c.illegal_codes, illegal);
        ck_assert_uint_eq(c.first_illegal, first);
    }
}
END_TEST

/* Digits of every byte against their definition: floor(243 b / 256) in base 3. */
START_TEST(digits_of_every_byte)
{
    uint8_t bytes[54];
    int8_t codes[256];
    uint16_t scale;
    for (unsigned b = 0; b < 256; b++) {
        static const unsigned power[] = { 81, 27, 9, 3, 1 };
        unsigned q = 243 * b / 256;
        memset(bytes, (int)b, sizeof bytes);
        codec_unpack(BLOCK_TQ1_0, bytes, codes, &scale, 256);
        for (unsigned w = 0; w < 256; w++) {
            unsigned n = w < 160 ? w / 32 : w < 240 ? (w - 160) / 16 : (w - 240) / 4;
            ck_assert_int_eq(codes[w], (int)(q / power[n] % 3) - 1);
        }
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("codec");
    TCase *t = tcase_create("codec");
    tcase_add_loop_test(t, golden_vectors, 0, 5);
    tcase_add_loop_test(t, round_trip_is_canonical, 0, 5);
    tcase_add_test(t, all_zero_blocks);
    tcase_add_test(t, illegal_code_is_found);
    tcase_add_test(t, non_canonical_bytes);
    tcase_add_test(t, bad_scales);
    tcase_add_loop_test(t, counts_equal_the_weights, 0, 7);
    tcase_add_test(t, digits_of_every_byte);
    tcase_add_test(t, bad_values);
    tcase_add_test(t, q8_0);
    tcase_add_test(t, f16_overflow_is_counted);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
