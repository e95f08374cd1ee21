/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/model/hparams.h"
#include "base/model/roles.h"
#include "tests/support/support.h"

/* A tiny model file; a test changes one thing of it. Lengths are those of the tiny model unless a field says otherwise.
 */
struct recipe {
    const char *arch;
    const char *skip_key, *skip_tensor; /* left out */
    const char *key;                    /* replaced (or added) u32 <arch>.key */
    uint32_t value;
    const char *fkey; /* replaced (or added) f32 <arch>.fkey */
    float fvalue;
    const char *skey, *svalue; /* string key of any name */
    const char *extra;         /* one more tensor, [8] */
    const char *reshape;       /* tensor that gets ne[1] + 1 */
    bool head, no_kv_count, no_key_length, no_arch;
};

enum { EMBD = 8, FF = 12, HEADS = 4, KV = 2, DIM = 4, VOCAB = 10, LAYERS = 2 };

static void key_u32(struct gguf_writer *w, const struct recipe *r, const char *suffix, uint32_t v, struct error *err)
{
    char key[128];
    bool replaced = r->key && !strcmp(r->key, suffix);
    snprintf(key, sizeof key, "%s.%s", r->arch, suffix);
    if (!r->skip_key || strcmp(r->skip_key, suffix))
        ck_ok(gguf_put_u32(w, key, replaced ? r->value : v, err), *err);
}

static void put_keys(struct gguf_writer *w, const struct recipe *r, struct error *err)
{
    char key[128];
    if (!r->no_arch)
        ck_ok(gguf_put_str(w, "general.architecture", r->arch, strlen(r->arch), err), *err);
    key_u32(w, r, "block_count", LAYERS, err);
    key_u32(w, r, "context_length", 64, err);
    key_u32(w, r, "embedding_length", EMBD, err);
    key_u32(w, r, "feed_forward_length", FF, err);
    key_u32(w, r, "attention.head_count", HEADS, err);
    if (!r->no_kv_count)
        key_u32(w, r, "attention.head_count_kv", KV, err);
    if (!r->no_key_length) {
        key_u32(w, r, "attention.key_length", DIM, err);
        key_u32(w, r, "attention.value_length", DIM, err);
    }
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", r->arch);
    if (!r->fkey || strcmp(r->fkey, "attention.layer_norm_rms_epsilon"))
        ck_ok(gguf_put_f32(w, key, 1e-5f, err), *err);
    snprintf(key, sizeof key, "%s.%s", r->arch, r->key ? r->key : "");
    if (r->key && !gguf_writer_has(w, key))
        ck_ok(gguf_put_u32(w, key, r->value, err), *err);
    snprintf(key, sizeof key, "%s.%s", r->arch, r->fkey ? r->fkey : "");
    if (r->fkey)
        ck_ok(gguf_put_f32(w, key, r->fvalue, err), *err);
    if (r->skey)
        ck_ok(gguf_put_str(w, r->skey, r->svalue, strlen(r->svalue), err), *err);
}

static uint64_t put_one(struct gguf_writer *w, const struct recipe *r, enum role role, int layer, uint64_t n_in,
                        uint64_t n_out, struct error *err)
{
    char name[64];
    role_name(role, layer, name);
    if (r->skip_tensor && !strcmp(name, r->skip_tensor))
        return 0;
    if (r->reshape && !strcmp(name, r->reshape))
        n_out++;
    ck_ok(gguf_put_tensor(w, name, BLOCK_F32, 2, (uint64_t[]){ n_in, n_out }, err), *err);
    return n_in * n_out * 4;
}

