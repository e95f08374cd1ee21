/* SPDX-License-Identifier: Apache-2.0 */
/* Codes, scales and values: what is wrong in a tensor's bytes is named with its place; safetensors values likewise. */
#include "tests/support/support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/util/bytes.h"
#include "base/util/file.h"
#include "kernels/codec.h"
#include "tests/verify/build.h"
#include "verify/codes.h"
#include "verify/scan.h"

enum { N = 512 }; /* two rows of 256 */

/* A file with one tensor "x.weight" of two rows of 256 weights. */
static const char *one_tensor(uint32_t type, uint8_t *bytes, size_t n)
{
    struct gguf_writer *w = NULL;
    struct error e = { 0 };
    static const uint64_t ne[2] = { 256, 2 };
    const char *path = support_tmp("x.gguf");

    ck_ok(gguf_writer_new(&w, 32, &e), e);
    ck_ok(gguf_put_str(w, "general.architecture", "llama", 5, &e), e);
    ck_ok(gguf_put_tensor(w, "x.weight", type, 2, ne, &e), e);
    ck_ok(gguf_writer_begin(w, path, true, &e), e);
    ck_ok(gguf_writer_data(w, bytes, n, &e), e);
    ck_ok(gguf_writer_commit(w, &e), e);
    gguf_writer_free(w);
    return path;
}

static size_t pack(uint32_t type, uint8_t *bytes)
{
    const struct block_info *b = block_info(type);
    int8_t codes[N];
    uint16_t scales[N / 64];

    for (int i = 0; i < N; i++)
        codes[i] = (int8_t)((i * 7 + i / 5) % 3 - 1);
    for (int i = 0; i < N / 64; i++)
        scales[i] = bytes_f16_from_f32(0.125f);
    codec_pack(type, codes, scales, bytes, N);
    return N / b->weights * b->bytes;
}

/* Check the bytes as x.weight; words NULL: no problem expected. */
static void expect(uint32_t type, uint8_t *bytes, size_t n, bool error, const char *words)
{
    struct report r;
    build_check(&r, one_tensor(type, bytes, n));
    if (!words)
        ck_assert_msg(!r.n_errors && !r.n_warnings, "type %u: %s", type, r.items[r.n - 1].text);
    else
        ck_assert_msg((error ? r.n_errors : r.n_warnings) == 1 && build_says(&r, words), "type %u: no '%s'", type,
                      words);
    report_free(&r);
}

static size_t scale_at(uint32_t type)
{
    return type == BLOCK_TQ1_0 ? 52 : type == BLOCK_TQ2_0 ? 64 : type == BLOCK_PTQ1_0 ? 26 : 0;
}

static const uint32_t ternary[] = { BLOCK_TQ1_0, BLOCK_TQ2_0, BLOCK_Q2_0, BLOCK_PQ2_0, BLOCK_PTQ1_0 };

START_TEST(scales)
{
    uint32_t type = ternary[_i];
    uint8_t bytes[1024];
    size_t n = pack(type, bytes), d = n - block_info(type)->bytes + scale_at(type);

    expect(type, bytes, n, false, NULL);
    bytes_put_u16(bytes + d, 0x7e00);
    expect(type, bytes, n, true, "x.weight: block scales: 1 NaN, 0 Inf");
    bytes_put_u16(bytes + d, 0xfc00);
    expect(type, bytes, n, true, "x.weight: block scales: 0 NaN, 1 Inf");
    bytes_put_u16(bytes + d, 0xb000);
    expect(type, bytes, n, false, "block scales are negative");
}
END_TEST

START_TEST(code_three)
{
    uint8_t bytes[1024];
    size_t n = pack(BLOCK_TQ2_0, bytes);
    bytes[66] |= 3 << 6; /* row 1, m = 0, n = 3: column 96 */
    expect(BLOCK_TQ2_0, bytes, n, true, "illegal code 3 (bits 11) in 1 of 512 weights, first at row 1, column 96");
    n = pack(BLOCK_Q2_0, bytes);
    bytes[2] |= 3;
    expect(BLOCK_Q2_0, bytes, n, true, "first at row 0, column 0");
    n = pack(BLOCK_PQ2_0, bytes);
    bytes[n - 1] |= 3 << 6;
    expect(BLOCK_PQ2_0, bytes, n, true, "first at row 1, column 255");
}
END_TEST

START_TEST(not_canonical)
{
    uint8_t bytes[1024];
    size_t n = pack(BLOCK_TQ1_0, bytes);
    bytes[54 + 7] = 119;
    expect(BLOCK_TQ1_0, bytes, n, true, "1 base-3 bytes are not canonical, first at byte 61 ");
    n = pack(BLOCK_PTQ1_0, bytes);
    bytes[28 + 24] = 1; /* no ceil(256 q / 243) at all */
    expect(BLOCK_PTQ1_0, bytes, n, true, "1 base-3 bytes are not canonical, first at byte 52 ");
}
END_TEST

