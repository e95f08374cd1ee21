/* SPDX-License-Identifier: Apache-2.0 */
/* Embedded digests: every changed byte of a file is found and its place named; partial or senseless lists are errors.
 */
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/verify/build.h"

static const char *const file = "model.gguf";

/* Build, check; expect so many errors, the first of which says `words` (NULL: none expected). */
static void expect(const struct build *how, const char *words)
{
    struct report r;
    const char *path = support_tmp(file);
    build_file(path, how);
    build_check(&r, path);
    if (words)
        ck_assert_msg(r.n_errors && build_says(&r, words), "expected an error about '%s'", words);
    else
        ck_assert_msg(!r.n_errors && !r.n_warnings, "%s", r.n ? r.items[r.n - 1].text : "");
    report_free(&r);
}

START_TEST(good)
{
    expect(&(struct build){ .digests = true }, NULL);
    expect(&(struct build){ .digests = false }, NULL);
}
END_TEST

START_TEST(lists)
{
    static const char *const keys[] = { "ternpack.version",     "ternpack.tensor.names",  "ternpack.tensor.methods",
                                        "ternpack.tensor.xxh3", "ternpack.tensor.sha256", "ternpack.header_crc32" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        expect(&(struct build){ .digests = true, .omit = keys[i] }, keys[i]);
    expect(&(struct build){ .digests = true, .version = 2 }, "version 2 is not known");
    expect(&(struct build){ .digests = true, .bad_name = "c.weight" }, "expected b.weight, found c.weight");
    expect(&(struct build){ .digests = true, .short_list = true }, "expected 2 elements");
    expect(&(struct build){ .digests = true, .wrong_xxh3 = true }, "a.weight: XXH3 differs");
}
END_TEST

START_TEST(first_differing_tensor)
{
    struct report r;
    const char *path = support_tmp(file);
    build_file(path, &(struct build){ .digests = true });
    build_xor(path, build_offset(path, "b.weight") + 3, 0x01); /* sign and exponent: stays a number */
    build_xor(path, build_offset(path, "a.weight") + 2, 0x05);
    build_check(&r, path);
    ck_assert_uint_eq(r.n_errors, 2);
    ck_assert_str_eq(r.items[1].where, "a.weight");
    ck_assert_ptr_nonnull(strstr(r.items[1].text, "SHA-256 differs: expected "));
    ck_assert(build_says(&r, "b.weight: SHA-256 differs"));
    report_free(&r);
}
END_TEST

/* One bit anywhere: header, tensors, padding. Nothing may pass. */
START_TEST(every_byte)
{
    const char *path = support_tmp(file);
    struct stat st;
    build_file(path, &(struct build){ .digests = true });
    ck_assert_int_eq(stat(path, &st), 0);
    for (uint64_t at = 0; at < (uint64_t)st.st_size; at++) {
        struct report r;
        build_xor(path, at, (uint8_t)(1u << at % 8));
        build_check(&r, path);
        ck_assert_msg(r.n_errors > 0, "byte %llu was changed and not found", (unsigned long long)at);
        report_free(&r);
        build_xor(path, at, (uint8_t)(1u << at % 8));
    }
}
END_TEST

/* Every length below the whole is an error; from the data on, the first incomplete tensor is named. */
START_TEST(every_length)
{
    const char *path = support_tmp(file);
    struct stat st;
    uint64_t a, b;
    build_file(path, &(struct build){ .digests = true });
    ck_assert_int_eq(stat(path, &st), 0);
    a = build_offset(path, "a.weight");
    b = build_offset(path, "b.weight");
    for (uint64_t n = (uint64_t)st.st_size; n-- > 0;) {
        struct report r;
        build_cut(path, n);
        build_check(&r, path);
        ck_assert_msg(r.n_errors > 0, "cut at %llu", (unsigned long long)n);
        if (n >= a)
            ck_assert_msg(build_says(&r, n < a + 36   ? "a.weight: truncated"
                                         : n < b + 20 ? "b.weight: truncated"
                                                      : "padding after the last tensor is cut short"),
                          "cut at %llu: %s", (unsigned long long)n, r.items[r.n - 1].text);
        report_free(&r);
    }
}
END_TEST

START_TEST(appended)
{
    struct report r;
    const char *path = support_tmp(file);
    build_file(path, &(struct build){ .digests = true });
    build_append(path, "\0\0\0", 3);
    build_check(&r, path);
    ck_assert(r.n_errors == 1 && build_says(&r, "3 trailing bytes"));
    report_free(&r);
    build_file(path, &(struct build){ .digests = false });
    build_append(path, "x", 1);
    build_check(&r, path);
    ck_assert(r.n_errors == 0 && r.n_warnings == 1);
    report_free(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify/checksum");
    TCase *t = tcase_create("digests");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, good);
    tcase_add_test(t, lists);
    tcase_add_test(t, first_differing_tensor);
    tcase_add_test(t, every_byte);
    tcase_add_test(t, every_length);
    tcase_add_test(t, appended);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
