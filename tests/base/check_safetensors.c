/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/format/safetensors.h"
#include "base/util/bytes.h"
#include "tests/base/hostile.h"
#include "tests/support/support.h"

static int parse(const char *json, uint64_t data_bytes, struct st_model *m, struct error *err)
{
    *m = (struct st_model){ 0 };
    return st_parse_header(m, json, strlen(json), data_bytes, 0, "x", err);
}

START_TEST(hostile_files)
{
    struct hostile_row rows[128];
    int n = hostile_rows("safetensors", rows, 128);
    for (int i = 0; i < n; i++) {
        char rel[256];
        struct st_model m;
        struct error err = { 0 };
        snprintf(rel, sizeof rel, "data/hostile/%.200s", rows[i].file);
        const char *path = support_path(rel);
        hostile_judge(&rows[i], path, st_open_file(&m, path, &err), &err);
        st_close(&m);
    }
}
END_TEST

/* The folders whose fault lies in the index, the shards or the container; the others are the converter's. */
START_TEST(hostile_folders)
{
    static const char *const ours[] = {
        "dir_ok/",
        "dir_ok_sharded/",
        "dir_missing_shard/",
        "dir_tensor_not_in_shard/",
        "dir_tensor_two_shards/",
        "dir_path_traversal/",
        "dir_path_absolute/",
        "dir_path_subdir/",
        "dir_extra_in_shard/",
        "dir_index_no_map/",
        "dir_index_not_json/",
        "dir_only_bin/",
        "dir_lfs_weights/",
    };
    struct hostile_row rows[128];
    int n = hostile_rows("hf_dir", rows, 128), seen = 0;
    for (int i = 0; i < n; i++)
        for (unsigned k = 0; k < sizeof ours / sizeof *ours; k++) {
            char rel[256];
            struct st_model m;
            struct error err = { 0 };
            if (strcmp(rows[i].file, ours[k]))
                continue;
            snprintf(rel, sizeof rel, "data/hostile/%.*s", (int)strlen(ours[k]) - 1, ours[k]);
            const char *path = support_path(rel);
            hostile_judge(&rows[i], path, st_open_dir(&m, path, &err), &err);
            st_close(&m);
            seen++;
        }
    ck_assert_int_eq(seen, sizeof ours / sizeof *ours);
}
END_TEST

START_TEST(demo_model)
{
    struct st_model m;
    struct error err = { 0 };
    ck_ok(st_open_dir(&m, support_path("data/garden-3m"), &err), err);
    ck_assert_uint_gt(m.n_tensors, 20);
    uint64_t at = m.tensors[0].offset;
    for (size_t i = 0; i < m.n_tensors; i++) {
        ck_assert_uint_eq(m.tensors[i].offset, at);
        at += m.tensors[i].bytes;
        ck_assert_ptr_eq(st_find(&m, m.tensors[i].name), &m.tensors[i]);
    }
    ck_assert_uint_eq(at, m.shards[0].file.size);
    const struct st_tensor *t = st_find(&m, "model.norm.weight");
    ck_assert(t && t->dtype == ST_F16 && t->n_dims == 1);
    uint16_t *v = calloc(t->n_elements, 2), one;
    ck_ok(st_read(&m, t, 0, t->n_elements, v, &err), err);
    ck_ok(st_read(&m, t, t->n_elements - 1, 1, &one, &err), err);
    ck_assert_uint_eq(one, v[t->n_elements - 1]);
    ck_assert_int_eq(st_read(&m, t, 1, t->n_elements, v, &err), ERROR_INTERNAL);
    ck_assert_ptr_null(st_find(&m, "absent"));
    free(v);
    st_close(&m);
}
END_TEST

START_TEST(sharded)
{
    struct st_model m;
    struct error err = { 0 };
    ck_ok(st_open_dir(&m, support_path("data/hostile/dir_ok_sharded"), &err), err);
    ck_assert_uint_eq(m.n_shards, 2);
    ck_assert_uint_eq(m.shards[0].n_tensors + m.shards[1].n_tensors, m.n_tensors);
    for (size_t i = 1; i < m.n_tensors; i++)
        ck_assert_uint_ge(m.tensors[i].shard, m.tensors[i - 1].shard);
    st_close(&m);
}
END_TEST

