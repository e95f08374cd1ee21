/* SPDX-License-Identifier: Apache-2.0 */
/* The written file: values, keys, digests and checksums as docs/format.md has them, read by other code than wrote them;
 * the same bytes from any number of threads and any kernels; failures that leave the old file alone. */
#include <math.h>
#include <string.h>

#include "base/format/manifest.h"
#include "base/util/bytes.h"
#include "base/util/json.h"
#include "kernels/codec.h"
#include "pack/emit.h"
#include "pack/report.h"
#include "tests/pack/model.h"
#include "tests/support/support.h"

#define Q "blk.0.attn_q.weight"
#define K "blk.0.attn_k.weight"
#define DOWN "blk.0.ffn_down.weight"

/* 300 x 1024 is more than one piece of the stream. */
static const struct model_tensor model[] = {
    { .name = "token_embd.weight", .type = BLOCK_F16, .n_cols = 256, .n_rows = 10 },
    { .name = "blk.0.attn_norm.weight", .type = BLOCK_F32, .n_cols = 256 },
    { .name = Q, .type = BLOCK_F16, .n_cols = 1024, .n_rows = 300 },
    { .name = K, .type = BLOCK_F16, .n_cols = 256, .n_rows = 40, .values = MODEL_TERNARY, .group = 256 },
    { .name = DOWN, .type = BLOCK_BF16, .n_cols = 512, .n_rows = 7 },
    { .name = "blk.0.ffn_up.weight", .type = BLOCK_F32, .n_cols = 256, .n_rows = 33 },
    { 0 },
};