static uint64_t put_tensors(struct gguf_writer *w, const struct recipe *r, struct error *err)
{
    bool qwen = !strcmp(r->arch, "qwen3");
    int kv = r->no_kv_count ? HEADS : KV, dim = r->no_key_length ? EMBD / HEADS : DIM;
    uint64_t n = put_one(w, r, ROLE_TOKEN_EMBD, -1, EMBD, VOCAB, err);
    for (int l = 0; l < LAYERS; l++) {
        n += put_one(w, r, ROLE_ATTN_NORM, l, EMBD, 1, err);
        n += put_one(w, r, ROLE_ATTN_Q, l, EMBD, (uint64_t)(HEADS * dim), err);
        n += put_one(w, r, ROLE_ATTN_K, l, EMBD, (uint64_t)(kv * dim), err);
        n += put_one(w, r, ROLE_ATTN_V, l, EMBD, (uint64_t)(kv * dim), err);
        n += put_one(w, r, ROLE_ATTN_OUTPUT, l, (uint64_t)(HEADS * dim), EMBD, err);
        n += qwen ? put_one(w, r, ROLE_ATTN_Q_NORM, l, (uint64_t)dim, 1, err) : 0;
        n += qwen ? put_one(w, r, ROLE_ATTN_K_NORM, l, (uint64_t)dim, 1, err) : 0;
        n += put_one(w, r, ROLE_FFN_NORM, l, EMBD, 1, err);
        n += put_one(w, r, ROLE_FFN_GATE, l, EMBD, FF, err);
        n += put_one(w, r, ROLE_FFN_UP, l, EMBD, FF, err);
        n += put_one(w, r, ROLE_FFN_DOWN, l, FF, EMBD, err);
    }
    n += put_one(w, r, ROLE_OUTPUT_NORM, -1, EMBD, 1, err);
    n += r->head ? put_one(w, r, ROLE_OUTPUT, -1, EMBD, VOCAB, err) : 0;
    if (r->extra) {
        ck_ok(gguf_put_tensor(w, r->extra, BLOCK_F32, 1, (uint64_t[]){ EMBD }, err), *err);
        n += EMBD * 4;
    }
    return n;
}

static int read_recipe(const struct recipe *r, struct hparams *h, struct error *err)
{
    const char *path = support_tmp("model.gguf");
    struct gguf_writer *w;
    struct gguf g;
    ck_ok(gguf_writer_new(&w, 32, err), *err);
    put_keys(w, r, err);
    uint64_t n = put_tensors(w, r, err);
    ck_ok(gguf_writer_begin(w, path, true, err), *err);
    void *zeros = calloc(1, n);
    ck_ok(gguf_writer_data(w, zeros, n, err), *err);
    free(zeros);
    ck_ok(gguf_writer_commit(w, err), *err);
    gguf_writer_free(w);
    ck_ok(gguf_open(&g, path, 0, err), *err);
    int rc = hparams_read(h, &g, err);
    gguf_close(&g);
    return rc;
}

START_TEST(good_models)
{
    struct hparams h;
    struct error err = { 0 };
    ck_ok(read_recipe(&(struct recipe){ .arch = "llama" }, &h, &err), err);
    ck_assert(h.arch == ARCH_LLAMA && !h.rope_neox && h.tied);
    ck_assert(h.n_layer == 2 && h.n_embd == 8 && h.n_ff == 12 && h.n_head == 4 && h.n_head_kv == 2 && h.n_vocab == 10);
    ck_assert(h.head_dim == 4 && h.n_rot == 4 && h.rope_base == 10000 && h.rope_scaling == ROPE_NONE);
    ck_assert(h.rope_factor == 1 && h.rms_eps == 1e-5f && h.n_ctx_train == 64);
    ck_ok(read_recipe(&(struct recipe){ .arch = "qwen3", .head = true }, &h, &err), err);
    ck_assert(h.arch == ARCH_QWEN3 && h.rope_neox && !h.tied);
    ck_assert_str_eq(h.arch_name, "qwen3");
    ck_ok(read_recipe(&(struct recipe){ .arch = "llama", .no_kv_count = true, .no_key_length = true }, &h, &err), err);
    ck_assert(h.n_head_kv == 4 && h.head_dim == 2);
    ck_ok(read_recipe(&(struct recipe){ .arch = "llama", .key = "rope.dimension_count", .value = 2 }, &h, &err), err);
    ck_assert(h.n_rot == 2);
}
END_TEST

