/* SPDX-License-Identifier: Apache-2.0 */
/* A tiny random qwen3 model made here: what is refused, batches and caches, taps, a NaN on the way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/rng.h"
#include "runtime/model.h"
#include "tests/support/support.h"

enum { EMBD = 64, FF = 96, HEADS = 4, KV = 2, DIM = 32, VOCAB = 40, LAYERS = 2, N_IDS = 12 };

struct recipe {
    const char *key;     /* one more string key */
    const char *nan_in;  /* tensor whose last value is NaN */
    const char *q4_1_in; /* tensor of a type that cannot be run */
    bool head;
};

static void put_one(struct gguf_writer *w, const struct recipe *r, enum role role, int layer, uint64_t n_in,
                    uint64_t n_out)
{
    struct error err = { 0 };
    char name[64];
    role_name(role, layer, name);
    uint32_t type = r->q4_1_in && !strcmp(name, r->q4_1_in) ? 3 : BLOCK_F32;
    ck_ok(gguf_put_tensor(w, name, type, n_out > 1 ? 2 : 1, (uint64_t[]){ n_in, n_out }, &err), err);
}

/* Calls f for each tensor in file order. */
static void each_tensor(struct gguf_writer *w, const struct recipe *r,
                        void (*f)(struct gguf_writer *, const struct recipe *, enum role, int, uint64_t, uint64_t))
{
    f(w, r, ROLE_TOKEN_EMBD, -1, EMBD, VOCAB);
    for (int l = 0; l < LAYERS; l++) {
        f(w, r, ROLE_ATTN_NORM, l, EMBD, 1);
        f(w, r, ROLE_ATTN_Q, l, EMBD, HEADS * DIM);
        f(w, r, ROLE_ATTN_Q_NORM, l, DIM, 1);
        f(w, r, ROLE_ATTN_K, l, EMBD, KV * DIM);
        f(w, r, ROLE_ATTN_K_NORM, l, DIM, 1);
        f(w, r, ROLE_ATTN_V, l, EMBD, KV * DIM);
        f(w, r, ROLE_ATTN_OUTPUT, l, HEADS * DIM, EMBD);
        f(w, r, ROLE_FFN_NORM, l, EMBD, 1);
        f(w, r, ROLE_FFN_GATE, l, EMBD, FF);
        f(w, r, ROLE_FFN_UP, l, EMBD, FF);
        f(w, r, ROLE_FFN_DOWN, l, FF, EMBD);
    }
    f(w, r, ROLE_OUTPUT_NORM, -1, EMBD, 1);
    if (r->head)
        f(w, r, ROLE_OUTPUT, -1, EMBD, VOCAB);
}

static struct rng weights;

static void write_one(struct gguf_writer *w, const struct recipe *r, enum role role, int layer, uint64_t n_in,
                      uint64_t n_out)
{
    struct error err = { 0 };
    char name[64];
    role_name(role, layer, name);
    size_t n = n_in * n_out;
    float *x = calloc(n, sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(rng_normal(&weights) * (n_out > 1 ? 0.15 : 0.1) + (n_out > 1 ? 0 : 1));
    if (r->nan_in && !strcmp(name, r->nan_in))
        x[n - 1] = NAN;
    bool q4_1 = r->q4_1_in && !strcmp(name, r->q4_1_in); /* 20 bytes for 32 weights; never looked at */
    ck_ok(gguf_writer_data(w, x, q4_1 ? n / 32 * 20 : n * sizeof *x, &err), err);
    free(x);
}

static const char *make_model(const struct recipe *r)
{
    static const struct {
        const char *key;
        uint32_t value;
    } keys[] = { { "qwen3.block_count", LAYERS },         { "qwen3.context_length", 64 },
                 { "qwen3.embedding_length", EMBD },      { "qwen3.feed_forward_length", FF },
                 { "qwen3.attention.head_count", HEADS }, { "qwen3.attention.head_count_kv", KV },
                 { "qwen3.attention.key_length", DIM },   { "qwen3.attention.value_length", DIM } };
    const char *path = support_tmp("model.gguf");
    struct error err = { 0 };
    struct gguf_writer *w;
    ck_ok(gguf_writer_new(&w, 32, &err), err);
    ck_ok(gguf_put_str(w, "general.architecture", "qwen3", 5, &err), err);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        ck_ok(gguf_put_u32(w, keys[i].key, keys[i].value, &err), err);
    ck_ok(gguf_put_f32(w, "qwen3.attention.layer_norm_rms_epsilon", 1e-5f, &err), err);
    if (r->key)
        ck_ok(gguf_put_str(w, r->key, "x", 1, &err), err);
    each_tensor(w, r, put_one);
    ck_ok(gguf_writer_begin(w, path, true, &err), err);
    rng_seed(&weights, 17);
    each_tensor(w, r, write_one);
    ck_ok(gguf_writer_commit(w, &err), err);
    gguf_writer_free(w);
    return path;
}

static const int32_t ids[N_IDS] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 39 };

