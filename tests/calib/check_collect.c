/* SPDX-License-Identifier: Apache-2.0 */
/* Sums on a tiny random model: what can be computed by hand, what must be equal, a NaN on the way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/rng.h"
#include "calib/collect.h"
#include "tests/support/support.h"

enum { EMBD = 64, FF = 96, HEADS = 4, DIM = 16, VOCAB = 20, LAYERS = 2, N = 7 };

static float embedding[VOCAB][EMBD];

static const struct {
    enum role role;
    int n_in, n_out;
} shapes[] = {
    { ROLE_ATTN_NORM, EMBD, 1 }, { ROLE_ATTN_Q, EMBD, EMBD },      { ROLE_ATTN_K, EMBD, EMBD },
    { ROLE_ATTN_V, EMBD, EMBD }, { ROLE_ATTN_OUTPUT, EMBD, EMBD }, { ROLE_FFN_NORM, EMBD, 1 },
    { ROLE_FFN_GATE, EMBD, FF }, { ROLE_FFN_UP, EMBD, FF },        { ROLE_FFN_DOWN, FF, EMBD },
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static void put(struct gguf_writer *w, enum role role, int layer, int n_in, int n_out)
{
    struct error err = { 0 };
    char name[64];
    ck_ok(gguf_put_tensor(w, role_name(role, layer, name), BLOCK_F32, 2,
                          (uint64_t[]){ (uint64_t)n_in, (uint64_t)n_out }, &err),
          err);
}

/* Norm gains are 1; every other value is random. */
static void data(struct gguf_writer *w, struct rng *r, int n_in, int n_out, bool nan, float *keep)
{
    struct error err = { 0 };
    for (int i = 0; i < n_in * n_out; i++) {
        float v = n_out == 1 ? 1 : (float)(0.2 * rng_normal(r));
        if (nan && i == 0)
            v = NAN;
        if (keep)
            keep[i] = v;
        ck_ok(gguf_writer_data(w, &v, sizeof v, &err), err);
    }
}

static struct model *make(enum role nan_in)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = { { "llama.block_count", LAYERS },
                 { "llama.context_length", 32 },
                 { "llama.embedding_length", EMBD },
                 { "llama.feed_forward_length", FF },
                 { "llama.attention.head_count", HEADS } };
    const char *path = support_tmp("model.gguf");
    struct error err = { 0 };
    struct gguf_writer *w;
    struct rng r;
    rng_seed(&r, 5);
    ck_ok(gguf_writer_new(&w, 32, &err), err);
    ck_ok(gguf_put_str(w, "general.architecture", "llama", 5, &err), err);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_ok(gguf_put_u32(w, keys[i].key, keys[i].value, &err), err);
    ck_ok(gguf_put_f32(w, "llama.attention.layer_norm_rms_epsilon", 1e-6f, &err), err);
    put(w, ROLE_TOKEN_EMBD, -1, EMBD, VOCAB);
    for (int i = 0; i < LAYERS * N_SHAPES; i++)
        put(w, shapes[i % N_SHAPES].role, i / N_SHAPES, shapes[i % N_SHAPES].n_in, shapes[i % N_SHAPES].n_out);
    put(w, ROLE_OUTPUT_NORM, -1, EMBD, 1);
    ck_ok(gguf_writer_begin(w, path, true, &err), err);
    data(w, &r, EMBD, VOCAB, false, embedding[0]);
    for (int i = 0; i < LAYERS * N_SHAPES; i++)
        data(w, &r, shapes[i % N_SHAPES].n_in, shapes[i % N_SHAPES].n_out, shapes[i % N_SHAPES].role == nan_in, NULL);
    data(w, &r, EMBD, 1, false, NULL);
    ck_ok(gguf_writer_commit(w, &err), err);
    gguf_writer_free(w);

    struct model_options o = { 0 };
    struct model *m;
    ck_ok(kernels_select(&o.kernels, getenv("TERNPACK_KERNELS"), &err), err);
    ck_ok(model_open(&m, path, &o, &err), err);
    return m;
}

static const int32_t ids[2][N] = { { 3, 1, 4, 1, 5, 9, 2 }, { 19, 0, 7, 7, 7, 11, 12 } };

static void open_both(struct collect *c, struct model *m)
{
    const struct kernels *k;
    struct error err = { 0 };
    ck_ok(kernels_select(&k, getenv("TERNPACK_KERNELS"), &err), err);
    ck_ok(collect_open(c, m, k, N, &err), err);
}

static const struct stats_entry *entry(const struct stats *s, enum role role, int layer)
{
    char name[64];
    const struct stats_entry *e = stats_find(s, role_name(role, layer, name));
    ck_assert_msg(e != NULL, "%s", name);
    return e;
}