START_TEST(rope_scaling)
{
    struct hparams h;
    struct error err = { 0 };
    struct recipe r = { .arch = "llama",
                        .skey = "llama.rope.scaling.type",
                        .svalue = "yarn",
                        .fkey = "rope.scaling.factor",
                        .fvalue = 4,
                        .key = "rope.scaling.original_context_length",
                        .value = 16 };
    ck_ok(read_recipe(&r, &h, &err), err);
    ck_assert(h.rope_scaling == ROPE_YARN && h.rope_factor == 4 && h.rope_orig_ctx == 16);
    ck_assert(h.yarn_ext_factor == 1 && h.yarn_attn_factor == 1 && h.yarn_beta_fast == 32 && h.yarn_beta_slow == 1);
    r.svalue = "linear";
    r.key = NULL;
    ck_ok(read_recipe(&r, &h, &err), err);
    ck_assert(h.rope_scaling == ROPE_LINEAR && h.rope_factor == 4);
    r.svalue = "none";
    ck_ok(read_recipe(&r, &h, &err), err);
    ck_assert(h.rope_scaling == ROPE_NONE && h.rope_factor == 1);
    r.svalue = "banana";
    ck_assert_int_eq(read_recipe(&r, &h, &err), ERROR_UNSUPPORTED);
    ck_assert(strstr(err.text, "banana"));
    r.svalue = "yarn";
    r.fvalue = 0;
    ck_assert_int_eq(read_recipe(&r, &h, &err), ERROR_FORMAT);
    r.fkey = NULL;
    ck_assert_int_eq(read_recipe(&r, &h, &err), ERROR_FORMAT);
}
END_TEST

