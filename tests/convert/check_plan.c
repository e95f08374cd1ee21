/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/format/block.h"
#include "convert/plan.h"
#include "tests/convert/folder.h"
#include "tests/support/support.h"

enum { ROOM = FOLDER_N + 4 };

struct bench { /* a folder being changed, and what plan_make says of it */
    struct folder_tensor t[ROOM];
    size_t n;
    const char *config;
    struct config c;
    struct st_model m;
    struct convert_options o;
    struct extras x;
    struct plan p;
    struct notes notes;
    struct error err;
};

static void setup(struct bench *b)
{
    memset(b, 0, sizeof *b);
    memcpy(b->t, folder_tensors, sizeof folder_tensors);
    b->n = FOLDER_N;
    b->config = folder_config;
}

static int make(struct bench *b)
{
    const char *dir = support_tmp("folder");
    folder_write(dir, "model.safetensors", b->config, b->t, b->n);
    folder_parse(&b->c, b->config);
    ck_ok(st_open_dir(&b->m, dir, &b->err), b->err);
    int rc = extras_open(&b->x, &b->o.allow_extra, &b->err);
    return rc ? rc : plan_make(&b->p, &b->c, &b->m, &b->o, &b->x, &b->notes, &b->err);
}

static void teardown(struct bench *b)
{
    plan_free(&b->p);
    st_close(&b->m);
    config_close(&b->c);
    notes_free(&b->notes);
    extras_free(&b->x);
}

static void refuse(struct bench *b, int code, const char *words)
{
    int rc = make(b);
    ck_assert_msg(rc == code && strstr(b->err.text, words), "code %d: %s (expected %d with \"%s\")", rc, b->err.text,
                  code, words);
    ck_assert_ptr_null(b->p.tensors);
    teardown(b);
}

static bool noted(const struct bench *b, bool warning, const char *words)
{
    for (size_t i = 0; i < b->notes.n; i++)
        if (b->notes.items[i].warning == warning && strstr(b->notes.items[i].text, words))
            return true;
    return false;
}

START_TEST(order_types_and_shapes)
{
    static const char *const want[] = {
        "token_embd.weight",   "blk.0.attn_norm.weight",   "blk.0.attn_q.weight",   "blk.0.attn_k.weight",
        "blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_norm.weight", "blk.0.ffn_gate.weight",
        "blk.0.ffn_up.weight", "blk.0.ffn_down.weight",    "output_norm.weight",
    };
    struct bench b;
    setup(&b);
    ck_ok(make(&b), b.err);
    ck_assert_uint_eq(b.p.n_tensors, FOLDER_N);
    for (size_t i = 0; i < FOLDER_N; i++) {
        const struct plan_tensor *t = &b.p.tensors[i];
        ck_assert_str_eq(t->name, want[i]);
        ck_assert_uint_eq(t->type, t->n_dims > 1 ? BLOCK_F16 : BLOCK_F32);
        ck_assert_uint_eq(t->permute_head, t->role == ROLE_ATTN_Q || t->role == ROLE_ATTN_K ? 4 : 0);
    }
    ck_assert(b.p.tensors[3].ne[0] == 8 && b.p.tensors[3].ne[1] == 4);
    ck_assert_uint_eq(b.p.n_params, 472);
    ck_assert_uint_eq(b.p.file_type, block_info(BLOCK_F16)->file_type);
    ck_assert(b.p.tied);
    teardown(&b);
}
END_TEST

START_TEST(dtype_option)
{
    static const uint32_t types[] = { BLOCK_F16, BLOCK_F16, BLOCK_BF16, BLOCK_F32 }; /* auto, f16, bf16, f32 */
    for (int d = DTYPE_AUTO; d <= DTYPE_F32; d++) {
        struct bench b;
        setup(&b);
        b.o.dtype = d;
        ck_ok(make(&b), b.err);
        ck_assert_uint_eq(b.p.tensors[0].type, types[d]);
        ck_assert_uint_eq(b.p.tensors[1].type, BLOCK_F32);
        ck_assert_uint_eq(b.p.file_type, block_info(types[d])->file_type);
        teardown(&b);
    }
}
END_TEST

