/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "base/util/text.h"
#include "tests/support/support.h"

START_TEST(every_scalar_value_round_trips)
{
    for (uint32_t cp = 0; cp <= 0x110000; cp++) {
        char s[4];
        uint32_t back = 0;
        size_t n = text_utf8_encode(cp, s);
        if (cp > 0x10ffff || (cp >= 0xd800 && cp <= 0xdfff)) {
            ck_assert_uint_eq(n, 0);
            continue;
        }
        ck_assert_uint_eq(text_utf8_decode(s, n, &back), n);
        ck_assert_uint_eq(back, cp);
        ck_assert_uint_eq(text_utf8_check(s, n), n);
        for (size_t cut = 1; cut < n; cut++)
            ck_assert_uint_eq(text_utf8_decode(s, cut, &back), 0);
    }
}
END_TEST

START_TEST(invalid_utf8_is_found)
{
    static const char *const bad[] = { "\x80",
                                       "\xc0\xaf",
                                       "\xc1\xbf",
                                       "\xe0\x80\xaf",
                                       "\xe0\x9f\xbf",
                                       "\xed\xa0\x80",
                                       "\xed\xbf\xbf",
                                       "\xf0\x80\x80\xaf",
                                       "\xf0\x8f\xbf\xbf",
                                       "\xf4\x90\x80\x80",
                                       "\xf5\x80\x80\x80",
                                       "\xff",
                                       "\xc3",
                                       "\xe2\x82",
                                       "\xc3(",
                                       "\xe2(\xa1" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t lead = 0; lead < 20; lead++) {
            char s[40];
            memset(s, 'a', lead);
            strcpy(s + lead, bad[i]);
            ck_assert_uint_eq(text_utf8_check(s, strlen(s)), lead);
        }
    ck_assert_uint_eq(text_utf8_check("", 0), 0);
    ck_assert_uint_eq(text_utf8_check("a\0b", 3), 3);
}
END_TEST

START_TEST(whole_numbers)
{
    uint64_t u = 7;
    int64_t i = 7;
    ck_assert(text_u64("0", &u) && u == 0);
    ck_assert(text_u64("18446744073709551615", &u) && u == UINT64_MAX);
    ck_assert(text_u64("007", &u) && u == 7);
    static const char *const bad[] = {
        "", " 1", "1 ", "+1", "-1", "1x", "0x10", "1.0", "18446744073709551616", "1e3", "99999999999999999999999"
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ck_assert_msg(!text_u64(bad[k], &u) && u == 7, "%s", bad[k]);
    ck_assert(text_i64("-9223372036854775808", &i) && i == INT64_MIN);
    ck_assert(text_i64("9223372036854775807", &i) && i == INT64_MAX);
    ck_assert(!text_i64("9223372036854775808", &i));
    ck_assert(!text_i64("-9223372036854775809", &i));
    ck_assert(!text_i64("-", &i) && !text_i64("--1", &i) && !text_i64("-+1", &i));
}
END_TEST

START_TEST(decimal_numbers)
{
    double d = 7;
    ck_assert(text_f64("1.5", &d) && d == 1.5);
    ck_assert(text_f64("-2e-3", &d) && d == -2e-3);
    ck_assert(text_f64(".25", &d) && d == 0.25);
    ck_assert(text_f64("+4.", &d) && d == 4);
    ck_assert(text_f64("0.1", &d) && d == 0.1);
    static const char *const bad[] = { "",    ".",     "-",  "e5", "1e",  "1e+",   "nan",
                                       "inf", "0x1p3", " 1", "1 ", "1,5", "1e999", "1.2.3" };
    d = 7;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ck_assert_msg(!text_f64(bad[k], &d) && d == 7, "%s", bad[k]);
}
END_TEST

START_TEST(sizes)
{
    uint64_t u = 7;
    ck_assert(text_size("0", &u) && u == 0);
    ck_assert(text_size("4K", &u) && u == 4096);
    ck_assert(text_size("3m", &u) && u == 3u << 20);
    ck_assert(text_size("2G", &u) && u == (uint64_t)2 << 30);
    ck_assert(text_size("1T", &u) && u == (uint64_t)1 << 40);
    ck_assert(text_size("16777215T", &u) && u == (uint64_t)16777215 << 40);
    static const char *const bad[] = { "", "K", "1KB", "1KiB", "-1K", "1.5G", "16777216T", "1 K", "1P" };
    u = 7;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        ck_assert_msg(!text_size(bad[k], &u) && u == 7, "%s", bad[k]);
}
END_TEST

static const char *quote(const char *s, size_t n, size_t cap)
{
    static char buf[256];
    memset(buf, 'Z', sizeof buf);
    return text_quote(buf, cap, s, n);
}

START_TEST(foreign_bytes_are_quoted)
{
    ck_assert_str_eq(quote("a\\b\n", 4, 256), "a\\x5cb\\x0a");
    ck_assert_str_eq(quote("a\0b", 3, 256), "a\\x00b");
    ck_assert_str_eq(quote("\xc3\xa9\xff", 3, 256), "\xc3\xa9\\xff");
    ck_assert_str_eq(quote("\xc2\x9b"
                           "1m",
                           4, 256),
                     "\\xc2\\x9b"
                     "1m"); /* C1 control */
    ck_assert_str_eq(quote("\xe2\x80\xae"
                           "x",
                           4, 256),
                     "\\xe2\\x80\\xaex"); /* right-to-left override */
    ck_assert_str_eq(quote("abcdefgh", 8, 9), "abcdefgh");
    ck_assert_str_eq(quote("abcdefgh", 8, 8), "abcd...");
    ck_assert_str_eq(quote("abc\xc3\xa9\xc3\xa9", 7, 7), "abc...");
    ck_assert_str_eq(quote("abcdefgh", 8, 1), "");
    char one = 'x';
    text_quote(&one, 0, "abc", 3);
    ck_assert_int_eq(one, 'x');
    for (size_t cap = 1; cap < 40; cap++) {
        const char *q = quote("\x01\xc3\xa9"
                              "b\xff\xff\xff\xff\xff",
                              9, cap);
        ck_assert_uint_lt(strlen(q), cap);
        ck_assert_uint_eq(text_utf8_check(q, strlen(q)), strlen(q));
    }
}
END_TEST

START_TEST(byte_counts)
{
    char b[32];
    ck_assert_str_eq(text_bytes(b, sizeof b, 0), "0 B");
    ck_assert_str_eq(text_bytes(b, sizeof b, 1023), "1023 B");
    ck_assert_str_eq(text_bytes(b, sizeof b, 1536), "1.5 KiB");
    ck_assert_str_eq(text_bytes(b, sizeof b, 1048575), "1.0 MiB");
    ck_assert_str_eq(text_bytes(b, sizeof b, UINT64_MAX), "16.0 EiB");
    ck_assert(text_starts("tern-pack", "tern-") && !text_starts("te", "tern"));
    ck_assert(text_ends("x.gguf", ".gguf") && !text_ends("gguf", ".gguf"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("text");
    TCase *c = tcase_create("text");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, every_scalar_value_round_trips);
    tcase_add_test(c, invalid_utf8_is_found);
    tcase_add_test(c, whole_numbers);
    tcase_add_test(c, decimal_numbers);
    tcase_add_test(c, sizes);
    tcase_add_test(c, foreign_bytes_are_quoted);
    tcase_add_test(c, byte_counts);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
