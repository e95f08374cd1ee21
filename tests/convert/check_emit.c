/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/mem.h"
#include "convert/emit.h"
#include "convert/family.h"
#include "tests/convert/folder.h"
#include "tests/support/support.h"

/* Eleven heads of 96 rows of 1000 columns: 1056000 elements, so a chunk of 2^20 ends inside a row of the permuted Q. */
#define WIDE                                                                                                           \
    "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":1000,\"intermediate_size\":8,\"num_hidden_layers\":1,"  \
    "\"num_attention_heads\":11,\"head_dim\":96,\"num_key_value_heads\":1,\"vocab_size\":8,"                           \
    "\"max_position_embeddings\":32,\"tie_word_embeddings\":true}"
enum { HEADS = 11, HEAD_DIM = 96, COLS = 1000 };

struct run {
    struct config c;
    struct st_model m;
    struct plan p;
    struct emit e;
    struct notes notes;
    struct error err;
};

static void open_run(struct run *r, const char *dir, const char *config, int dtype, bool clamp, unsigned threads)
{
    struct convert_options o = { .dtype = dtype };
    struct extras none = { 0 };
    memset(r, 0, sizeof *r);
    folder_parse(&r->c, config);
    ck_ok(st_open_dir(&r->m, dir, &r->err), r->err);
    ck_ok(plan_make(&r->p, &r->c, &r->m, &o, &none, &r->notes, &r->err), r->err);
    ck_ok(emit_open(&r->e, &r->p, &r->m, clamp, threads, PROGRESS_NONE, &r->err), r->err);
}

static void write_run(struct run *r, const char *path)
{
    struct gguf_writer *w = NULL;
    ck_ok(gguf_writer_new(&w, 32, &r->err), r->err);
    ck_ok(gguf_put_str(w, "general.architecture", "llama", 5, &r->err), r->err);
    for (size_t i = 0; i < r->p.n_tensors; i++)
        ck_ok(gguf_put_tensor(w, r->p.tensors[i].name, r->p.tensors[i].type, r->p.tensors[i].n_dims, r->p.tensors[i].ne,
                              &r->err),
              r->err);
    ck_ok(gguf_writer_begin(w, path, true, &r->err), r->err);
    ck_ok(emit_data(&r->e, w, &r->err), r->err);
    ck_ok(gguf_writer_commit(w, &r->err), r->err);
    gguf_writer_free(w);
}

static void close_run(struct run *r)
{
    emit_close(&r->e);
    plan_free(&r->p);
    st_close(&r->m);
    config_close(&r->c);
    notes_free(&r->notes);
}

static void wide_folder(const char *dir, uint16_t *q)
{
    struct folder_tensor t[FOLDER_N];
    memcpy(t, folder_tensors, sizeof t);
    for (size_t i = 0; i < FOLDER_N; i++) {
        if (t[i].cols)
            t[i].cols = i == 5 ? HEADS * HEAD_DIM : i == 9 ? 8 : COLS;
        if (!t[i].cols || i == 5 || i == 9)
            t[i].rows = COLS;
    }
    t[2].rows = HEADS * HEAD_DIM;
    t[3].rows = t[4].rows = HEAD_DIM;
    for (size_t i = 0; i < (size_t)HEADS * HEAD_DIM * COLS; i++)
        q[i] = (uint16_t)(i * 2654435761u >> 18);
    t[2].data = q;
    folder_write(dir, "model.safetensors", WIDE, t, FOLDER_N);
}

static char *slurp(const char *path, size_t *n)
{
    char *data = NULL;
    struct error err = { 0 };
    ck_ok(file_read_all(path, 1 << 28, &data, n, &err), err);
    return data;
}

/* The definition: split each head's rows in two halves and take them in turn. */
START_TEST(rows_of_q_are_regrouped)
{
    uint16_t *q = malloc(sizeof *q * HEADS * HEAD_DIM * COLS), *have = malloc(sizeof *have * HEADS * HEAD_DIM * COLS);
    const char *dir = support_tmp("wide"), *out = support_tmp("wide.gguf");
    struct run r;
    struct gguf g;
    ck_assert(q && have);
    wide_folder(dir, q);
    open_run(&r, dir, WIDE, DTYPE_AUTO, false, 2);
    write_run(&r, out);
    ck_ok(gguf_open(&g, out, 0, &r.err), r.err);
    const struct gguf_tensor *t = gguf_tensor(&g, "blk.0.attn_q.weight");
    ck_assert_ptr_nonnull(t);
    ck_ok(gguf_read_rows(&g, t, 0, t->n_rows, have, &r.err), r.err);
    for (size_t head = 0; head < HEADS; head++)
        for (size_t half = 0; half < 2; half++)
            for (size_t i = 0; i < HEAD_DIM / 2; i++) {
                size_t from = head * HEAD_DIM + half * HEAD_DIM / 2 + i, to = head * HEAD_DIM + 2 * i + half;
                ck_assert_uint_eq(family_permuted_row(to, HEAD_DIM), from);
                ck_assert_msg(!memcmp(have + to * COLS, q + from * COLS, COLS * sizeof *q), "row %zu", to);
            }
    gguf_close(&g);
    close_run(&r);
    free(q);
    free(have);
}
END_TEST