START_TEST(headers)
{
    static const struct {
        const char *json;
        uint64_t data;
        int code;
        const char *part;
    } rows[] = {
        { "{}", 0, 0, "" },
        { "{\"__metadata__\":{\"crc\":\"12\"}}", 0, 0, "" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, 0, "" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[0,9],\"data_offsets\":[0,0]}}", 0, 0, "" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615,0,3],\"data_offsets\":[0,0]}}", 0, ERROR_FORMAT,
          "shape[0]" },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, 0, "" },
        { "{\"a\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1, ERROR_FORMAT, "end on a byte" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4],\"more\":1}}", 4, 0, "" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1000,1000],\"data_offsets\":[0,4]}}", 4, ERROR_FORMAT,
          "tensor a: its shape needs 4000000 bytes" },
        { "{\"w\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"w\":{\"dtype\":\"F32\",\"shape\":[1],"
          "\"data_offsets\":[4,8]}}",
          8, ERROR_FORMAT, "w" },
        { "{\"k\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"v\":{\"dtype\":\"F32\",\"shape\":[1],"
          "\"data_offsets\":[0,4]}}",
          4, ERROR_FORMAT, "overlap" },
        { "{\"k\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"v\":{\"dtype\":\"F32\",\"shape\":[1],"
          "\"data_offsets\":[12,16]}}",
          16, ERROR_FORMAT, "hole of 8 bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 3, ERROR_FORMAT, "1 missing" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5, ERROR_FORMAT, "1 trailing bytes" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,4]}}", 8, ERROR_FORMAT, "beyond end" },
        { "{\"a\":{\"dtype\":\"C128\",\"shape\":[1],\"data_offsets\":[0,16]}}", 16, ERROR_UNSUPPORTED, "dtype 'C128'" },
        { "{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, ERROR_UNSUPPORTED, "dtype" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4, ERROR_UNSUPPORTED,
          "shape" },
        { "{\"a\":{\"dtype\":\"F64\",\"shape\":[9223372036854775807],\"data_offsets\":[0,4]}}", 4, ERROR_FORMAT,
          "overflow" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4.0]}}", 4, ERROR_FORMAT, "data_offsets[1]" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":\"1\",\"data_offsets\":[0,4]}}", 4, ERROR_FORMAT, "shape" },
        { "{\"a\":{\"dtype\":\"F32\",\"shape\":[null],\"data_offsets\":[0,4]}}", 4, ERROR_FORMAT, "shape[0]" },
        { "{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, ERROR_FORMAT, "name of 0 bytes" },
        { "{\"a\":7}", 0, ERROR_FORMAT, "object" },
        { "{\"__metadata__\":\"x\"}", 0, ERROR_FORMAT, "__metadata__" },
        { "", 0, ERROR_FORMAT, "header" },
        { " {}", 0, ERROR_FORMAT, "header" },
        { "{}  ", 0, 0, "" },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct st_model m;
        struct error err = { 0 };
        int rc = parse(rows[i].json, rows[i].data, &m, &err);
        ck_assert_msg(rc == rows[i].code && (!rc || strstr(err.text, rows[i].part)),
                      "row %u: expected %d /%s/, got %d: %s", i, rows[i].code, rows[i].part, rc, err.text);
        st_close(&m);
    }
}
END_TEST

/* Tensors in any order of the header, sorted by offset; an empty one beside the one that starts where it stands. */
START_TEST(order)
{
    struct st_model m;
    struct error err = { 0 };
    ck_ok(parse("{\"c\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[4,7]},"
                "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
                "\"b\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[4,4]}}",
                7, &m, &err),
          err);
    ck_assert_str_eq(m.tensors[0].name, "a");
    ck_assert_str_eq(m.tensors[1].name, "b");
    ck_assert_str_eq(m.tensors[2].name, "c");
    st_close(&m);
}
END_TEST

