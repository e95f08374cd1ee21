/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/base/check_gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/model/hparams.h"
#include "base/util/bytes.h"
#include "tests/base/hostile.h"
#include "tests/support/support.h"

void raw_u32(struct buffer *b, uint32_t v)
{
    uint8_t x[4];
    bytes_put_u32(x, v);
    ck_assert_int_eq(buffer_append(b, x, 4, NULL), 0);
}

void raw_u64(struct buffer *b, uint64_t v)
{
    uint8_t x[8];
    bytes_put_u64(x, v);
    ck_assert_int_eq(buffer_append(b, x, 8, NULL), 0);
}

void raw_str(struct buffer *b, const char *s)
{
    raw_u64(b, strlen(s));
    ck_assert_int_eq(buffer_append(b, s, strlen(s), NULL), 0);
}

void raw_start(struct buffer *b, uint32_t version, uint64_t n_tensors, uint64_t n_kv)
{
    ck_assert_int_eq(buffer_append(b, "GGUF", 4, NULL), 0);
    raw_u32(b, version);
    raw_u64(b, n_tensors);
    raw_u64(b, n_kv);
}

void raw_kv_u32(struct buffer *b, const char *key, uint32_t v)
{
    raw_str(b, key);
    raw_u32(b, GGUF_U32);
    raw_u32(b, v);
}

void raw_tensor(struct buffer *b, const char *name, uint32_t type, uint64_t ne, uint64_t offset)
{
    raw_str(b, name);
    raw_u32(b, 1);
    raw_u64(b, ne);
    raw_u32(b, type);
    raw_u64(b, offset);
}

void raw_finish(struct buffer *b, size_t align, size_t data)
{
    for (size_t n = (align - b->len % align) % align + data; n; n--)
        ck_assert_int_eq(buffer_append(b, "", 1, NULL), 0);
}

const char *raw_save(const struct buffer *b)
{
    const char *path = support_tmp("raw.gguf");
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(b->data ? b->data : "", 1, b->len, f), b->len);
    fclose(f);
    return path;
}

void raw_expect(struct buffer *b, int code, const char *part)
{
    struct gguf g;
    struct error err = { 0 };
    int rc = gguf_open(&g, raw_save(b), 0, &err);
    ck_assert_msg(rc == code, "expected %d, got %d: %s", code, rc, err.text);
    if (code)
        ck_assert_msg(strstr(err.text, part) != NULL, "/%s/ is not in: %s", part, err.text);
    gguf_close(&g);
    buffer_free(b);
}

START_TEST(hostile)
{
    struct hostile_row rows[128];
    int n = hostile_rows("gguf", rows, 128);
    for (int i = 0; i < n; i++) {
        char rel[256];
        struct gguf g;
        struct hparams h;
        struct error err = { 0 };
        snprintf(rel, sizeof rel, "data/hostile/%.200s", rows[i].file);
        const char *path = support_path(rel);
        int rc = gguf_open(&g, path, 0, &err);
        /* what a container need not have, a model must */
        if (!rc && !strcmp(rows[i].names, "general.architecture"))
            rc = hparams_read(&h, &g, &err);
        hostile_judge(&rows[i], path, rc, &err);
        gguf_close(&g);
    }
}
END_TEST

/* Every length of a good file: an error, never a crash, and memory stays flat. */
START_TEST(truncations)
{
    struct buffer b = { 0 };
    FILE *f = fopen(support_path("data/hostile/gguf_ok.gguf"), "rb");
    char byte;
    ck_assert_ptr_nonnull(f);
    while (fread(&byte, 1, 1, f) == 1)
        ck_assert_int_eq(buffer_append(&b, &byte, 1, NULL), 0);
    fclose(f);
    ck_assert_uint_gt(b.len, 100);
    struct gguf g;
    ck_assert_int_eq(gguf_open(&g, raw_save(&b), 0, NULL), 0);
    const struct gguf_tensor *last = &g.tensors[g.n_tensors - 1];
    size_t needed = last->offset + last->bytes;
    gguf_close(&g);
    for (b.len = needed; b.len--;) {
        struct error err = { 0 };
        ck_assert_msg(gguf_open(&g, raw_save(&b), FILE_MAP, &err) == ERROR_FORMAT, "%zu bytes: %s", b.len, err.text);
        ck_assert_ptr_null(g.header);
    }
    buffer_free(&b);
}
END_TEST

