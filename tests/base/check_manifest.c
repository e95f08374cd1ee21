/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/format/manifest.h"
#include "base/util/file.h"
#include "tests/support/support.h"

#define A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define B "FFFFFFFFffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

static int read_text(struct manifest *m, const char *text, size_t n, struct error *err)
{
    const char *path = support_tmp("sums");
    ck_ok(file_write_all(path, text, n, true, err), *err);
    return manifest_read(m, path, err);
}

START_TEST(entries)
{
    static const char text[] = "# a comment\n" A "  plain name\n\n" B " *binary\r\n" A "x  bad\n" A " x bad\nshort\n"
                               "\\" A "  new\\nline\\\\\\r\n"
                               "\\" A "  bad\\x\n" A "  no newline";
    static const char *const names[] = { "plain name", "binary", "new\nline\\\r", "no newline" };
    static const size_t lines[] = { 2, 4, 8, 10 };
    struct manifest m;
    struct error err = { 0 };
    ck_ok(read_text(&m, text, sizeof text - 1, &err), err);
    ck_assert_uint_eq(m.n, 4);
    ck_assert_uint_eq(m.n_malformed, 4);
    for (int i = 0; i < 4; i++) {
        ck_assert_str_eq(m.entries[i].name, names[i]);
        ck_assert_uint_eq(m.entries[i].line, lines[i]);
    }
    ck_assert_uint_eq(m.entries[0].sha256[0], 0x01);
    ck_assert_uint_eq(m.entries[0].sha256[31], 0xef);
    ck_assert_uint_eq(m.entries[1].sha256[0], 0xff);
    manifest_free(&m);
}
END_TEST

START_TEST(refused)
{
    struct manifest m;
    struct error err = { 0 };
    ck_assert_int_eq(read_text(&m, "", 0, &err), ERROR_FORMAT);
    ck_assert_int_eq(read_text(&m, "# only\n", 7, &err), ERROR_FORMAT);
    ck_assert_int_eq(read_text(&m, "hello\n", 6, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "1 malformed"));
    ck_assert_int_eq(read_text(&m, A "  a\n\0", 69, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "binary"));
    ck_assert_int_eq(read_text(&m, A "  ", 66, &err), ERROR_FORMAT);
    ck_assert_int_eq(manifest_read(&m, support_tmp("absent"), &err), ERROR_MISSING);
    manifest_free(&m);
}
END_TEST

/* What manifest_line writes, manifest_read reads; and the bytes are those of sha256sum. */
START_TEST(lines)
{
    static const char *const names[] = { "a",    "with space", "back\\slash", "new\nline",
                                         "cr\r", "\xff\xfe",   "*star",       " lead" };
    uint8_t sum[32];
    struct buffer b = { 0 };
    struct manifest m;
    struct error err = { 0 };
    for (int i = 0; i < 32; i++)
        sum[i] = (uint8_t)(7 * i);
    for (int i = 0; i < 8; i++)
        ck_ok(manifest_line(&b, sum, names[i], &err), err);
    ck_assert(strstr(b.data, "  a\n") && strstr(b.data, "\n\\0007"));
    ck_assert(strstr(b.data, "  back\\\\slash\n") && strstr(b.data, "  new\\nline\n"));
    ck_ok(read_text(&m, b.data, b.len, &err), err);
    ck_assert_uint_eq(m.n, 8);
    ck_assert_uint_eq(m.n_malformed, 0);
    for (int i = 0; i < 8; i++) {
        ck_assert_str_eq(m.entries[i].name, names[i]);
        ck_assert_int_eq(memcmp(m.entries[i].sha256, sum, 32), 0);
    }
    manifest_free(&m);
    buffer_free(&b);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("manifest");
    TCase *t = tcase_create("list");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, entries);
    tcase_add_test(t, refused);
    tcase_add_test(t, lines);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