static struct model *open_model(const struct recipe *r, bool no_mmap)
{
    struct model_options o = { .no_mmap = no_mmap };
    struct error err = { 0 };
    struct model *m;
    ck_ok(kernels_select(&o.kernels, getenv("TERNPACK_KERNELS"), &err), err);
    ck_ok(model_open(&m, make_model(r), &o, &err), err);
    return m;
}

static void refused(const struct recipe *r, int code, const char *text)
{
    struct model_options o = { 0 };
    struct error err = { 0 };
    struct model *m;
    ck_ok(kernels_select(&o.kernels, NULL, &err), err);
    ck_assert_int_eq(model_open(&m, make_model(r), &o, &err), code);
    ck_assert_ptr_null(m);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
}

START_TEST(what_cannot_be_run_is_refused)
{
    refused(&(struct recipe){ .key = "prism.hadamard.transform" }, ERROR_UNSUPPORTED, "prism.hadamard.transform");
    refused(&(struct recipe){ .q4_1_in = "blk.1.ffn_up.weight" }, ERROR_UNSUPPORTED, "blk.1.ffn_up.weight");
    refused(&(struct recipe){ .nan_in = "blk.1.attn_q_norm.weight" }, ERROR_FORMAT, "blk.1.attn_q_norm.weight");
}
END_TEST

START_TEST(a_nan_names_its_layer_and_position)
{
    struct error err = { 0 };
    struct context *c;
    float hidden[N_IDS * EMBD];
    struct model *m = open_model(&(struct recipe){ .nan_in = "blk.1.ffn_down.weight" }, false);
    ck_ok(context_open(&c, m, 32, 32, KV_F32, &err), err);
    ck_assert_int_eq(context_eval(c, ids, N_IDS, 5, hidden, &err), ERROR_FORMAT);
    ck_assert_msg(strstr(err.text, "layer 1") && strstr(err.text, "position 5"), "%s", err.text);
    context_close(c);
    model_close(m);
}
END_TEST

/* Hidden states of ids in batches of the given size; returns max difference from expected when that is given. */
static double eval(struct context *c, size_t batch, float *hidden, const float *expected)
{
    struct error err = { 0 };
    double diff = 0;
    for (size_t at = 0; at < N_IDS; at += batch)
        ck_ok(context_eval(c, ids + at, N_IDS - at < batch ? N_IDS - at : batch, 0, hidden + at * EMBD, &err), err);
    for (size_t i = 0; i < N_IDS * EMBD && expected; i++)
        if (!(fabs((double)hidden[i] - expected[i]) <= diff))
            diff = fabs((double)hidden[i] - expected[i]);
    return diff;
}

