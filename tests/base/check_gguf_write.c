/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/util/bytes.h"
#include "tests/base/check_gguf.h"
#include "tests/support/support.h"

static const struct gguf_str words[] = { { "one", 3 }, { "", 0 }, { "th\0ree", 6 }, { "vier", 4 } };

/* A file with every kind of key and a few tensors; tensor bytes are 1, 2, 3, ... */
static void plan(struct gguf_writer *w, struct error *err)
{
    static const int32_t numbers[] = { 1, -2, 3 };
    static const double halves[] = { 0.5, -1.5 };
    ck_ok(gguf_put_str(w, "general.architecture", "llama", 5, err), *err);
    ck_ok(gguf_put_u32(w, "t.u32", 4000000000u, err), *err);
    ck_ok(gguf_put_u64(w, "t.u64", (uint64_t)1 << 40, err), *err);
    ck_ok(gguf_put_i32(w, "t.i32", -7, err), *err);
    ck_ok(gguf_put_f32(w, "t.f32", 1.5f, err), *err);
    ck_ok(gguf_put_f64(w, "t.f64", -0.1, err), *err);
    ck_ok(gguf_put_bool(w, "t.bool", true, err), *err);
    ck_ok(gguf_put_strs(w, "t.strs", words, 4, err), *err);
    ck_ok(gguf_put_strs(w, "t.none", NULL, 0, err), *err);
    ck_ok(gguf_put_array(w, "t.ints", GGUF_I32, numbers, 3, err), *err);
    ck_ok(gguf_put_array(w, "t.doubles", GGUF_F64, halves, 2, err), *err);
    ck_ok(gguf_put_tensor(w, "a.weight", BLOCK_F32, 2, (uint64_t[]){ 3, 2 }, err), *err);
    ck_ok(gguf_put_tensor(w, "b.weight", BLOCK_TQ1_0, 4, (uint64_t[]){ 512, 1, 1, 1 }, err), *err);
    ck_ok(gguf_put_tensor(w, "c", BLOCK_I8, 1, (uint64_t[]){ 1 }, err), *err);
}

static void stream(struct gguf_writer *w, struct error *err)
{
    uint8_t byte = 0;
    for (int i = 0; i < 24 + 108 + 1; i++) {
        byte++;
        ck_ok(gguf_writer_data(w, &byte, 1, err), *err);
    }
}

static struct gguf_writer *make(const char *path, uint32_t alignment, struct error *err)
{
    struct gguf_writer *w;
    ck_ok(gguf_writer_new(&w, alignment, err), *err);
    plan(w, err);
    uint64_t size = gguf_writer_size(w);
    ck_ok(gguf_writer_begin(w, path, true, err), *err);
    ck_assert_uint_eq(gguf_writer_size(w), size);
    stream(w, err);
    return w;
}

START_TEST(round_trip)
{
    static const uint32_t alignments[] = { 32, 8, 4096 };
    const char *path = support_tmp("round.gguf");
    struct error err = { 0 };
    for (int k = 0; k < 3; k++) {
        struct gguf_writer *w = make(path, alignments[k], &err);
        uint64_t size = gguf_writer_size(w);
        ck_ok(gguf_writer_commit(w, &err), err);
        gguf_writer_free(w);
        struct gguf g;
        ck_ok(gguf_open(&g, path, FILE_MAP, &err), err);
        ck_assert_uint_eq(g.file.size, size);
        ck_assert_uint_eq(g.alignment, alignments[k]);
        ck_assert_uint_eq(g.n_kv, 11 + (k > 0));
        ck_assert_uint_eq(g.n_tensors, 3);
        uint32_t u = 0;
        float f = 0;
        bool yes = false;
        struct gguf_str s;
        ck_ok(gguf_need_u32(&g, "t.u32", &u, &err), err);
        ck_assert_uint_eq(u, 4000000000u);
        ck_ok(gguf_need_f32(&g, "t.f64", &f, &err), err);
        ck_assert(f == -0.1f);
        ck_ok(gguf_need_f32(&g, "t.f32", &f, &err), err);
        ck_assert(f == 1.5f);
        ck_ok(gguf_opt_bool(&g, "t.bool", &yes, &err), err);
        ck_assert(yes);
        ck_ok(gguf_need_str(&g, "general.architecture", &s, &err), err);
        ck_assert(s.n == 5 && !memcmp(s.s, "llama", 5));
        const struct gguf_kv *kv;
        ck_ok(gguf_need_array(&g, "t.strs", GGUF_STRING, &kv, &err), err);
        size_t cursor = 0, n = 0;
        for (; gguf_next_str(kv, &cursor, &s); n++)
            ck_assert(s.n == words[n].n && !memcmp(s.s, words[n].s, s.n));
        ck_assert_uint_eq(n, 4);
        ck_ok(gguf_need_array(&g, "t.ints", GGUF_I32, &kv, &err), err);
        ck_assert_uint_eq(kv->count, 3);
        ck_assert_uint_eq(bytes_get_u32(kv->value + 4), (uint32_t)-2);
        const struct gguf_tensor *b = gguf_tensor(&g, "b.weight");
        ck_assert_ptr_nonnull(b);
        ck_assert_uint_eq(b->n_dims, 1);
        ck_assert_uint_eq(b->bytes, 108);
        ck_assert_uint_eq(b->offset % alignments[k], 0);
        ck_assert_uint_eq(g.file.map[b->offset], 25);
        uint8_t rows[12];
        ck_ok(gguf_read_rows(&g, gguf_tensor(&g, "a.weight"), 1, 1, rows, &err), err);
        ck_assert_uint_eq(rows[0], 13);
        ck_assert_int_eq(gguf_read_rows(&g, gguf_tensor(&g, "a.weight"), 1, 2, rows, &err), ERROR_INTERNAL);
        ck_assert_ptr_null(gguf_find(&g, "t.absent"));
        ck_assert_ptr_null(gguf_tensor(&g, "absent"));
        gguf_close(&g);
    }
}
END_TEST