START_TEST(auto_keeps_mixed_types)
{
    struct bench b;
    setup(&b);
    b.t[0].dtype = "F32";
    b.t[2].dtype = "BF16";
    ck_ok(make(&b), b.err);
    ck_assert_uint_eq(b.p.tensors[0].type, BLOCK_F32);
    ck_assert_uint_eq(b.p.tensors[2].type, BLOCK_BF16);
    ck_assert_uint_eq(b.p.file_type, block_info(BLOCK_F16)->file_type);
    teardown(&b);
}
END_TEST

START_TEST(shapes_and_types_are_checked)
{
    struct bench b;
    setup(&b);
    b.t[3].rows = 8;
    refuse(&b, ERROR_MISMATCH, "self_attn.k_proj.weight: shape [8, 8], expected [4, 8]");
    setup(&b);
    b.t[0].rows = 9;
    refuse(&b, ERROR_MISMATCH, "vocab_size");
    setup(&b);
    b.t[1].rows = 1, b.t[1].cols = 8;
    refuse(&b, ERROR_MISMATCH, "shape [1, 8], expected [8]");
    setup(&b);
    b.t[0].dtype = "I64";
    refuse(&b, ERROR_UNSUPPORTED, "dtype I64");
}
END_TEST

START_TEST(missing_and_unknown_tensors)
{
    struct bench b;
    setup(&b);
    b.t[8] = b.t[--b.n];
    b.t[7] = b.t[--b.n];
    refuse(&b, ERROR_MISSING, "2 of 11 needed tensors are missing, the first is model.layers.0.mlp.gate_proj.weight");
    setup(&b);
    b.t[8].name = "model.layers.0.mlp.up_prj.weight";
    refuse(&b, ERROR_UNSUPPORTED, "nearest known name: model.layers.0.mlp.up_proj.weight");
    setup(&b);
    b.t[b.n++] = (struct folder_tensor){ "model.layers.1.mlp.up_proj.weight", "F16", 8, 8, NULL };
    refuse(&b, ERROR_MISMATCH, "num_hidden_layers is 1");
    setup(&b);
    b.n = 0;
    refuse(&b, ERROR_MISSING, "nothing to convert");
    setup(&b);
    b.n = 1;
    b.t[0].name = "w";
    refuse(&b, ERROR_UNSUPPORTED, "none of the 1 tensors");
    setup(&b);
    b.t[b.n++] = (struct folder_tensor){ "model.layers.0.mlp.up_proj.weight_packed", "F16", 8, 8, NULL };
    refuse(&b, ERROR_UNSUPPORTED, "already quantised (compressed-tensors)");
}
END_TEST

START_TEST(prefix_variants)
{
    struct bench b;
    setup(&b);
    for (size_t i = 0; i < b.n; i++)
        b.t[i].name += strlen("model.");
    ck_ok(make(&b), b.err);
    ck_assert_uint_eq(b.p.n_tensors, FOLDER_N);
    ck_assert(noted(&b, false, "instead of"));
    teardown(&b);
    setup(&b);
    b.t[10].name = "norm.weight"; /* one name without the prefix that the others have */
    refuse(&b, ERROR_UNSUPPORTED, "nearest known name: model.norm.weight");
}
END_TEST