START_TEST(allow_truncated)
{
    const char *path = support_path("data/hostile/gguf_data_truncated.gguf");
    struct gguf g;
    struct error err = { 0 };
    ck_assert_int_eq(gguf_open(&g, path, 0, &err), ERROR_FORMAT);
    ck_ok(gguf_open(&g, path, GGUF_ALLOW_TRUNCATED, &err), err);
    const struct gguf_tensor *t = &g.tensors[g.n_tensors - 1];
    ck_assert_uint_gt(t->offset + t->bytes, g.file.size);
    void *buf = malloc(t->bytes);
    ck_assert_int_eq(gguf_read_rows(&g, t, 0, t->n_rows, buf, &err), ERROR_FORMAT);
    free(buf);
    gguf_close(&g);
}
END_TEST

/* Header faults at values the hostile drawer does not have. */
START_TEST(huge_counts)
{
    static const uint64_t counts[] = { 0x055555555555555a, UINT64_MAX, (uint64_t)1 << 63, (uint64_t)1 << 60, 4000 };
    for (int i = 0; i < 5; i++) {
        struct buffer b = { 0 };
        raw_start(&b, 3, 0, counts[i]);
        raw_expect(&b, ERROR_FORMAT, "count");
        raw_start(&b, 3, counts[i], 0);
        raw_expect(&b, ERROR_FORMAT, "count");
        raw_start(&b, 3, 0, 1);
        raw_u64(&b, counts[i]);
        raw_finish(&b, 64, 0);
        raw_expect(&b, ERROR_FORMAT, "a key");
        for (uint32_t elem = 0; elem <= GGUF_F64; elem++) {
            raw_start(&b, 3, 0, 1);
            raw_str(&b, "k");
            raw_u32(&b, GGUF_ARRAY);
            raw_u32(&b, elem);
            raw_u64(&b, counts[i]);
            raw_finish(&b, 64, 0);
            raw_expect(&b, ERROR_FORMAT, "array");
        }
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    ck_assert_int_lt(use.ru_maxrss, 400 << 10); /* KiB; sanitizers take most of it */
}
END_TEST

START_TEST(alignments)
{
    static const uint32_t bad[] = { 0, 1, 3, 4, 24, 1 << 17, 1u << 31 };
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct buffer b = { 0 };
        raw_start(&b, 3, 0, 1);
        raw_kv_u32(&b, "general.alignment", bad[i]);
        raw_finish(&b, 32, 0);
        raw_expect(&b, ERROR_FORMAT, "general.alignment");
    }
    struct buffer b = { 0 };
    raw_start(&b, 3, 2, 1);
    raw_kv_u32(&b, "general.alignment", 64);
    raw_tensor(&b, "a", BLOCK_F32, 3, 0);
    raw_tensor(&b, "b", BLOCK_F32, 3, 64);
    raw_finish(&b, 64, 64 + 12);
    raw_expect(&b, 0, NULL);
    raw_start(&b, 3, 0, 1);
    raw_str(&b, "general.alignment");
    raw_u32(&b, GGUF_U64);
    raw_u64(&b, 32);
    raw_finish(&b, 32, 0);
    raw_expect(&b, ERROR_FORMAT, "general.alignment: expected u32, found u64");
}
END_TEST

START_TEST(tensor_infos)
{
    struct buffer b = { 0 };
    static const uint32_t dims[] = { 5, 9, UINT32_MAX };
    for (int i = 0; i < 3; i++) {
        raw_start(&b, 3, 1, 0);
        raw_str(&b, "t");
        raw_u32(&b, dims[i]);
        raw_finish(&b, 32, 128);
        raw_expect(&b, ERROR_FORMAT, "dimensions");
    }
    raw_start(&b, 3, 1, 0);
    raw_tensor(&b, "t", BLOCK_F32, 0, 0);
    raw_finish(&b, 32, 32);
    raw_expect(&b, ERROR_FORMAT, "dimension 0 is 0");

    raw_start(&b, 3, 1, 0);
    raw_tensor(&b, "t", BLOCK_TQ2_0, 255, 0);
    raw_finish(&b, 32, 256);
    raw_expect(&b, ERROR_FORMAT, "remainder 255");

    raw_start(&b, 3, 2, 0); /* padded sums pass 2^64 */
    raw_tensor(&b, "t", BLOCK_I8, INT64_MAX, 0);
    raw_tensor(&b, "u", BLOCK_I8, INT64_MAX, (uint64_t)1 << 63);
    raw_finish(&b, 32, 256);
    raw_expect(&b, ERROR_FORMAT, "truncated");

    raw_start(&b, 3, 1, 0);
    raw_tensor(&b, "0123456789012345678901234567890123456789012345678901234567890123", BLOCK_F32, 1, 0);
    raw_finish(&b, 32, 4);
    raw_expect(&b, ERROR_FORMAT, "string length 64");

    raw_start(&b, 3, 1, 0); /* no dimensions: a scalar */
    raw_str(&b, "t");
    raw_u32(&b, 0);
    raw_u32(&b, BLOCK_F32);
    raw_u64(&b, 0);
    raw_finish(&b, 32, 4);
    raw_expect(&b, 0, NULL);

    raw_start(&b, 3, 1, 0);
    raw_tensor(&b, "t", 36, 128, 0);
    raw_finish(&b, 32, 64);
    raw_expect(&b, ERROR_UNSUPPORTED, "type 36 (I2_S");

    raw_start(&b, 3, 0, 2);
    raw_kv_u32(&b, "general.x", 1);
    raw_kv_u32(&b, "general.x", 1);
    raw_finish(&b, 32, 0);
    raw_expect(&b, ERROR_FORMAT, "duplicate key general.x");
}
END_TEST

