/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/stats.h"
#include "base/util/bytes.h"
#include "tests/support/support.h"

static void put(struct buffer *b, uint32_t v)
{
    uint8_t x[4];
    bytes_put_u32(x, v);
    ck_assert_int_eq(buffer_append(b, x, 4, NULL), 0);
}

static void put_name(struct buffer *b, const char *s)
{
    put(b, (uint32_t)strlen(s));
    ck_assert_int_eq(buffer_append(b, s, strlen(s), NULL), 0);
}

static int read_bytes(struct stats *s, const struct buffer *b, struct error *err)
{
    const char *path = support_tmp("x.dat");
    ck_ok(file_write_all(path, b->data, b->len, true, err), *err);
    return stats_read(s, path, err);
}

START_TEST(round_trip)
{
    struct stats s = { .add_bos = 1, .chunk_count = 3, .chunk_size = 512, .n_tokens = 1536 }, t;
    struct stats_entry *e;
    struct error err = { 0 };
    const char *path = support_tmp("s.gguf");
    s.dataset = mem_strdup("a.txt, b.txt.gz", &err);
    s.corpus_sha256 = mem_strdup("00ff", &err);
    s.model_sha256 = mem_strdup("11ee", &err);
    ck_ok(stats_add(&s, "blk.10.attn_q.weight", 5, 1, &e, &err), err);
    for (int i = 0; i < 5; i++)
        e->sum2[i] = (float)i / 3;
    e->counts[0] = 1536;
    ck_ok(stats_add(&s, "blk.0.ffn_up.weight", 2, 3, &e, &err), err);
    e->sum2[5] = 8;
    e->counts[1] = 2;
    ck_assert_int_eq(stats_add(&s, "blk.0.ffn_up.weight", 2, 3, &e, &err), ERROR_INTERNAL);
    ck_ok(stats_add(&s, "blk.2.x", 1, 1, &e, &err), err);
    ck_assert_int_eq(stats_add(&s, "y", UINT64_MAX, 2, &e, &err), ERROR_INTERNAL);
    ck_assert_int_eq(stats_add(&s, "y", UINT64_MAX / 8, 1, &e, &err), ERROR_NOMEM);
    ck_assert_str_eq(s.entries[0].name, "blk.0.ffn_up.weight");
    ck_assert_str_eq(s.entries[1].name, "blk.10.attn_q.weight");
    ck_ok(stats_write(&s, path, true, &err), err);

    ck_ok(stats_read(&t, path, &err), err);
    ck_assert_uint_eq(t.n, 3);
    ck_assert_uint_eq(t.chunk_count, 3);
    ck_assert_uint_eq(t.chunk_size, 512);
    ck_assert_uint_eq(t.n_tokens, 1536);
    ck_assert_int_eq(t.add_bos, 1);
    ck_assert_str_eq(t.dataset, "a.txt, b.txt.gz");
    ck_assert_str_eq(t.corpus_sha256, "00ff");
    ck_assert_str_eq(t.model_sha256, "11ee");
    const struct stats_entry *q = stats_find(&t, "blk.10.attn_q.weight"), *up = stats_find(&t, "blk.0.ffn_up.weight");
    ck_assert(q && up && !stats_find(&t, "blk.1"));
    ck_assert(q->n_in == 5 && q->n_mat == 1 && q->sum2[4] == 4.0f / 3 && q->counts[0] == 1536);
    ck_assert(up->n_in == 2 && up->n_mat == 3 && up->sum2[5] == 8 && up->counts[1] == 2 && up->counts[2] == 0);

    struct gguf g; /* the layout llama-quantize wants */
    ck_ok(gguf_open(&g, path, 0, &err), err);
    const struct gguf_tensor *c = gguf_tensor(&g, "blk.0.ffn_up.weight.counts");
    ck_assert(c && c->ne[0] == 1 && c->ne[1] == 3 && c->n_dims == 2);
    ck_assert_str_eq(g.tensors[0].name, "blk.0.ffn_up.weight.in_sum2");
    gguf_close(&g);
    stats_free(&s);
    stats_free(&t);
}
END_TEST

/* One faulty imatrix each; -1: leave the thing out. */
static int write_variant(const char *path, const char *type, float value, float count, int n_counts, int keys,
                         struct error *err)
{
    struct gguf_writer *w;
    struct gguf_str set = { "d", 1 };
    ck_ok(gguf_writer_new(&w, 32, err), *err);
    ck_ok(gguf_put_str(w, "general.type", type, strlen(type), err), *err);
    if (keys != 0)
        ck_ok(gguf_put_strs(w, "imatrix.datasets", &set, 1, err), *err);
    if (keys != 1)
        ck_ok(gguf_put_u32(w, "imatrix.chunk_count", 1, err), *err);
    if (keys != 2)
        ck_ok(gguf_put_u32(w, "imatrix.chunk_size", 512, err), *err);
    ck_ok(gguf_put_tensor(w, "w.in_sum2", BLOCK_F32, 1, (uint64_t[]){ 4 }, err), *err);
    if (n_counts > 0)
        ck_ok(gguf_put_tensor(w, "w.counts", BLOCK_F32, 2, (uint64_t[]){ 1, (uint64_t)n_counts }, err), *err);
    if (n_counts < 0)
        ck_ok(gguf_put_tensor(w, "v.counts", BLOCK_F32, 1, (uint64_t[]){ 1 }, err), *err);
    ck_ok(gguf_writer_begin(w, path, true, err), *err);
    float sums[4] = { 1, 2, value, 4 };
    ck_ok(gguf_writer_data(w, sums, sizeof sums, err), *err);
    for (int i = 0; i < abs(n_counts); i++)
        ck_ok(gguf_writer_data(w, &count, sizeof count, err), *err);
    ck_ok(gguf_writer_commit(w, err), *err);
    gguf_writer_free(w);
    struct stats s;
    int rc = stats_read(&s, path, err);
    stats_free(&s);
    return rc;
}