START_TEST(getters_refuse)
{
    struct error err = { 0 };
    const char *path = support_tmp("get.gguf");
    struct gguf_writer *w = make(path, 32, &err);
    ck_ok(gguf_writer_commit(w, &err), err);
    gguf_writer_free(w);
    struct gguf g;
    ck_ok(gguf_open(&g, path, 0, &err), err);
    uint32_t u = 77;
    float f;
    bool yes;
    struct gguf_str s;
    const struct gguf_kv *kv;
    ck_assert_int_eq(gguf_opt_u32(&g, "t.absent", &u, &err), 0);
    ck_assert_uint_eq(u, 77);
    ck_assert_int_eq(gguf_need_u32(&g, "t.absent", &u, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "t.absent: missing"));
    ck_assert_int_eq(gguf_need_u32(&g, "t.i32", &u, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "-7"));
    ck_assert_int_eq(gguf_need_u32(&g, "t.u64", &u, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_need_u32(&g, "t.f32", &u, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "expected u32, found f32"));
    ck_assert_int_eq(gguf_need_f32(&g, "t.u32", &f, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_opt_bool(&g, "t.u32", &yes, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_need_str(&g, "t.strs", &s, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "expected string, found array of string"));
    ck_assert_int_eq(gguf_need_array(&g, "t.ints", GGUF_U32, &kv, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_need_array(&g, "t.u32", GGUF_U32, &kv, &err), ERROR_FORMAT);
    gguf_close(&g);
}
END_TEST

START_TEST(patching)
{
    struct error err = { 0 };
    const char *path = support_tmp("patch.gguf");
    struct gguf_writer *w = make(path, 32, &err);
    uint32_t v = 5;
    int32_t i = 99;
    uint8_t back[4];
    ck_ok(gguf_writer_patch_num(w, "t.u32", 0, &v, &err), err);
    ck_ok(gguf_writer_patch_num(w, "t.ints", 2, &i, &err), err);
    ck_ok(gguf_writer_patch_str(w, "t.strs", 3, "five", 4, &err), err);
    ck_ok(gguf_writer_patch_str(w, "t.strs", 0, "two", 3, &err), err);
    ck_ok(gguf_writer_patch_str(w, "general.architecture", 0, "qwen3", 5, &err), err);
    ck_assert_int_eq(gguf_writer_patch_str(w, "t.strs", 0, "long", 4, &err), ERROR_INTERNAL);
    ck_assert_int_eq(gguf_writer_patch_str(w, "t.strs", 4, "x", 1, &err), ERROR_INTERNAL);
    ck_assert_int_eq(gguf_writer_patch_num(w, "t.ints", 3, &i, &err), ERROR_INTERNAL);
    ck_assert_int_eq(gguf_writer_patch_num(w, "t.absent", 0, &i, &err), ERROR_INTERNAL);
    size_t n;
    const uint8_t *head = gguf_writer_header(w, &n);
    ck_assert_uint_eq(bytes_get_u32(head + gguf_writer_value_offset(w, "t.u32")), 5);
    ck_assert_int_eq(gguf_writer_value_offset(w, "t.absent"), -1);
    ck_ok(gguf_writer_read_back(w, 1, 0, back, 4, &err), err);
    ck_assert_uint_eq(back[0], 25);
    ck_assert_int_eq(gguf_writer_read_back(w, 1, 106, back, 4, &err), ERROR_INTERNAL);
    uint8_t copy[4096];
    ck_assert_uint_le(n, sizeof copy);
    memcpy(copy, head, n);
    int64_t at = gguf_writer_value_offset(w, "t.u32");
    ck_ok(gguf_writer_commit(w, &err), err);
    gguf_writer_free(w);

    struct gguf g;
    ck_ok(gguf_open(&g, path, 0, &err), err);
    ck_assert_uint_eq(g.data_offset, n);
    ck_assert_int_eq(memcmp(g.header, copy, n), 0);
    ck_assert_int_eq((int64_t)gguf_find(&g, "t.u32")->offset, at);
    struct gguf_str s;
    size_t cursor = 0;
    ck_assert(gguf_next_str(gguf_find(&g, "t.strs"), &cursor, &s) && s.n == 3 && !memcmp(s.s, "two", 3));
    gguf_close(&g);
}
END_TEST

/* Keys copied one by one from a file give the same bytes again. */
START_TEST(copying)
{
    struct error err = { 0 };
    const char *one = support_tmp("one.gguf"), *two = support_tmp("two.gguf");
    struct gguf_writer *w = make(one, 32, &err);
    ck_ok(gguf_writer_commit(w, &err), err);
    gguf_writer_free(w);
    struct gguf g, h;
    ck_ok(gguf_open(&g, one, FILE_MAP, &err), err);
    ck_ok(gguf_writer_new(&w, g.alignment, &err), err);
    for (size_t i = 0; i < g.n_kv; i++)
        ck_ok(gguf_put_copy(w, &g.kv[i], &err), err);
    for (size_t i = 0; i < g.n_tensors; i++)
        ck_ok(gguf_put_tensor(w, g.tensors[i].name, g.tensors[i].type, g.tensors[i].n_dims, g.tensors[i].ne, &err),
              err);
    ck_ok(gguf_writer_begin(w, two, true, &err), err);
    for (size_t i = 0; i < g.n_tensors; i++)
        ck_ok(gguf_writer_data(w, g.file.map + g.tensors[i].offset, g.tensors[i].bytes, &err), err);
    ck_ok(gguf_writer_commit(w, &err), err);
    gguf_writer_free(w);
    ck_ok(gguf_open(&h, two, FILE_MAP, &err), err);
    ck_assert_uint_eq(g.file.size, h.file.size);
    ck_assert_int_eq(memcmp(g.file.map, h.file.map, g.file.size), 0);
    gguf_close(&g);
    gguf_close(&h);
}
END_TEST

START_TEST(refusals)
{
    struct error err = { 0 };
    struct gguf_writer *w;
    const char *path = support_tmp("refuse.gguf");
    char name[65] = "0123456789012345678901234567890123456789012345678901234567890123";
    ck_assert_int_eq(gguf_writer_new(&w, 24, &err), ERROR_INTERNAL);
    ck_ok(gguf_writer_new(&w, 32, &err), err);
    ck_ok(gguf_put_u32(w, "k", 1, &err), err);
    ck_assert(gguf_writer_has(w, "k") && !gguf_writer_has(w, "l"));
    ck_assert_int_eq(gguf_put_u32(w, "k", 1, &err), ERROR_INTERNAL);
    ck_assert_int_eq(gguf_put_u32(w, "", 1, &err), ERROR_INTERNAL);
    ck_assert_int_eq(gguf_put_str(w, "s", "\xff", 1, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_put_tensor(w, name, BLOCK_F32, 1, (uint64_t[]){ 1 }, &err), ERROR_FORMAT);
    name[63] = 0;
    ck_ok(gguf_put_tensor(w, name, BLOCK_F32, 1, (uint64_t[]){ 1 }, &err), err);
    ck_assert_int_eq(gguf_put_tensor(w, name, BLOCK_F32, 1, (uint64_t[]){ 1 }, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "duplicate"));
    ck_assert_int_eq(gguf_put_tensor(w, "", BLOCK_F32, 1, (uint64_t[]){ 1 }, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_put_tensor(w, "z", BLOCK_F32, 1, (uint64_t[]){ 0 }, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_put_tensor(w, "z", BLOCK_F32, 5, (uint64_t[]){ 1, 1, 1, 1, 2 }, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_put_tensor(w, "z", BLOCK_Q2_0, 1, (uint64_t[]){ 65 }, &err), ERROR_FORMAT);
    ck_assert_int_eq(gguf_put_tensor(w, "z", BLOCK_F64, 2, (uint64_t[]){ 1u << 31, (uint64_t)1 << 31 }, &err),
                     ERROR_FORMAT);
    ck_ok(gguf_writer_begin(w, path, false, &err), err);
    ck_assert_int_eq(gguf_put_u32(w, "late", 1, &err), ERROR_INTERNAL);
    ck_assert_int_eq(gguf_writer_commit(w, &err), ERROR_INTERNAL);
    ck_ok(gguf_writer_data(w, "1234", 4, &err), err);
    ck_assert_int_eq(gguf_writer_data(w, "5", 1, &err), ERROR_INTERNAL);
    gguf_writer_free(w);
    ck_assert(!file_exists(path));
    struct gguf_writer *none = NULL;
    gguf_writer_free(none);
}
END_TEST

TCase *gguf_write_tests(void)
{
    TCase *t = tcase_create("write");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, round_trip);
    tcase_add_test(t, getters_refuse);
    tcase_add_test(t, patching);
    tcase_add_test(t, copying);
    tcase_add_test(t, refusals);
    return t;
}