/* tern-pack in one call, without the talk. The written table goes to *table when that is not NULL. */
static int run_pack(const struct model_tensor *tensors, const char *const *args, unsigned threads, const char *kernels,
                    struct buffer *json, struct error *err)
{
    const char *argv[24] = { "tern-pack", support_tmp("m.gguf"), "-o", support_tmp("out.gguf") };
    int argc = 4;
    while (args && *args)
        argv[argc++] = *args++;
    struct gguf g = { .file = FILE_INIT };
    struct pack_options o;
    struct plan p = { 0 };
    struct emit e = { 0 };
    struct pool *pool = NULL;
    const struct kernels *k;
    int rc = tensors ? model_write(argv[1], tensors, "ternpack.of_the_model", 5, err) : 0;
    if (rc == 0)
        rc = options_parse(&o, argc, (char **)argv, err);
    if (rc == 0)
        rc = kernels_select(&k, kernels, err);
    if (rc == 0)
        rc = gguf_open(&g, o.model, 0, err);
    if (rc == 0)
        rc = plan_open(&p, &g, &o, err);
    if (rc == 0)
        rc = plan_scan(&p, NULL, err);
    if (rc == 0 && o.stats)
        rc = plan_load_stats(&p, err);
    if (rc == 0)
        rc = emit_open(&e, &p, err);
    if (rc == 0)
        rc = pool_open(&pool, threads, err);
    if (rc == 0)
        rc = emit_run(&e, k, pool, NULL, err);
    if (rc == 0 && json)
        rc = report_json(&e, json, err);
    pool_close(pool);
    emit_close(&e);
    plan_free(&p);
    gguf_close(&g);
    options_free(&o);
    return rc;
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static float *values(const struct gguf *g, const char *name, size_t *n)
{
    struct error err = { 0 };
    const struct gguf_tensor *t = gguf_tensor(g, name);
    ck_assert_msg(t != NULL, "no tensor %s", name);
    uint8_t *raw = mem_zalloc(t->bytes, 1, "raw", NULL);
    float *w = mem_zalloc(t->n_elements, sizeof *w, "values", NULL);
    ck_ok(gguf_read_rows(g, t, 0, t->n_rows, raw, &err), err);
    ck_assert(codec_dequantize(t->type, raw, w, t->n_elements));
    mem_free(raw);
    *n = t->n_elements;
    return w;
}

static void open_pair(struct gguf *in, struct gguf *out)
{
    struct error err = { 0 };
    ck_ok(gguf_open(in, support_tmp("m.gguf"), 0, &err), err);
    ck_ok(gguf_open(out, support_tmp("out.gguf"), 0, &err), err);
}

/* ||W - What|| / ||W|| from the two files. */
static double file_error(const char *name)
{
    struct gguf in, out;
    size_t n, m;
    double a = 0, b = 0;
    open_pair(&in, &out);
    float *x = values(&in, name, &n), *y = values(&out, name, &m);
    ck_assert_uint_eq(n, m);
    for (size_t i = 0; i < n; i++) {
        a += (double)x[i] * x[i];
        b += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
    }
    mem_free(x);
    mem_free(y);
    gguf_close(&in);
    gguf_close(&out);
    return sqrt(b / a);
}

/* tensors[name].relative_error of a report. */
static double reported_error(const struct buffer *report, const char *name)
{
    struct json_doc *doc;
    struct error err = { 0 };
    double v = NAN;
    ck_ok(json_parse(&doc, report->data, report->len, "report", 8, 0, &err), err);
    const struct json *t = json_first(json_get(json_root(doc), "tensors"));
    while (t && strcmp(json_str(json_get(t, "name")), name) != 0)
        t = json_next(t);
    ck_assert_msg(t && json_f64(json_get(t, "relative_error"), &v), "no relative_error of %s", name);
    json_free(doc);
    return v;
}

START_TEST(written_values)
{
    static const char *const types[] = { "TQ1_0", "TQ2_0", "Q2_0", "PQ2_0", "PTQ1_0" };
    for (size_t i = 0; i < 5; i++) {
        struct error err = { 0 };
        struct buffer json = { 0 };
        ck_ok(run_pack(model, ARGS("--type", types[i], "--force"), 2, NULL, &json, &err), err);
        double q = file_error(Q), down = file_error(DOWN), up = file_error("blk.0.ffn_up.weight");
        ck_assert_msg(q > 0.3 && q < 0.45, "%s: relative error %g", types[i], q);
        ck_assert_msg(down > 0.3 && down < 0.45, "%s: relative error %g", types[i], down);
        ck_assert_msg(up > 0.3 && up < 0.45, "%s: relative error %g", types[i], up);
        ck_assert(file_error(K) == 0); /* exact */
        ck_assert(file_error("blk.0.attn_norm.weight") == 0);
        ck_assert(file_error("token_embd.weight") < 0.01);
        double told = reported_error(&json, Q); /* the report says what the files say */
        ck_assert_msg(fabs(told - q) <= 1e-12, "%s: reported %.17g, in the files %.17g", types[i], told, q);
        buffer_free(&json);
    }
}
END_TEST

static struct gguf_str string_at(const struct gguf *g, const char *key, size_t index)
{
    const struct gguf_kv *kv = gguf_find(g, key);
    struct gguf_str s = { 0 };
    size_t cursor = 0;
    ck_assert_msg(kv != NULL, "no key %s", key);
    for (size_t i = 0; i <= index; i++)
        ck_assert(gguf_next_str(kv, &cursor, &s));
    return s;
}

static void expect_str(struct gguf_str s, const char *want)
{
    ck_assert_msg(s.n == strlen(want) && memcmp(s.s, want, s.n) == 0, "'%.*s', expected '%s'", (int)s.n, s.s, want);
}

static void expect_u32(const struct gguf *g, const char *key, uint32_t want)
{
    struct error err = { 0 };
    uint32_t v;
    ck_ok(gguf_need_u32(g, key, &v, &err), err);
    ck_assert_uint_eq(v, want);
}

START_TEST(keys_and_digests)
{
    struct error err = { 0 };
    struct gguf in, out;
    struct digest_result d;
    char hex[65];
    ck_ok(run_pack(model, ARGS("--override", "ffn_up=F16", "--sparsity-ratio", "0.5"), 1, NULL, NULL, &err), err);
    open_pair(&in, &out);
    expect_str(string_at(&out, "general.architecture", 0), "llama");
    expect_u32(&out, "llama.block_count", 1);
    expect_str(string_at(&out, "ternpack.of_the_model", 0), "x");
    expect_u32(&out, "general.file_type", 41);
    expect_u32(&out, "general.quantization_version", 2);
    expect_u32(&out, "ternpack.version", 1);
    expect_str(string_at(&out, "ternpack.method", 0), "optimal");
    expect_str(string_at(&out, "ternpack.type", 0), "Q2_0");
    expect_u32(&out, "ternpack.group_size", 64);
    expect_str(string_at(&out, "ternpack.overrides", 0), "ffn_up=F16");
    ck_assert(gguf_find(&out, "ternpack.stats.sha256") == NULL);
    ck_assert(gguf_find(&out, "ternpack.zeros_per_group") == NULL);
    const struct gguf_kv *ratio = gguf_find(&out, "ternpack.sparsity_ratio");
    ck_assert(ratio && ratio->type == GGUF_F32 && bytes_get_f32(ratio->value) == 0.5f);

    static const char *const methods[] = { "q8_0", "copy", "optimal", "exact", "optimal", "f16" };
    const struct gguf_kv *xxh3 = gguf_find(&out, "ternpack.tensor.xxh3");
    ck_assert(xxh3 && xxh3->type == GGUF_ARRAY && xxh3->elem == GGUF_U64 && xxh3->count == out.n_tensors);
    ck_assert_uint_eq(out.n_tensors, 6);
    for (size_t i = 0; i < out.n_tensors; i++) {
        const struct gguf_tensor *t = &out.tensors[i];
        uint8_t *raw = mem_zalloc(t->bytes, 1, "raw", NULL);
        ck_ok(file_read_at(&out.file, raw, t->bytes, t->offset, &err), err);
        ck_ok(digest_bytes(DIGEST_SHA256 | DIGEST_XXH3, raw, t->bytes, &d, &err), err);
        digest_hex(d.sha256, 32, hex);
        expect_str(string_at(&out, "ternpack.tensor.names", i), t->name);
        expect_str(string_at(&out, "ternpack.tensor.methods", i), methods[i]);
        expect_str(string_at(&out, "ternpack.tensor.sha256", i), hex);
        ck_assert(bytes_get_u64(xxh3->value + 8 * i) == d.xxh3);
        mem_free(raw);
    }

    const struct gguf_kv *crc = gguf_find(&out, "ternpack.header_crc32");
    uint8_t *header = mem_zalloc(out.data_offset, 1, "header", NULL);
    ck_ok(file_read_at(&out.file, header, out.data_offset, 0, &err), err);
    uint32_t stored = bytes_get_u32(header + crc->offset);
    bytes_put_u32(header + crc->offset, 0);
    ck_ok(digest_bytes(DIGEST_CRC32, header, out.data_offset, &d, &err), err);
    ck_assert_uint_eq(stored, d.crc32);
    mem_free(header);
    gguf_close(&in);
    gguf_close(&out);

    struct manifest m;
    ck_ok(manifest_read(&m, support_tmp("out.gguf.sha256"), &err), err);
    ck_assert_uint_eq(m.n, 1);
    ck_assert_str_eq(m.entries[0].name, "out.gguf");
    ck_ok(digest_file(DIGEST_SHA256, support_tmp("out.gguf"), &d, &err), err);
    ck_assert_mem_eq(m.entries[0].sha256, d.sha256, 32);
    manifest_free(&m);
}
END_TEST

static void file_digest(const char *path, uint8_t sha256[32])
{
    struct error err = { 0 };
    struct digest_result d;
    ck_ok(digest_file(DIGEST_SHA256, path, &d, &err), err);
    memcpy(sha256, d.sha256, 32);
}

START_TEST(same_bytes)
{
    struct error err = { 0 };
    uint8_t first[32], other[32];
    ck_ok(run_pack(model, NULL, 1, "scalar", NULL, &err), err);
    file_digest(support_tmp("out.gguf"), first);
    for (unsigned threads = 1; threads <= 5; threads++)
        for (unsigned i = 0; kernels_at(i); i++) {
            ck_ok(run_pack(NULL, ARGS("--force"), threads, kernels_at(i)->name, NULL, &err), err);
            file_digest(support_tmp("out.gguf"), other);
            ck_assert_msg(memcmp(first, other, 32) == 0, "other bytes from %u threads, %s", threads,
                          kernels_at(i)->name);
        }
}
END_TEST

/* A run that fails half way names the place, and the old output and its checksum stay; no partial file is left. */
START_TEST(failures)
{
    static const struct {
        uint32_t type;
        double poison;
        const char *text;
        const char *args[3];
    } cases[] = {
        { BLOCK_F16, NAN, "row 299, column 1: the weight is NaN", { 0 } },
        { BLOCK_F32, -INFINITY, "row 299, column 1: the weight is infinite", { 0 } },
        { BLOCK_BF16, 3e38, "beyond fp16", { 0 } },
        { BLOCK_F32, 70000, "beyond fp16", { "--zeros-per-group", "63" } },
        { BLOCK_BF16, 70000, "beyond the range", { "--override", "attn_q=F16" } },
        { BLOCK_F32, 3.4e38, "beyond the range", { "--override", "attn_q=BF16" } },
    };
    struct error err = { 0 };
    uint8_t before[32], sums_before[32], after[32];
    ck_ok(run_pack(model, NULL, 2, NULL, NULL, &err), err);
    file_digest(support_tmp("out.gguf"), before);
    file_digest(support_tmp("out.gguf.sha256"), sums_before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct model_tensor bad[] = {
            { .name = "token_embd.weight", .type = BLOCK_F16, .n_cols = 256, .n_rows = 10 },
            { .name = Q, .type = cases[i].type, .n_cols = 1024, .n_rows = 300, .poison = cases[i].poison },
            { .name = K, .type = BLOCK_F16, .n_cols = 256, .n_rows = 40 },
            { 0 },
        };
        const char *args[4] = { "--force", cases[i].args[0], cases[i].args[1] };
        int rc = run_pack(bad, args, 2, NULL, NULL, &err);
        ck_assert_msg(rc == ERROR_FORMAT, "case %zu: %d (%s)", i, rc, err.text);
        ck_assert_msg(strstr(err.text, Q) && strstr(err.text, cases[i].text), "case %zu: %s", i, err.text);
        ck_assert(!file_exists(support_tmp("out.gguf.partial")));
        file_digest(support_tmp("out.gguf"), after);
        ck_assert_mem_eq(before, after, 32);
        file_digest(support_tmp("out.gguf.sha256"), after);
        ck_assert_mem_eq(sums_before, after, 32);
    }
    ck_assert_int_eq(run_pack(NULL, NULL, 1, NULL, NULL, &err), ERROR_EXISTS); /* no --force */
}
END_TEST

/* A group of zeros has scale +0 and decodes to 0. A tensor must not become zero as a whole. */
START_TEST(zeros)
{
    static const struct model_tensor zero[] = {
        { .name = Q, .type = BLOCK_F16, .n_cols = 128, .n_rows = 2, .values = MODEL_ZERO },
        { .name = K, .type = BLOCK_F32, .n_cols = 128, .n_rows = 2, .values = MODEL_ZERO, .poison = 0.3 },
        { 0 },
    };
    static const struct model_tensor tiny[] = {
        { .name = Q, .type = BLOCK_F32, .n_cols = 128, .n_rows = 2, .values = MODEL_TINY, .poison = 1 },
        { .name = K, .type = BLOCK_F32, .n_cols = 128, .n_rows = 2, .values = MODEL_TINY },
        { 0 },
    };
    struct error err = { 0 };
    struct gguf in, out;
    struct buffer json = { 0 };
    uint8_t want[4 * 18], raw[4 * 18];
    ck_ok(run_pack(zero, NULL, 1, NULL, NULL, &err), err);
    open_pair(&in, &out);
    for (int i = 0; i < 4; i++) {
        memset(want + i * 18, 0x55, 18);
        memset(want + i * 18, 0, 2);
    }
    ck_ok(gguf_read_rows(&out, gguf_tensor(&out, Q), 0, 2, raw, &err), err);
    ck_assert_mem_eq(raw, want, sizeof raw);
    want[2 * 18 + 1] = 0x34; /* 0.3 in fp16 is 0x34cd */
    want[2 * 18] = 0xcd;
    want[2 * 18 + 2] = 0x59; /* code 2 for column 1 */
    ck_ok(gguf_read_rows(&out, gguf_tensor(&out, K), 0, 2, raw, &err), err);
    ck_assert_mem_eq(raw, want, sizeof raw);
    gguf_close(&in);
    gguf_close(&out);

    ck_assert_int_eq(run_pack(tiny, ARGS("--force"), 1, NULL, NULL, &err), ERROR_FORMAT);
    ck_assert_msg(strstr(err.text, K) && strstr(err.text, "all 256 weights became zero"), "%s", err.text);
    ck_ok(run_pack(tiny, ARGS("--force", "--override", "attn_k=F32"), 1, NULL, &json, &err), err);
    ck_assert(strstr(json.data, "\"flushed_scales\":3,"));
    ck_assert(strstr(json.data, "3 scales were too small for fp16"));
    buffer_free(&json);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("emit");
    TCase *t = tcase_create("emit");
    tcase_set_timeout(t, 120);
    suite_add_tcase(s, t);
    tcase_add_test(t, written_values);
    tcase_add_test(t, keys_and_digests);
    tcase_add_test(t, same_bytes);
    tcase_add_test(t, failures);
    tcase_add_test(t, zeros);
    return s;
}

int main(void)
{
    return support_main(suite);
}