/* One id, two layouts. */
START_TEST(legacy_prism)
{
    struct buffer b = { 0 };
    raw_start(&b, 3, 2, 0); /* 2560 weights: 680 bytes in blocks of 34, 720 in blocks of 18 */
    raw_tensor(&b, "a", BLOCK_Q2_0, 2560, 0);
    raw_tensor(&b, "b", BLOCK_Q2_0, 2560, 704);
    raw_finish(&b, 32, 704 + 704);
    raw_expect(&b, ERROR_UNSUPPORTED, "legacy Prism layout");

    raw_start(&b, 3, 2, 0); /* today's layout */
    raw_tensor(&b, "a", BLOCK_Q2_0, 2560, 0);
    raw_tensor(&b, "b", BLOCK_Q2_0, 2560, 736);
    raw_finish(&b, 32, 736 + 736);
    raw_expect(&b, 0, NULL);

    raw_start(&b, 3, 1, 0); /* alone, and too short for 18/64 */
    raw_tensor(&b, "a", BLOCK_Q2_0, 2560, 0);
    raw_finish(&b, 32, 680);
    raw_expect(&b, ERROR_UNSUPPORTED, "legacy Prism layout");

    raw_start(&b, 3, 2, 0); /* mixed: fits neither */
    raw_tensor(&b, "a", BLOCK_Q2_0, 2560, 0);
    raw_tensor(&b, "b", BLOCK_Q2_0, 2560, 800);
    raw_finish(&b, 32, 2000);
    raw_expect(&b, ERROR_FORMAT, "offset 800, expected 736 (a hole before it)");

    raw_start(&b, 3, 1, 0); /* shorter than either */
    raw_tensor(&b, "a", BLOCK_Q2_0, 2560, 0);
    raw_finish(&b, 32, 500);
    raw_expect(&b, ERROR_FORMAT, "truncated");
}
END_TEST

START_TEST(wrong_files)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        { "<!DOCTYPE html><html>", "HTML" },
        { "version https://git-lfs.github.com/spec/v1\noid sha256:00ff\nsize 12345\n", "oid sha256:00ff, 12345 bytes" },
        { "PK\3\4 and so on, long enough", "zip" },
        { "nothing known", "first bytes" },
        { "{\"a\": 1}", "JSON" },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct buffer b = { 0 };
        ck_assert_int_eq(buffer_append(&b, rows[i].text, strlen(rows[i].text), NULL), 0);
        raw_expect(&b, ERROR_FORMAT, rows[i].part);
    }
    struct gguf g;
    struct error err = { 0 };
    ck_assert_int_eq(gguf_open(&g, support_tmp("absent.gguf"), 0, &err), ERROR_MISSING);
    gguf_close(&g);
    ck_assert_int_lt(gguf_open(&g, support_tmpdir(), 0, &err), 0);
    gguf_close(&g);
}
END_TEST

START_TEST(strings_and_utf8)
{
    struct buffer b = { 0 };
    raw_start(&b, 3, 0, 1);
    raw_str(&b, "k");
    raw_u32(&b, GGUF_ARRAY);
    raw_u32(&b, GGUF_STRING);
    raw_u64(&b, 3);
    raw_str(&b, "fine");
    raw_str(&b, "");
    raw_str(&b, "a\xff");
    raw_finish(&b, 32, 0);
    raw_expect(&b, ERROR_FORMAT, "key k at offset");
    raw_start(&b, 3, 0, 1);
    raw_str(&b, "k\xc3");
    raw_finish(&b, 32, 32);
    raw_expect(&b, ERROR_FORMAT, "UTF-8");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("gguf");
    TCase *t = tcase_create("read");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, hostile);
    tcase_add_test(t, truncations);
    tcase_add_test(t, allow_truncated);
    tcase_add_test(t, huge_counts);
    tcase_add_test(t, alignments);
    tcase_add_test(t, tensor_infos);
    tcase_add_test(t, legacy_prism);
    tcase_add_test(t, wrong_files);
    tcase_add_test(t, strings_and_utf8);
    suite_add_tcase(s, t);
    suite_add_tcase(s, gguf_write_tests());
    return s;
}

int main(void)
{
    return support_main(suite);
}
