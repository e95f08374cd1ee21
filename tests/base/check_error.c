/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/util/error.h"
#include "tests/support/support.h"

START_TEST(sets_code_and_text)
{
    struct error e = { 0 };
    ck_assert_int_eq(error_set(&e, ERROR_FORMAT, "%s: byte %d", "x.gguf", 7), ERROR_FORMAT);
    ck_assert_int_eq(e.code, ERROR_FORMAT);
    ck_assert_str_eq(e.text, "x.gguf: byte 7");
    ck_assert_int_eq(error_set(NULL, ERROR_IO, "dropped"), ERROR_IO);
}
END_TEST

START_TEST(text_is_one_line)
{
    struct error e = { 0 };
    error_set(&e, ERROR_FORMAT, "a\nb\r\x1b[2J");
    ck_assert_str_eq(e.text, "a?b??[2J");
}
END_TEST

START_TEST(long_text_is_cut_at_a_code_point)
{
    char text[5000];
    struct error e = { 0 };
    for (size_t i = 0; i + 2 < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    text[4998] = 0;
    error_set(&e, ERROR_FORMAT, "%s", text);
    size_t n = strlen(e.text);
    ck_assert_uint_lt(n, sizeof e.text);
    ck_assert_str_eq(e.text + n - 3, "...");
    ck_assert_uint_eq((n - 3) % 2, 0);
}
END_TEST

START_TEST(prefix_comes_first)
{
    struct error e = { 0 };
    error_set(&e, ERROR_MISSING, "no shard");
    ck_assert_int_eq(error_prefix(&e, "dir %d", 3), ERROR_MISSING);
    ck_assert_str_eq(e.text, "dir 3: no shard");
    error_set(&e, ERROR_IO, "again: %s", e.text); /* may quote itself */
    ck_assert_str_eq(e.text, "again: dir 3: no shard");
    ck_assert_int_eq(error_prefix(NULL, "x"), ERROR_INTERNAL);
}
END_TEST

START_TEST(errno_chooses_the_code)
{
    struct error e = { 0 };
    ck_assert_int_eq(error_errno(&e, ERROR_IO, ENOSPC, "f"), ERROR_NOSPACE);
    ck_assert_str_eq(e.text, "f: No space left on device");
    ck_assert_int_eq(error_errno(&e, ERROR_IO, EFBIG, "f"), ERROR_NOSPACE);
    ck_assert_int_eq(error_errno(&e, ERROR_IO, EDQUOT, "f"), ERROR_NOSPACE);
    ck_assert_int_eq(error_errno(&e, ERROR_IO, ENOMEM, "f"), ERROR_NOMEM);
    ck_assert_int_eq(error_errno(&e, ERROR_MISSING, ENOENT, "f"), ERROR_MISSING);
    ck_assert_int_eq(error_errno(NULL, ERROR_IO, ENOSPC, "f"), ERROR_NOSPACE);
}
END_TEST

START_TEST(every_code_has_words_and_a_status)
{
    static const struct {
        int code, status;
    } rows[] = { { 0, 0 },
                 { ERROR_NOMEM, 2 },
                 { ERROR_IO, 2 },
                 { ERROR_FORMAT, 1 },
                 { ERROR_UNSUPPORTED, 1 },
                 { ERROR_MISMATCH, 1 },
                 { ERROR_USAGE, 2 },
                 { ERROR_NOSPACE, 2 },
                 { ERROR_EXISTS, 2 },
                 { ERROR_INTERRUPTED, 130 },
                 { ERROR_MISSING, 1 },
                 { ERROR_INTERNAL, 2 },
                 { -999, 2 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq(error_exit_status(rows[i].code), rows[i].status);
        ck_assert_uint_gt(strlen(error_words(rows[i].code)), 3);
    }
    ck_assert_str_eq(error_words(-999), "unknown error");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("error");
    TCase *c = tcase_create("error");
    tcase_add_test(c, sets_code_and_text);
    tcase_add_test(c, text_is_one_line);
    tcase_add_test(c, long_text_is_cut_at_a_code_point);
    tcase_add_test(c, prefix_comes_first);
    tcase_add_test(c, errno_chooses_the_code);
    tcase_add_test(c, every_code_has_words_and_a_status);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
