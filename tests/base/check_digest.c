/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/rng.h"
#include "tests/support/support.h"

enum { ALL = DIGEST_SHA256 | DIGEST_XXH3 | DIGEST_CRC32 };

static void expect(const char *bytes, size_t n, const char *sha, uint64_t xxh3, uint32_t crc)
{
    struct error e = { 0 };
    struct digest_result r;
    char hex[65];
    ck_ok(digest_bytes(ALL, bytes, n, &r, &e), e);
    digest_hex(r.sha256, 32, hex);
    ck_assert_str_eq(hex, sha);
    ck_assert(r.xxh3 == xxh3);
    ck_assert_uint_eq(r.crc32, crc);
}

/* SHA-256 from FIPS 180-4's examples, CRC-32 check value from its catalogue entry, XXH3 from the xxHash description. */
START_TEST(known_answers)
{
    expect("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 0x2d06800538d394c2u, 0);
    struct error e = { 0 };
    struct digest_result r;
    char hex[65];
    ck_ok(digest_bytes(ALL, "abc", 3, &r, &e), e);
    digest_hex(r.sha256, 32, hex);
    ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    ck_ok(digest_bytes(DIGEST_CRC32, "123456789", 9, &r, &e), e);
    ck_assert_uint_eq(r.crc32, 0xcbf43926);
    ck_assert(r.xxh3 == 0);
}
END_TEST

START_TEST(pieces_equal_the_whole)
{
    struct error e = { 0 };
    struct digest *d = NULL;
    struct digest_result whole, part;
    struct rng r;
    static unsigned char bytes[300000];
    rng_seed(&r, 5);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)rng_u64(&r);
    ck_ok(digest_bytes(ALL, bytes, sizeof bytes, &whole, &e), e);
    ck_ok(digest_open(&d, ALL, &e), e);
    digest_update(d, "junk", 4);
    digest_reset(d);
    for (size_t at = 0; at < sizeof bytes;) {
        size_t n = rng_below(&r, 1000);
        if (n > sizeof bytes - at)
            n = sizeof bytes - at;
        digest_update(d, bytes + at, n);
        at += n;
    }
    digest_result(d, &part);
    ck_assert_int_eq(memcmp(&part, &whole, sizeof part), 0);
    digest_result(d, &part); /* asking does not end the state */
    ck_assert_int_eq(memcmp(&part, &whole, sizeof part), 0);
    digest_close(d);
    digest_close(NULL);
    const char *path = support_tmp("bytes");
    ck_ok(file_write_all(path, bytes, sizeof bytes, true, &e), e);
    ck_ok(digest_file(ALL, path, &part, &e), e);
    ck_assert_int_eq(memcmp(&part, &whole, sizeof part), 0);
    ck_assert_int_eq(digest_file(ALL, support_tmp("none"), &part, &e), ERROR_MISSING);
}
END_TEST

START_TEST(hexadecimal)
{
    uint8_t b[3] = { 0 };
    char hex[7];
    ck_assert_int_eq(digest_unhex("00fFa9", b, 3), 0);
    ck_assert_int_eq(memcmp(b, "\x00\xff\xa9", 3), 0);
    digest_hex(b, 3, hex);
    ck_assert_str_eq(hex, "00ffa9");
    static const char *const bad[] = { "", "00ff", "00ffa", "00ffa99", "00ffg9", "00 fa9", "0x00ff" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(digest_unhex(bad[i], b, 3), ERROR_FORMAT);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("digest");
    TCase *c = tcase_create("digest");
    tcase_add_test(c, known_answers);
    tcase_add_test(c, pieces_equal_the_whole);
    tcase_add_test(c, hexadecimal);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