START_TEST(refused)
{
    static const struct {
        const char *type;
        float value, count;
        int n_counts, keys;
        const char *part;
    } rows[] = {
        { "model", 1, 1, 1, 9, "general.type is 'model'" },
        { "imatrix", NAN, 1, 1, 9, "in_sum2 of w: value 2 is nan" },
        { "imatrix", -1, 1, 1, 9, "value 2 is -1" },
        { "imatrix", INFINITY, 1, 1, 9, "(Inf)" },
        { "imatrix", 1, 1.5f, 1, 9, "counts of w: value 0 is 1.5" },
        { "imatrix", 1, -1, 1, 9, "counts of w" },
        { "imatrix", 1, NAN, 1, 9, "counts of w" },
        { "imatrix", 1, 1, 2, 9, "2 counts for 1 matrices" },
        { "imatrix", 1, 1, 0, 9, "no counts" },
        { "imatrix", 1, 1, -1, 9, "no counts" },
        { "imatrix", 1, 1, 1, 0, "imatrix.datasets" },
        { "imatrix", 1, 1, 1, 1, "imatrix.chunk_count" },
        { "imatrix", 1, 1, 1, 2, "imatrix.chunk_size" },
    };
    const char *path = support_tmp("bad.gguf");
    struct error err = { 0 };
    ck_ok(write_variant(path, "imatrix", 0, 0, 1, 9, &err), err); /* zeros are fine here */
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rc = write_variant(path, rows[i].type, rows[i].value, rows[i].count, rows[i].n_counts, rows[i].keys, &err);
        ck_assert_msg(rc == ERROR_FORMAT && strstr(err.text, rows[i].part), "row %u: %d %s", i, rc, err.text);
    }
    struct stats s;
    ck_assert_int_eq(stats_read(&s, support_path("data/hostile/gguf_ok.gguf"), &err), ERROR_FORMAT);
}
END_TEST

static struct buffer legacy(void)
{
    struct buffer b = { 0 };
    put(&b, 2);
    put_name(&b, "blk.1.w");
    put(&b, 7);
    put(&b, 3);
    for (int i = 0; i < 3; i++)
        put(&b, bytes_f32_bits(0.5f * (float)i));
    put_name(&b, "blk.0.w");
    put(&b, 0);
    put(&b, 1);
    put(&b, bytes_f32_bits(9));
    return b;
}

START_TEST(legacy_dat)
{
    struct buffer b = legacy();
    struct stats s;
    struct error err = { 0 };
    size_t old = b.len;
    ck_ok(read_bytes(&s, &b, &err), err); /* files before the chunk count was added */
    ck_assert_uint_eq(s.n, 2);
    ck_assert_ptr_null(s.dataset);
    stats_free(&s);
    put(&b, 100);
    put_name(&b, "wiki.txt");
    ck_ok(read_bytes(&s, &b, &err), err);
    ck_assert_uint_eq(s.chunk_count, 100);
    ck_assert_str_eq(s.dataset, "wiki.txt");
    const struct stats_entry *e = stats_find(&s, "blk.1.w");
    ck_assert(e && e->n_in == 3 && e->sum2[2] == 1 && e->counts[0] == 7);
    stats_free(&s);
    for (size_t full = b.len; b.len--;) {
        int rc = read_bytes(&s, &b, &err);
        ck_assert_msg(rc == (b.len == old ? 0 : ERROR_FORMAT), "%zu of %zu bytes: %d %s", b.len, full, rc, err.text);
        stats_free(&s);
    }
    buffer_free(&b);
    put(&b, 1000000); /* more entries than bytes */
    put(&b, 1);
    ck_assert_int_eq(read_bytes(&s, &b, &err), ERROR_FORMAT);
    buffer_free(&b);
    put(&b, 16385);
    for (int i = 0; i < 16385 * 4; i++) /* room for them, so that only their number is wrong */
        put(&b, 1);
    ck_assert_int_eq(read_bytes(&s, &b, &err), ERROR_UNSUPPORTED);
    buffer_free(&b);
    put(&b, 1);
    put_name(&b, "w");
    put(&b, (uint32_t)-1);
    put(&b, 1);
    put(&b, 0);
    ck_assert_int_eq(read_bytes(&s, &b, &err), ERROR_FORMAT);
    buffer_free(&b);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("stats");
    TCase *t = tcase_create("files");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, round_trip);
    tcase_add_test(t, refused);
    tcase_add_test(t, legacy_dat);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