START_TEST(sums)
{
    struct model *m = make(ROLE_OTHER);
    struct collect c;
    struct stats s = { .add_bos = -1 };
    struct error err = { 0 };
    double want[EMBD] = { 0 };
    open_both(&c, m);
    for (int k = 0; k < 2; k++) {
        ck_ok(collect_chunk(&c, ids[k], N, &err), err);
        for (int t = 0; t < N; t++) { /* the first layer's input is the normalised embedding */
            const float *x = embedding[ids[k][t]];
            double square = 0;
            for (int i = 0; i < EMBD; i++)
                square += (double)x[i] * x[i];
            for (int i = 0; i < EMBD; i++)
                want[i] += (double)x[i] * x[i] / (square / EMBD + 1e-6);
        }
    }
    ck_ok(collect_stats(&c, &s, &err), err);
    ck_assert_uint_eq(s.n, 7 * LAYERS);
    for (int layer = 0; layer < LAYERS; layer++) {
        const struct stats_entry *q = entry(&s, ROLE_ATTN_Q, layer), *up = entry(&s, ROLE_FFN_UP, layer);
        ck_assert(q->n_in == EMBD && q->n_mat == 1 && q->counts[0] == 2 * N);
        ck_assert(entry(&s, ROLE_FFN_DOWN, layer)->n_in == FF && entry(&s, ROLE_FFN_DOWN, layer)->counts[0] == 2 * N);
        ck_assert(!memcmp(q->sum2, entry(&s, ROLE_ATTN_K, layer)->sum2, EMBD * sizeof(float)));
        ck_assert(!memcmp(q->sum2, entry(&s, ROLE_ATTN_V, layer)->sum2, EMBD * sizeof(float)));
        ck_assert(!memcmp(up->sum2, entry(&s, ROLE_FFN_GATE, layer)->sum2, EMBD * sizeof(float)));
        ck_assert(memcmp(q->sum2, up->sum2, EMBD * sizeof(float)));
        ck_assert(entry(&s, ROLE_ATTN_OUTPUT, layer)->sum2[0] > 0);
    }
    for (int i = 0; i < EMBD; i++) {
        double got = entry(&s, ROLE_ATTN_Q, 0)->sum2[i];
        ck_assert_msg(fabs(got - want[i]) <= 1e-5 * want[i], "channel %d: %g, expected %g", i, got, want[i]);
    }
    stats_free(&s);
    collect_close(&c);
    model_close(m);
}
END_TEST

/* Chunks start from an empty context, so their order changes nothing but rounding. */
START_TEST(chunks_are_apart)
{
    struct model *m = make(ROLE_OTHER);
    struct collect a, b;
    struct error err = { 0 };
    open_both(&a, m);
    open_both(&b, m);
    ck_ok(collect_chunk(&a, ids[0], N, &err), err);
    ck_ok(collect_chunk(&a, ids[1], N, &err), err);
    ck_ok(collect_chunk(&b, ids[1], N, &err), err);
    ck_ok(collect_chunk(&b, ids[0], N, &err), err);
    for (size_t i = 0; i < a.n_slots; i++)
        for (uint64_t j = 0; j < a.slots[i].n_in; j++)
            ck_assert(fabs(a.slots[i].sum2[j] - b.slots[i].sum2[j]) <= 1e-12 * a.slots[i].sum2[j]);
    collect_close(&a);
    collect_close(&b);
    model_close(m);
}
END_TEST

START_TEST(nan_stops)
{
    static const enum role roles[] = { ROLE_ATTN_V, ROLE_ATTN_OUTPUT, ROLE_FFN_UP, ROLE_FFN_DOWN };
    for (int i = 0; i < 4; i++) {
        struct model *m = make(roles[i]);
        struct collect c;
        struct error err = { 0 };
        open_both(&c, m);
        ck_assert_int_eq(collect_chunk(&c, ids[0], N, &err), ERROR_FORMAT);
        ck_assert_msg(strstr(err.text, "layer 0") || strstr(err.text, "blk.0."), "%s", err.text);
        collect_close(&c);
        model_close(m);
    }
}
END_TEST

START_TEST(unused_weight)
{
    struct model *m = make(ROLE_OTHER);
    struct collect c;
    struct stats s = { .add_bos = -1 };
    struct error err = { 0 };
    open_both(&c, m);
    ck_assert_int_eq(collect_stats(&c, &s, &err), ERROR_INTERNAL); /* nothing was evaluated */
    ck_assert(strstr(err.text, "never used"));
    stats_free(&s);
    collect_close(&c);
    model_close(m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("collect");
    TCase *t = tcase_create("sums");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, sums);
    tcase_add_test(t, chunks_are_apart);
    tcase_add_test(t, nan_stops);
    tcase_add_test(t, unused_weight);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