START_TEST(batches_and_caches_agree)
{
    static const struct {
        enum kv_type kv;
        double tolerance;
    } caches[] = { { KV_F32, 2e-5 }, { KV_F16, 5e-3 }, { KV_Q8_0, 0.1 } };
    float expected[N_IDS * EMBD], hidden[N_IDS * EMBD];
    struct error err = { 0 };
    struct model *m = open_model(&(struct recipe){ .head = true }, false), *read;
    struct context *c;
    ck_ok(context_open(&c, m, 32, 32, KV_F32, &err), err);
    eval(c, N_IDS, expected, NULL);
    context_close(c);
    for (size_t i = 0; i < 3; i++) {
        ck_ok(context_open(&c, m, N_IDS, 100, caches[i].kv, &err), err);
        ck_assert_uint_eq(context_batch(c), N_IDS);
        for (size_t batch = 1; batch <= 7; batch += 2) {
            context_reset(c);
            ck_assert(eval(c, batch, hidden, expected) <= caches[i].tolerance);
        }
        ck_assert_int_eq(context_eval(c, ids, 1, 0, hidden, &err), ERROR_USAGE); /* full */
        /* forget the last four, evaluate them again */
        ck_assert_int_eq(context_truncate(c, N_IDS + 1), ERROR_USAGE);
        ck_assert_int_eq(context_truncate(c, N_IDS - 4), 0);
        ck_ok(context_eval(c, ids + N_IDS - 4, 4, 3, hidden, &err), err);
        for (size_t j = 0; j < EMBD; j++)
            ck_assert(fabs((double)hidden[j] - expected[(N_IDS - 1) * EMBD + j]) <= caches[i].tolerance);
        ck_assert_uint_eq(context_position(c), N_IDS);
        context_close(c);
    }
    read = open_model(&(struct recipe){ .head = true }, true);
    ck_ok(context_open(&c, read, 32, 32, KV_F32, &err), err);
    ck_assert(eval(c, N_IDS, hidden, expected) == 0);
    const int32_t outside[] = { VOCAB, -1 };
    ck_assert_int_eq(context_eval(c, outside, 1, 0, hidden, &err), ERROR_FORMAT);
    ck_assert_int_eq(context_eval(c, outside + 1, 1, 0, hidden, &err), ERROR_FORMAT);
    context_close(c);
    model_close(read);
    model_close(m);
}
END_TEST

struct seen {
    size_t n, stop_at;
    float down[N_IDS * FF];
};

static int see(void *ctx, enum role role, int layer, const char *name, const float *x, size_t n_tokens, size_t n_in,
               struct error *err)
{
    static const enum role order[] = { ROLE_ATTN_Q,   ROLE_ATTN_K, ROLE_ATTN_V,  ROLE_ATTN_OUTPUT,
                                       ROLE_FFN_GATE, ROLE_FFN_UP, ROLE_FFN_DOWN };
    static const size_t width[] = { EMBD, EMBD, EMBD, HEADS * DIM, EMBD, EMBD, FF };
    struct seen *s = ctx;
    size_t i = s->n++;
    char expected[64];
    if (s->stop_at && s->n == s->stop_at)
        return error_set(err, ERROR_INTERRUPTED, "enough");
    if (i == 7 * LAYERS) {
        ck_assert(role == ROLE_OUTPUT && layer == -1 && n_in == EMBD && !strcmp(name, "output.weight"));
        return 0;
    }
    ck_assert(role == order[i % 7] && layer == (int)(i / 7) && n_tokens == N_IDS && n_in == width[i % 7]);
    ck_assert_str_eq(name, role_name(role, layer, expected));
    for (size_t j = 0; j < n_tokens * n_in; j++)
        ck_assert(isfinite(x[j]));
    return 0;
}

START_TEST(taps_see_each_input_in_order)
{
    struct seen s = { 0 };
    struct model_tap tap = { .input = see, .ctx = &s, .head = true };
    struct error err = { 0 };
    float hidden[N_IDS * EMBD], logits[VOCAB];
    struct model *m = open_model(&(struct recipe){ .head = true }, false);
    struct context *c;
    ck_ok(context_open(&c, m, 32, 32, KV_F32, &err), err);
    context_set_tap(c, &tap);
    ck_ok(context_eval(c, ids, N_IDS, 0, NULL, &err), err);
    ck_assert_uint_eq(s.n, 7 * LAYERS);
    context_reset(c);
    s.n = 0;
    ck_ok(context_eval(c, ids, N_IDS, N_IDS - 1, hidden, &err), err);
    ck_ok(context_logits(c, hidden, 1, logits, &err), err);
    ck_assert_uint_eq(s.n, 7 * LAYERS + 1);
    context_reset(c);
    s = (struct seen){ .stop_at = 9 };
    ck_assert_int_eq(context_eval(c, ids, N_IDS, 0, NULL, &err), ERROR_INTERRUPTED);
    ck_assert_uint_eq(s.n, 9);
    context_close(c);
    model_close(m);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("model");
    TCase *t = tcase_create("model");
    tcase_add_test(t, what_cannot_be_run_is_refused);
    tcase_add_test(t, a_nan_names_its_layer_and_position);
    tcase_add_test(t, batches_and_caches_agree);
    tcase_add_test(t, taps_see_each_input_in_order);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
