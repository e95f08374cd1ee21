/* SPDX-License-Identifier: Apache-2.0 */
/* What the header of a GGUF file says: architecture, kind, rotation keys, readers, parts. */
#include "tests/support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/stats.h"
#include "tests/verify/build.h"

#define PREFIX "prism.hadamard."

/* What goes into the file; zero-initialised it is a sound PQ2_0 model without rotation. */
struct how {
    bool rotated;
    uint32_t type; /* 0: PQ2_0 */
    uint32_t version, block;
    const char *transform, *listed;
    int32_t n_signs, sign, width;
    const char *general_type;
    bool no_arch;
    uint16_t part, n_parts;
};

static void put_text(struct gguf_writer *w, const char *key, const char *text)
{
    struct error e = { 0 };
    ck_ok(gguf_put_str(w, key, text, strlen(text), &e), e);
}

static void put_rotation(struct gguf_writer *w, const struct how *h)
{
    const char *listed = h->listed ? h->listed : "blk.0.attn_q.weight";
    struct gguf_str name = { listed, strlen(listed) };
    int32_t signs[256], width = h->width ? h->width : 128;
    struct error e = { 0 };

    for (int i = 0; i < 256; i++)
        signs[i] = i % 3 ? 1 : -1;
    if (h->sign)
        signs[7] = h->sign;
    ck_ok(gguf_put_u32(w, PREFIX "version", h->version ? h->version : 1, &e), e);
    ck_ok(gguf_put_u32(w, PREFIX "block_size", h->block ? h->block : 64, &e), e);
    put_text(w, PREFIX "transform", h->transform ? h->transform : "normalized-sylvester-walsh-hadamard");
    put_text(w, PREFIX "axis", "input-last-dimension");
    put_text(w, PREFIX "sign_mode", "explicit");
    ck_ok(gguf_put_strs(w, PREFIX "weight_names", &name, 1, &e), e);
    ck_ok(gguf_put_array(w, PREFIX "sign_widths", GGUF_I32, &width, 1, &e), e);
    ck_ok(gguf_put_array(w, PREFIX "sign_values", GGUF_I32, signs, (size_t)(h->n_signs ? h->n_signs : 128), &e), e);
}

static const char *make(const struct how *h)
{
    uint32_t type = h->type ? h->type : BLOCK_PQ2_0;
    const struct block_info *b = block_info(type);
    static const uint64_t ne[1] = { 128 };
    uint8_t zeros[512] = { 0 };
    struct gguf_writer *w = NULL;
    struct error e = { 0 };
    const char *path = support_tmp("h.gguf");

    ck_ok(gguf_writer_new(&w, 32, &e), e);
    if (h->general_type)
        put_text(w, "general.type", h->general_type);
    if (!h->no_arch)
        put_text(w, "general.architecture", "qwen3");
    if (h->n_parts) {
        ck_ok(gguf_put_u32(w, "split.no", h->part, &e), e);
        ck_ok(gguf_put_u32(w, "split.count", h->n_parts, &e), e);
    }
    if (h->rotated)
        put_rotation(w, h);
    ck_ok(gguf_put_tensor(w, "blk.0.attn_q.weight", type, 1, ne, &e), e);
    ck_ok(gguf_writer_begin(w, path, true, &e), e);
    ck_ok(gguf_writer_data(w, zeros, 128 / b->weights * b->bytes, &e), e);
    ck_ok(gguf_writer_commit(w, &e), e);
    gguf_writer_free(w);
    return path;
}

static bool notes(const struct report *r, const char *words)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->items[i].level == REPORT_NOTE && strstr(r->items[i].text, words))
            return true;
    return false;
}

/* errors: how many at least; words of the first problem, or of a note when none is expected. */
static void expect(const struct how *h, unsigned errors, unsigned warnings, const char *words)
{
    struct report r;
    build_check(&r, make(h));
    ck_assert_msg(r.n_errors == errors && r.n_warnings == warnings, "'%s': %zu errors, %zu warnings: %s", words,
                  r.n_errors, r.n_warnings, r.n ? r.items[r.n - 1].text : "");
    ck_assert_msg(errors || warnings ? build_says(&r, words) : notes(&r, words), "nothing says '%s'", words);
    report_free(&r);
}

START_TEST(readers)
{
    expect(&(struct how){ .type = BLOCK_Q2_0 }, 0, 0, "opens in llama.cpp");
    expect(&(struct how){ 0 }, 0, 0, "opens in the Prism fork");
    expect(&(struct how){ 0 }, 0, 0, "no prism.hadamard keys");
    expect(&(struct how){ .type = BLOCK_PTQ1_0 }, 0, 0, "mostly PTQ1_0");
    expect(&(struct how){ .rotated = true }, 0, 0, "weights are rotated");
    expect(&(struct how){ .rotated = true, .type = BLOCK_Q2_0 }, 0, 1,
           "stock llama.cpp opens: there it prints nonsense");
}
END_TEST

START_TEST(rotation)
{
    expect(&(struct how){ .rotated = true, .version = 3 }, 1, 0, "expected 1 or 2, found 3");
    expect(&(struct how){ .rotated = true, .block = 48 }, 1, 0, "expected a power of two, found 48");
    expect(&(struct how){ .rotated = true, .block = 256 }, 1, 0, "no multiple of the rotation block 256");
    expect(&(struct how){ .rotated = true, .transform = "dct" }, 1, 0, "found \"dct\"");
    expect(&(struct how){ .rotated = true, .listed = "blk.9.attn_q.weight" }, 1, 0, "lists blk.9.attn_q.weight, which");
    expect(&(struct how){ .rotated = true, .n_signs = 127 }, 1, 0, "expected 128 values, found 127");
    expect(&(struct how){ .rotated = true, .sign = 2 }, 1, 0, "expected -1 or 1, found 2");
    expect(&(struct how){ .rotated = true, .width = 64, .n_signs = 64 }, 1, 0, "no sign vector for rows of 128");
}
END_TEST

START_TEST(identity)
{
    expect(&(struct how){ .no_arch = true }, 1, 0, "general.architecture");
    expect(&(struct how){ .general_type = "model" }, 0, 0, "1 tensors");
    expect(&(struct how){ .n_parts = 3, .part = 1 }, 0, 0, "part 2 of 3");
    expect(&(struct how){ .general_type = "imatrix", .no_arch = true }, 1, 0, "imatrix");
}
END_TEST

START_TEST(statistics)
{
    struct stats s = { .chunk_count = 2, .chunk_size = 64, .add_bos = -1 };
    struct stats_entry *entry;
    struct report r;
    struct error e = { 0 };
    const char *path = support_tmp("s.gguf");

    ck_ok(stats_add(&s, "blk.0.attn_q.weight", 4, 1, &entry, &e), e);
    for (int i = 0; i < 4; i++)
        entry->sum2[i] = (float)i;
    entry->counts[0] = 128;
    ck_ok(stats_write(&s, path, true, &e), e);
    stats_free(&s);
    build_check(&r, path);
    ck_assert_msg(!r.n_errors && !r.n_warnings, "%s", r.items[r.n - 1].text);
    ck_assert_str_eq(r.kind, "statistics");
    ck_assert(notes(&r, "importance statistics of 1 matrices, 2 chunks of 64"));
    report_free(&r);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("verify/structure");
    TCase *t = tcase_create("header");
    tcase_add_test(t, readers);
    tcase_add_test(t, rotation);
    tcase_add_test(t, identity);
    tcase_add_test(t, statistics);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