START_TEST(refused)
{
    static const struct {
        struct recipe r;
        int code;
        const char *part;
    } rows[] = {
        { { .arch = "gemma" }, ERROR_UNSUPPORTED, "'gemma'" },
        { { .arch = "llama2" }, ERROR_UNSUPPORTED, "'llama2'" },
        { { .arch = "llama", .no_arch = true }, ERROR_FORMAT, "general.architecture" },
        { { .arch = "llama", .skip_key = "block_count" }, ERROR_FORMAT, "llama.block_count: missing" },
        { { .arch = "llama", .skip_key = "attention.head_count" }, ERROR_FORMAT, "llama.attention.head_count" },
        { { .arch = "llama", .key = "block_count", .value = 0 }, ERROR_FORMAT, "block_count is 0" },
        { { .arch = "llama", .key = "block_count", .value = 513 }, ERROR_FORMAT, "block_count is 513" },
        { { .arch = "llama", .key = "block_count", .value = 4000000000u }, ERROR_FORMAT, "block_count is 4000000000" },
        { { .arch = "llama", .key = "block_count", .value = 1 }, ERROR_FORMAT, "blk.1." },
        { { .arch = "llama", .key = "block_count", .value = 3 }, ERROR_FORMAT, "missing tensor blk.2." },
        { { .arch = "llama", .key = "attention.head_count", .value = 0 }, ERROR_FORMAT, "head_count is 0" },
        { { .arch = "llama", .key = "attention.head_count_kv", .value = 0 }, ERROR_FORMAT, "head_count_kv is 0" },
        { { .arch = "llama", .key = "attention.head_count", .value = 5 }, ERROR_FORMAT, "no multiple" },
        { { .arch = "llama", .key = "attention.head_count", .value = 3, .no_key_length = true, .no_kv_count = true },
          ERROR_FORMAT,
          "no multiple" },
        { { .arch = "llama", .key = "attention.key_length", .value = 0 }, ERROR_FORMAT, "key_length is 0" },
        { { .arch = "llama", .key = "attention.value_length", .value = 2 }, ERROR_UNSUPPORTED, "value_length" },
        { { .arch = "llama", .key = "rope.dimension_count", .value = 3 }, ERROR_FORMAT, "even" },
        { { .arch = "llama", .key = "rope.dimension_count", .value = 0 }, ERROR_FORMAT, "dimension_count is 0" },
        { { .arch = "llama", .key = "rope.dimension_count", .value = 6 }, ERROR_FORMAT, "dimension_count is 6" },
        { { .arch = "llama", .key = "embedding_length", .value = 16 }, ERROR_FORMAT, "token_embd.weight" },
        { { .arch = "llama", .key = "embedding_length", .value = 0 }, ERROR_FORMAT, "embedding_length is 0" },
        { { .arch = "llama", .key = "feed_forward_length", .value = 13 }, ERROR_FORMAT, "ffn_gate" },
        { { .arch = "llama", .key = "context_length", .value = 0 }, ERROR_FORMAT, "context_length" },
        { { .arch = "llama", .key = "vocab_size", .value = 9 }, ERROR_FORMAT, "vocab_size" },
        { { .arch = "llama", .key = "expert_count", .value = 8 }, ERROR_UNSUPPORTED, "expert_count" },
        { { .arch = "llama", .key = "attention.sliding_window", .value = 32 }, ERROR_UNSUPPORTED, "sliding_window" },
        { { .arch = "llama", .fkey = "attention.layer_norm_rms_epsilon", .fvalue = 0 }, ERROR_FORMAT, "epsilon" },
        { { .arch = "llama", .fkey = "attention.layer_norm_rms_epsilon", .fvalue = NAN }, ERROR_FORMAT, "epsilon" },
        { { .arch = "llama", .fkey = "rope.freq_base", .fvalue = -1 }, ERROR_FORMAT, "freq_base" },
        { { .arch = "llama", .fkey = "rope.freq_base", .fvalue = INFINITY }, ERROR_FORMAT, "freq_base" },
        { { .arch = "llama", .skip_tensor = "blk.1.attn_k.weight" },
          ERROR_FORMAT,
          "missing tensor blk.1.attn_k.weight" },
        { { .arch = "llama", .skip_tensor = "token_embd.weight" }, ERROR_FORMAT, "missing tensor token_embd.weight" },
        { { .arch = "llama", .skip_tensor = "output_norm.weight" }, ERROR_FORMAT, "output_norm.weight" },
        { { .arch = "qwen3", .skip_tensor = "blk.0.attn_q_norm.weight" }, ERROR_FORMAT, "attn_q_norm" },
        { { .arch = "llama", .reshape = "blk.0.attn_v.weight" }, ERROR_FORMAT, "expected shape [8, 8], found [8, 9]" },
        { { .arch = "llama", .reshape = "output.weight", .head = true }, ERROR_FORMAT, "output.weight" },
        { { .arch = "llama", .extra = "blk.0.attn_q.bias" }, ERROR_UNSUPPORTED, "blk.0.attn_q.bias" },
        { { .arch = "llama", .extra = "blk.0.attn_q_norm.weight" }, ERROR_UNSUPPORTED, "attn_q_norm" },
        { { .arch = "llama", .extra = "blk.2.attn_norm.weight" }, ERROR_FORMAT, "layer 2" },
        { { .arch = "llama", .extra = "rope_freqs.weight" }, ERROR_FORMAT, "rope_freqs.weight: expected shape [2, 1]" },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hparams h;
        struct error err = { 0 };
        int rc = read_recipe(&rows[i].r, &h, &err);
        ck_assert_msg(rc == rows[i].code && strstr(err.text, rows[i].part), "row %u: expected %d /%s/, got %d: %s", i,
                      rows[i].code, rows[i].part, rc, err.text);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hparams");
    TCase *t = tcase_create("read");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, good_models);
    tcase_add_test(t, rope_scaling);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