START_TEST(tied_heads)
{
    static uint8_t embd[128], other[128];
    struct bench b;
    for (size_t i = 0; i < sizeof embd; i++)
        embd[i] = other[i] = (uint8_t)(i & 0x3f);
    other[77] ^= 1;

    setup(&b); /* equal copy */
    b.t[0].data = embd;
    b.t[b.n++] = (struct folder_tensor){ "lm_head.weight", "F16", 8, 8, embd };
    ck_ok(make(&b), b.err);
    ck_assert(b.p.tied && b.p.n_tensors == FOLDER_N && b.p.n_dropped == 1);
    ck_assert(noted(&b, false, "equal to the tied embedding"));
    teardown(&b);

    setup(&b); /* one bit differs */
    b.t[0].data = embd;
    b.t[b.n++] = (struct folder_tensor){ "lm_head.weight", "F16", 8, 8, other };
    ck_ok(make(&b), b.err);
    ck_assert(!b.p.tied && b.p.n_tensors == FOLDER_N + 1);
    ck_assert_str_eq(b.p.tensors[FOLDER_N].name, "output.weight");
    ck_assert(noted(&b, true, "differs from the embedding"));
    teardown(&b);
}
END_TEST

START_TEST(heads_without_a_word_on_tying)
{
    static char unsaid[1024], untied[1024];
    struct bench b;
    const char *flag = strstr(folder_config, ",\"tie_word_embeddings\"");
    snprintf(unsaid, sizeof unsaid, "%.*s}", (int)(flag - folder_config), folder_config);
    snprintf(untied, sizeof untied, "%.*s,\"tie_word_embeddings\":false}", (int)(flag - folder_config), folder_config);

    setup(&b);
    b.config = unsaid;
    ck_ok(make(&b), b.err);
    ck_assert(b.p.tied && noted(&b, false, "the head is tied"));
    teardown(&b);
    setup(&b);
    b.config = unsaid;
    b.t[b.n++] = (struct folder_tensor){ "lm_head.weight", "F16", 8, 8, NULL };
    ck_ok(make(&b), b.err);
    ck_assert(!b.p.tied && b.p.n_tensors == FOLDER_N + 1);
    teardown(&b);
    setup(&b);
    b.config = untied;
    refuse(&b, ERROR_MISSING, "lm_head.weight is missing");
}
END_TEST

START_TEST(extras)
{
    static const char *patterns[] = { "^vision_", "^never$" };
    struct bench b;
    setup(&b);
    b.t[b.n++] = (struct folder_tensor){ "vision_tower.0.weight", "I64", 3, 3, NULL };
    b.t[b.n++] = (struct folder_tensor){ "model.layers.0.self_attn.rotary_emb.inv_freq", "F32", 2, 0, NULL };
    b.o.allow_extra.items = patterns;
    b.o.allow_extra.n = 2;
    ck_ok(make(&b), b.err);
    ck_assert_uint_eq(b.p.n_tensors, FOLDER_N);
    ck_assert_uint_eq(b.p.n_dropped, 2);
    ck_assert(noted(&b, false, "left out vision_tower.0.weight") && noted(&b, false, "inv_freq"));
    ck_assert(noted(&b, true, "--allow-extra=^never$ matches no tensor"));
    teardown(&b);

    setup(&b);
    b.t[b.n++] = (struct folder_tensor){ "vision_tower.0.weight", "F16", 3, 3, NULL };
    refuse(&b, ERROR_UNSUPPORTED, "vision_tower.0.weight");
    setup(&b);
    patterns[0] = "(";
    b.o.allow_extra.items = patterns;
    b.o.allow_extra.n = 1;
    refuse(&b, ERROR_USAGE, "--allow-extra=(");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("plan");
    TCase *c = tcase_create("plan");
    suite_add_tcase(s, c);
    tcase_add_test(c, order_types_and_shapes);
    tcase_add_test(c, dtype_option);
    tcase_add_test(c, auto_keeps_mixed_types);
    tcase_add_test(c, shapes_and_types_are_checked);
    tcase_add_test(c, missing_and_unknown_tensors);
    tcase_add_test(c, prefix_variants);
    tcase_add_test(c, tied_heads);
    tcase_add_test(c, heads_without_a_word_on_tying);
    tcase_add_test(c, extras);
    return s;
}

int main(void)
{
    return support_main(suite);
}