START_TEST(same_bytes_for_any_threads)
{
    uint16_t *q = malloc(sizeof *q * HEADS * HEAD_DIM * COLS);
    const char *dir = support_tmp("threads");
    size_t n1 = 0, n = 0;
    char *first = NULL;
    ck_assert_ptr_nonnull(q);
    wide_folder(dir, q);
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        struct run r;
        const char *out = support_tmp("threads.gguf");
        open_run(&r, dir, WIDE, DTYPE_F32, false, threads);
        write_run(&r, out);
        close_run(&r);
        char *data = slurp(out, &n);
        if (!first) {
            first = data;
            n1 = n;
            continue;
        }
        ck_assert(n == n1 && !memcmp(first, data, n));
        mem_free(data);
    }
    mem_free(first);
    free(q);
}
END_TEST

/* Values 1e5 (twice), -1e6, NaN, Inf, 1e-12 among ones, in F32. */
static void spiky_folder(const char *dir)
{
    static uint8_t data[8 * 8 * 4];
    static const float spikes[] = { 1e5f, 1e5f, -1e6f, NAN, INFINITY, 1e-12f };
    struct folder_tensor t[FOLDER_N];
    memcpy(t, folder_tensors, sizeof t);
    for (size_t i = 0; i < 64; i++)
        bytes_put_f32(data + 4 * i, i < 6 ? spikes[i] : 1.0f);
    t[8].dtype = "F32"; /* up_proj */
    t[8].data = data;
    folder_write(dir, "model.safetensors", folder_config, t, FOLDER_N);
}

START_TEST(overflow_is_counted_before_writing)
{
    const char *dir = support_tmp("spiky");
    struct run r;
    spiky_folder(dir);
    open_run(&r, dir, folder_config, DTYPE_F16, false, 1);
    ck_assert(emit_needs_scan(&r.e));
    ck_assert_int_eq(emit_scan(&r.e, &r.err), ERROR_UNSUPPORTED);
    ck_assert_msg(strstr(r.err.text, "3 values in 1 tensor overflow F16") && strstr(r.err.text, "mlp.up_proj.weight"),
                  "%s", r.err.text);
    close_run(&r);
    open_run(&r, dir, folder_config, DTYPE_AUTO, false, 1);
    ck_assert(!emit_needs_scan(&r.e));
    close_run(&r);
}
END_TEST

START_TEST(clamped_values_and_notes)
{
    const char *dir = support_tmp("clamp"), *out = support_tmp("clamp.gguf");
    uint8_t row[16];
    struct run r;
    struct gguf g;
    spiky_folder(dir);
    open_run(&r, dir, folder_config, DTYPE_F16, true, 1);
    ck_assert(!emit_needs_scan(&r.e));
    write_run(&r, out);
    ck_ok(emit_notes(&r.e, &r.notes, &r.err), r.err);
    ck_assert_uint_eq(r.notes.n, 3);
    ck_assert(strstr(r.notes.items[0].text, "1 NaN and 1 Inf"));
    ck_assert(strstr(r.notes.items[1].text, "3 values that overflow F16 clamped"));
    ck_assert(strstr(r.notes.items[2].text, "1 values too small") && !r.notes.items[2].warning);
    ck_ok(gguf_open(&g, out, 0, &r.err), r.err);
    ck_ok(gguf_read_rows(&g, gguf_tensor(&g, "blk.0.ffn_up.weight"), 0, 1, row, &r.err), r.err);
    static const uint16_t want[8] = { 0x7bff, 0x7bff, 0xfbff, 0x7e00, 0x7c00, 0, 0x3c00, 0x3c00 };
    for (size_t i = 0; i < 8; i++)
        ck_assert_uint_eq(bytes_get_u16(row + 2 * i), want[i]);
    gguf_close(&g);
    close_run(&r);
}
END_TEST

/* 1, 3.2995391, 8, ... as llama.cpp's converter has them for theta 10000, head 16, factor 8, low 1, high 4, context 32.
 */
START_TEST(llama3_factors)
{
    static const uint32_t want[] = { 0x3f800000, 0x40532ba6, 0x41000000, 0x41000000 };
    struct config c = { .head_dim = 16,
                        .rope_theta = 10000,
                        .rope = {
                            .type = CONFIG_ROPE_LLAMA3, .factor = 8, .low_freq = 1, .high_freq = 4, .orig_ctx = 32 } };
    float out[8];
    family_llama3_freqs(&c, out);
    for (size_t i = 0; i < 8; i++)
        ck_assert_uint_eq(bytes_f32_bits(out[i]), want[i < 3 ? i : 3]);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("emit");
    TCase *c = tcase_create("emit");
    suite_add_tcase(s, c);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, rows_of_q_are_regrouped);
    tcase_add_test(c, same_bytes_for_any_threads);
    tcase_add_test(c, overflow_is_counted_before_writing);
    tcase_add_test(c, clamped_values_and_notes);
    tcase_add_test(c, llama3_factors);
    return s;
}

int main(void)
{
    return support_main(suite);
}
