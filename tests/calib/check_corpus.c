/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "calib/corpus.h"
#include "tests/support/support.h"

static const char *save(const char *name, const void *bytes, size_t n)
{
    const char *path = support_tmp(name);
    ck_assert_int_eq(file_write_all(path, bytes, n, true, NULL), 0);
    return path;
}

static const char *save_text(const char *name, const char *text)
{
    return save(name, text, strlen(text));
}

/* A gzip member of n bytes appended to b. */
static void pack(struct buffer *b, const void *bytes, size_t n)
{
    z_stream z = { 0 };
    static uint8_t out[1 << 16];
    ck_assert_int_eq(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)bytes;
    z.avail_in = (uInt)n;
    int status;
    do {
        z.next_out = out;
        z.avail_out = sizeof out;
        status = deflate(&z, Z_FINISH);
        ck_assert_int_eq(buffer_append(b, out, sizeof out - z.avail_out, NULL), 0);
    } while (status == Z_OK);
    ck_assert_int_eq(status, Z_STREAM_END);
    deflateEnd(&z);
}

static void expect_text(const char *const *paths, size_t n, const char *field, const char *want)
{
    struct corpus c;
    struct error err = { 0 };
    ck_ok(corpus_read(&c, paths, n, field, &err), err);
    ck_assert_str_eq(c.text.data, want);
    ck_assert_uint_eq(c.text.len, strlen(want));
    corpus_free(&c);
}

static void expect_fault(const char *path, const char *field, int code, const char *part)
{
    struct corpus c;
    struct error err = { 0 };
    int rc = corpus_read(&c, &path, 1, field, &err);
    ck_assert_msg(rc == code && strstr(err.text, part), "expected %d /%s/, got %d: %s", code, part, rc, err.text);
    ck_assert_msg(strstr(err.text, path) != NULL, "%s", err.text);
    ck_assert_ptr_null(c.text.data);
}

START_TEST(plain)
{
    const char *a = save_text("a.txt", "one\ntwo\n"), *b = save_text("b.txt", "\xef\xbb\xbfthr\xc3\xa9\xc3\xa9");
    const char *both[] = { a, b }, *back[] = { b, a };
    expect_text(&a, 1, NULL, "one\ntwo");
    expect_text(&b, 1, NULL, "thr\xc3\xa9\xc3\xa9");
    expect_text(both, 2, NULL, "one\ntwo\nthr\xc3\xa9\xc3\xa9");
    expect_text(back, 2, NULL, "thr\xc3\xa9\xc3\xa9\none\ntwo");
    struct corpus c;
    struct digest_result d;
    char hex[65];
    struct error err = { 0 };
    ck_ok(corpus_read(&c, &a, 1, NULL, &err), err);
    ck_ok(digest_file(DIGEST_SHA256, a, &d, &err), err);
    digest_hex(d.sha256, 32, hex);
    ck_assert_str_eq(c.sha256, hex);
    corpus_free(&c);
    ck_ok(corpus_read(&c, both, 2, NULL, &err), err);
    ck_assert_str_eq(c.names.data, "a.txt, b.txt");
    corpus_free(&c);
}
END_TEST

START_TEST(gzip)
{
    static char text[3 << 20];
    struct buffer b = { 0 };
    struct corpus c, d;
    struct error err = { 0 };
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i * i % 23);
    const char *unpacked = save("plain", text, sizeof text);
    pack(&b, text, 1000);
    pack(&b, text + 1000, sizeof text - 1000); /* members follow each other; zeros may pad the end */
    ck_ok(buffer_append(&b, "\0\0\0\0", 4, &err), err);
    const char *path = save("packed", b.data, b.len);
    ck_ok(corpus_read(&c, &path, 1, NULL, &err), err);
    ck_ok(corpus_read(&d, &unpacked, 1, NULL, &err), err);
    ck_assert_uint_eq(c.text.len, sizeof text);
    ck_assert_int_eq(memcmp(c.text.data, text, sizeof text), 0);
    ck_assert_str_eq(c.sha256, d.sha256);
    corpus_free(&c);
    corpus_free(&d);
    size_t end = b.len - 4;
    static const size_t cuts[] = { 1, 8, 9, 100, 1000 };
    for (unsigned i = 0; i < sizeof cuts / sizeof *cuts; i++)
        expect_fault(save("cut.gz", b.data, end - cuts[i]), NULL, ERROR_FORMAT, "truncated gzip");
    b.data[end / 2] ^= 0x40;
    expect_fault(save("damaged.gz", b.data, end), NULL, ERROR_FORMAT, "gzip data");
    b.len = 0;
    pack(&b, "text", 4);
    ck_ok(buffer_append(&b, "junk", 4, &err), err);
    expect_fault(save("junk.gz", b.data, b.len), NULL, ERROR_FORMAT, "damaged gzip data");
    expect_fault(save_text("short.gz", "\x1f\x8b"), NULL, ERROR_FORMAT, "truncated gzip");
    buffer_free(&b);
}
END_TEST

START_TEST(jsonl)
{
    const char *good =
        save_text("good.jsonl", "{\"text\": \"a\\nb\", \"id\": 1}\n\n  \r\n{\"id\":2,\"text\":\"\\u00e9\"}\r\n");
    expect_text(&good, 1, "text", "a\nb\n\n\xc3\xa9");
    const char *twice[] = { good, good };
    expect_text(twice, 2, "text", "a\nb\n\n\xc3\xa9\n\na\nb\n\n\xc3\xa9");
    expect_fault(good, "body", ERROR_FORMAT, "line 1");
    expect_fault(good, "id", ERROR_FORMAT, "id");
    expect_fault(save_text("bad.jsonl", "{\"text\":\"a\"}\n{\"text\":\n"), "text", ERROR_FORMAT, "line 2");
    expect_fault(save_text("array.jsonl", "[\"a\"]\n"), "text", ERROR_FORMAT, "line 1");
}
END_TEST

START_TEST(faults)
{
    expect_fault(save_text("empty", ""), NULL, ERROR_FORMAT, "no text");
    expect_fault(save_text("bom", "\xef\xbb\xbf"), NULL, ERROR_FORMAT, "no text");
    expect_fault(save_text("latin1", "abc\xe9 def"), NULL, ERROR_FORMAT, "not UTF-8 at byte 3 (0xe9)");
    expect_fault(support_path("data/hostile/st_zip_pickle.safetensors"), NULL, ERROR_FORMAT, "UTF-8");
    expect_fault(support_path("data/garden-3m/model.safetensors"), NULL, ERROR_FORMAT, "a safetensors file");
    expect_fault(support_tmp("absent"), NULL, ERROR_MISSING, "absent");
    struct corpus c;
    struct error err = { 0 };
    const char *newline = save_text("newline", "\n");
    ck_assert_int_eq(corpus_read(&c, &newline, 1, NULL, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "no text"));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("corpus");
    TCase *t = tcase_create("read");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, plain);
    tcase_add_test(t, gzip);
    tcase_add_test(t, jsonl);
    tcase_add_test(t, faults);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