START_TEST(many_tensors)
{
    enum { N = 100000 };
    struct buffer b = { 0 };
    struct st_model m = { 0 };
    struct error err = { 0 };
    for (int i = 0; i < N; i++)
        ck_ok(buffer_printf(&b, &err, "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                            i ? "," : "{", i * 7919 % N, i, i + 1),
              err);
    ck_ok(buffer_printf(&b, &err, "}"), err);
    ck_ok(st_parse_header(&m, b.data, b.len, N, 100, "x", &err), err);
    ck_assert_uint_eq(m.n_tensors, N);
    ck_assert_uint_eq(m.tensors[N - 1].offset, N - 1 + 100);
    st_close(&m);
    buffer_free(&b);
}
END_TEST

static void save(const char *dir, const char *name, const char *json, size_t data, struct error *err)
{
    struct buffer b = { 0 };
    uint8_t len[8];
    char *path = file_join(dir, name, err);
    if (json[0] == '{' && !strstr(name, ".json")) {
        bytes_put_u64(len, strlen(json));
        ck_ok(buffer_append(&b, len, 8, err), *err);
    }
    ck_ok(buffer_append(&b, json, strlen(json), err), *err);
    while (data--)
        ck_ok(buffer_append(&b, "", 1, err), *err);
    ck_ok(file_write_all(path, b.data, b.len, true, err), *err);
    buffer_free(&b);
    mem_free(path);
}

#define TENSOR(name) "{\"" name "\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]}}"
#define MAP(shard) "{\"metadata\":{\"total_size\":99},\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"" shard "\"}}"

/* Shard links: into the folder and into the hub cache's blobs are fine, elsewhere is not. */
START_TEST(links)
{
    const char *root = support_tmp("hub");
    char dir[4200], blob[4200], link[4300], outside[4200];
    struct st_model m;
    struct error err = { 0 };
    snprintf(dir, sizeof dir, "%s/snapshots", root);
    snprintf(blob, sizeof blob, "%s/blobs", root);
    ck_assert(!mkdir(root, 0700) && !mkdir(dir, 0700) && !mkdir(blob, 0700));
    snprintf(dir, sizeof dir, "%s/snapshots/rev", root);
    ck_assert(!mkdir(dir, 0700));
    save(blob, "0123", TENSOR("b"), 2, &err);
    save(dir, "one.safetensors", TENSOR("a"), 2, &err);
    save(dir, "model.safetensors.index.json", MAP("two.safetensors"), 0, &err);
    ck_assert_int_eq(st_open_dir(&m, dir, &err), ERROR_MISSING);
    ck_assert(strstr(err.text, "two.safetensors"));
    snprintf(link, sizeof link, "%s/two.safetensors", dir);
    ck_assert(!symlink("../../blobs/0123", link));
    ck_ok(st_open_dir(&m, dir, &err), err);
    ck_assert_uint_eq(m.n_shards, 2);
    st_close(&m);
    snprintf(outside, sizeof outside, "%s/secret.safetensors", support_tmpdir());
    save(support_tmpdir(), "secret.safetensors", TENSOR("b"), 2, &err);
    ck_assert(!unlink(link) && !symlink(outside, link));
    ck_assert_int_eq(st_open_dir(&m, dir, &err), ERROR_FORMAT);
    ck_assert(strstr(err.text, "out of the folder"));
}
END_TEST

START_TEST(index_faults)
{
    static const char *const maps[][2] = {
        { MAP(".."), "path" },
        { MAP("a\\\\b.safetensors"), "path" },
        { MAP(""), "path" },
        { "{\"weight_map\":{\"a\":\"one.safetensors\",\"c\":\"one.safetensors\"}}", "1 tensors not in the shard" },
        { "{\"weight_map\":{}}", "empty" },
        { "{\"weight_map\":{\"a\":1}}", "expected a file name" },
        { "{\"weight_map\":[]}", "weight_map" },
        { "{\"weight_map\":{\"a\":\"one.safetensors\",\"a\":\"one.safetensors\"}}", "a" },
        { "{\"weight_map\":{\"z\":\"one.safetensors\"}}", "1 tensors not in the index (a)" },
    };
    const char *dir = support_tmp("faults");
    struct st_model m;
    struct error err = { 0 };
    ck_assert(!mkdir(dir, 0700));
    ck_assert_int_eq(st_open_dir(&m, dir, &err), ERROR_MISSING);
    ck_assert(strstr(err.text, "model.safetensors") && strstr(err.text, "none"));
    save(dir, "one.safetensors", TENSOR("a"), 2, &err);
    ck_assert_int_eq(st_open_dir(&m, dir, &err), ERROR_MISSING);
    ck_assert(strstr(err.text, "one.safetensors"));
    for (unsigned i = 0; i < sizeof maps / sizeof *maps; i++) {
        save(dir, "model.safetensors.index.json", maps[i][0], 0, &err);
        int rc = st_open_dir(&m, dir, &err);
        ck_assert_msg(rc == ERROR_FORMAT && strstr(err.text, maps[i][1]), "map %u: %d %s", i, rc, err.text);
    }
    save(dir, "model.safetensors.index.json", "{\"weight_map\":{\"a\":\"one.safetensors\"}}", 0, &err);
    ck_ok(st_open_dir(&m, dir, &err), err);
    st_close(&m);
    ck_assert_int_lt(st_open_dir(&m, support_path("data/hostile/st_ok.safetensors"), &err), 0);
    ck_assert_int_eq(st_open_dir(&m, support_tmp("absent"), &err), ERROR_MISSING);
}
END_TEST

START_TEST(dtypes)
{
    ck_assert_str_eq(st_dtype_name(ST_BOOL), "BOOL");
    ck_assert_str_eq(st_dtype_name(ST_U64), "U64");
    for (int d = 0; d <= ST_U64; d++)
        ck_assert(st_dtype_name(d) && st_dtype_bits(d) >= 4);
    ck_assert_uint_eq(st_dtype_bits(ST_BF16), 16);
    ck_assert_uint_eq(st_dtype_bits(ST_F6_E3M2), 6);
    ck_assert_uint_eq(st_dtype_bits(99), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("safetensors");
    TCase *t = tcase_create("read");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, hostile_files);
    tcase_add_test(t, hostile_folders);
    tcase_add_test(t, demo_model);
    tcase_add_test(t, sharded);
    tcase_add_test(t, headers);
    tcase_add_test(t, order);
    tcase_add_test(t, many_tensors);
    tcase_add_test(t, links);
    tcase_add_test(t, index_faults);
    tcase_add_test(t, dtypes);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