/* A short byte whose fifth digit is set decodes alike: only files that promise canonical bytes fail for it. */
START_TEST(spare_digit)
{
    uint8_t bytes[1024];
    size_t n = pack(BLOCK_PTQ1_0, bytes);
    static const uint64_t ne[4] = { 256, 2, 1, 1 };
    struct gguf_tensor t = {
        .name = "x.weight", .type = BLOCK_PTQ1_0, .info = block_info(BLOCK_PTQ1_0), .n_elements = N
    };
    struct codec_check c;
    struct report r;

    memcpy(t.ne, ne, sizeof ne);
    bytes[24] = 2; /* ceil(256 / 243): q = 1, digits 0 0 0 0 1 */
    expect(BLOCK_PTQ1_0, bytes, n, true, NULL);
    codec_check_init(&c);
    ck_assert(codec_check(BLOCK_PTQ1_0, bytes, N, 0, &c));
    report_init(&r, "x");
    codes_report(&t, &c, true, &r);
    ck_assert(r.n_errors == 1 && build_says(&r, "1 base-3 bytes are not canonical, first at byte 24 "));
    report_free(&r);
}
END_TEST

START_TEST(float_values)
{
    uint8_t bytes[N * 4] = { 0 };
    bytes_put_f32(bytes + 4 * 300, NAN);
    bytes_put_f32(bytes + 4 * 301, -INFINITY);
    expect(BLOCK_F32, bytes, N * 4, true, "1 NaN and 1 Inf among 512 values, first at row 1, column 44");
    memset(bytes, 0, sizeof bytes);
    bytes_put_u16(bytes + 2 * 5, 0xfc00);
    expect(BLOCK_F16, bytes, N * 2, true, "0 NaN and 1 Inf");
    bytes_put_u16(bytes + 2 * 5, 0x7f81);
    expect(BLOCK_BF16, bytes, N * 2, true, "1 NaN and 0 Inf");
    bytes_put_u16(bytes + 2 * 5, 0x7bff);
    expect(BLOCK_F16, bytes, N * 2, true, NULL);
}
END_TEST

/* Limits of the safetensors scan, bit by bit. */
START_TEST(scan_limits)
{
    static const struct {
        enum st_dtype dtype;
        uint64_t bits;
        unsigned nan, inf, beyond;
    } cases[] = {
        { ST_F16, 0x7bff, 0, 0, 0 },
        { ST_F16, 0xfc00, 0, 1, 0 },
        { ST_F16, 0x7c01, 1, 0, 0 },
        { ST_BF16, 0x477f, 0, 0, 0 }, /* 65280 */
        { ST_BF16, 0xc780, 0, 0, 1 }, /* -65536 */
        { ST_BF16, 0x7f80, 0, 1, 0 },
        { ST_BF16, 0x7f81, 1, 0, 0 }, /* signalling */
        { ST_F32, 0x477fefff, 0, 0, 0 },
        { ST_F32, 0x477ff000, 0, 0, 1 }, /* 65520 */
        { ST_F32, 0xff800000, 0, 1, 0 },
        { ST_F32, 0xffc00000, 1, 0, 0 },
        { ST_F64, 0x40effdffffffffff, 0, 0, 0 },
        { ST_F64, 0xc0effe0000000000, 0, 0, 1 },
        { ST_F64, 0x7ff0000000000000, 0, 1, 0 },
        { ST_F64, 0x7ff0000000000001, 1, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[8];
        struct scan s;
        bytes_put_u64(bytes, cases[i].bits);
        scan_init(&s);
        ck_assert(scan_knows(cases[i].dtype));
        scan_values(cases[i].dtype, bytes, 1, 9, &s);
        ck_assert_msg(s.nan == cases[i].nan && s.inf == cases[i].inf && s.beyond_f16 == cases[i].beyond, "case %zu", i);
        ck_assert(s.first_bad == (s.nan || s.inf ? 9 : UINT64_MAX));
    }
    ck_assert(!scan_knows(ST_I64));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify/codes");
    TCase *t = tcase_create("codes");
    tcase_add_loop_test(t, scales, 0, (int)(sizeof ternary / sizeof *ternary));
    tcase_add_test(t, code_three);
    tcase_add_test(t, not_canonical);
    tcase_add_test(t, spare_digit);
    tcase_add_test(t, float_values);
    tcase_add_test(t, scan_limits);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
