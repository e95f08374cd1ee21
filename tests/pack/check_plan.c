/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: types, sizes, overrides, ragged rows, what is refused, what is recognised as ternary, statistics. */
#include <math.h>
#include <string.h>

#include "base/format/stats.h"
#include "pack/plan.h"
#include "pack/threshold.h"
#include "tests/pack/model.h"
#include "tests/support/support.h"

#define Q "blk.0.attn_q.weight"
#define DOWN "blk.0.ffn_down.weight"

static const struct model_tensor plain[] = {
    { .name = "token_embd.weight", .type = BLOCK_F16, .n_cols = 256, .n_rows = 10 },
    { .name = "blk.0.attn_norm.weight", .type = BLOCK_F32, .n_cols = 256 },
    { .name = Q, .type = BLOCK_F16, .n_cols = 256, .n_rows = 4 },
    { .name = DOWN, .type = BLOCK_BF16, .n_cols = 512, .n_rows = 3 },
    { .name = "blk.0.mystery.weight", .type = BLOCK_F16, .n_cols = 256, .n_rows = 2 },
    { .name = "output.weight", .type = BLOCK_F16, .n_cols = 256, .n_rows = 10 },
    { 0 },
};

struct fixture {
    struct gguf g;
    struct pack_options o;
    struct plan p;
    struct error err;
};

/* "tern-pack model -o out args...", up to a NULL. The model is opened and planned; returns the first failure. */
static int open_plan(struct fixture *f, const struct model_tensor *model, const char *extra_key,
                     const char *const *args)
{
    const char *argv[24] = { "tern-pack", support_tmp("m.gguf"), "-o", support_tmp("out.gguf") };
    int argc = 4;
    while (args && *args)
        argv[argc++] = *args++;
    *f = (struct fixture){ .g = { .file = FILE_INIT } };
    int rc = model_write(argv[1], model, extra_key, 1, &f->err);
    if (rc == 0)
        rc = options_parse(&f->o, argc, (char **)argv, &f->err);
    if (rc == 0)
        rc = gguf_open(&f->g, f->o.model, 0, &f->err);
    if (rc == 0)
        rc = plan_open(&f->p, &f->g, &f->o, &f->err);
    if (rc == 0)
        rc = plan_scan(&f->p, NULL, &f->err);
    return rc;
}

static void close_plan(struct fixture *f)
{
    plan_free(&f->p);
    gguf_close(&f->g);
    options_free(&f->o);
}

#define ARGS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const struct plan_tensor *find(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->p.n; i++)
        if (strcmp(f->p.tensors[i].src->name, name) == 0)
            return &f->p.tensors[i];
    ck_abort_msg("no tensor %s in the plan", name);
    return NULL;
}

static void expect_type(const struct fixture *f, const char *name, const char *type, const char *method)
{
    ck_assert_str_eq(find(f, name)->type->name, type);
    ck_assert_str_eq(find(f, name)->method, method);
}

START_TEST(defaults)
{
    struct fixture f;
    ck_ok(open_plan(&f, plain, NULL, NULL), f.err);
    expect_type(&f, "token_embd.weight", "Q8_0", "q8_0");
    expect_type(&f, "blk.0.attn_norm.weight", "F32", "copy");
    expect_type(&f, Q, "Q2_0", "optimal");
    expect_type(&f, DOWN, "Q2_0", "optimal");
    expect_type(&f, "blk.0.mystery.weight", "F16", "copy");
    expect_type(&f, "output.weight", "Q8_0", "q8_0");
    ck_assert_uint_eq(find(&f, Q)->bytes, 4 * 256 / 64 * 18);
    ck_assert_uint_eq(find(&f, "token_embd.weight")->bytes, 10 * 256 / 32 * 34);
    ck_assert(fabs(plan_bits_per_weight(find(&f, Q)) - 2.25) <= 1e-12);
    ck_assert_uint_eq(f.p.n_ternary, 2);
    ck_assert_int_eq(find(&f, Q)->keep, THRESHOLD_FREE);
    ck_assert(strstr(f.p.warnings.data, "2 of 2 linear tensors are ordinary"));
    close_plan(&f);
}
END_TEST

START_TEST(head_types)
{
    struct fixture f;
    ck_ok(open_plan(&f, plain, NULL, ARGS("--embed-type", "F16", "--output-type=Q8_0", "--type", "tq1_0")), f.err);
    expect_type(&f, "token_embd.weight", "F16", "copy");
    expect_type(&f, "output.weight", "Q8_0", "q8_0");
    expect_type(&f, DOWN, "TQ1_0", "optimal");
    ck_assert_uint_eq(find(&f, DOWN)->bytes, 3 * 2 * 54);
    close_plan(&f);
}
END_TEST

/* First match wins; a rule equal to the default counts as honoured; one that decides nothing is a warning.
 */
START_TEST(overrides)
{
    struct fixture f;
    ck_ok(open_plan(&f, plain, NULL,
                    ARGS("--override", "attn_q=Q2_0", "--override", "^blk\\.0\\.(attn|ffn)=PTQ1_0", "--override",
                         "mystery|output=F32", "--override", "norm=F16", "--override", "blk\\.7\\.=Q8_0")),
          f.err);
    expect_type(&f, Q, "Q2_0", "optimal");
    expect_type(&f, DOWN, "PTQ1_0", "optimal");
    expect_type(&f, "blk.0.mystery.weight", "F32", "f32");
    expect_type(&f, "output.weight", "F32", "f32");
    expect_type(&f, "blk.0.attn_norm.weight", "F32", "copy");
    ck_assert(!strstr(f.p.warnings.data, "attn_q=Q2_0"));
    ck_assert(strstr(f.p.warnings.data, "'norm=F16' decides no matrix"));
    ck_assert(strstr(f.p.warnings.data, "'blk\\.7\\.=Q8_0' decides no matrix"));
    close_plan(&f);
}
END_TEST

START_TEST(usage)
{
    static const struct {
        const char *args[4], *text;
    } cases[] = {
        { { "--override", "attn_q" }, "REGEX=TYPE" },
        { { "--override", "=F16" }, "REGEX=TYPE" },
        { { "--override", "a=Q4_K" }, "unknown type" },
        { { "--override", "a=Q4_0" }, "unknown type" },
        { { "--override", "(=F16" }, "--override" },
        { { "--group-size", "128" }, "Q2_0 has 64" },
        { { "--method", "weighted" }, "--stats" },
        { { "--method", "optimal", "--stats", "x" }, "does not use" },
        { { "--sparsity-ratio", "1" }, "below 1" },
        { { "--sparsity-ratio", "0.999" }, "leave no weight" },
        { { "--zeros-per-group", "64" }, "leave no weight" },
        { { "--zeros-per-group", "3", "--sparsity-ratio=0.5" }, "exclude" },
        { { "--lossless", "require", "--stats=x" }, "excludes --stats" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture f;
        int rc = open_plan(&f, plain, NULL, cases[i].args);
        ck_assert_msg(rc == ERROR_USAGE, "case %zu: %d (%s)", i, rc, f.err.text);
        ck_assert_msg(strstr(f.err.text, cases[i].text), "case %zu: %s", i, f.err.text);
        close_plan(&f);
    }
}
END_TEST

START_TEST(kept_counts)
{
    struct fixture f;
    ck_ok(open_plan(&f, plain, NULL, ARGS("--sparsity-ratio", "0.33", "--override", "ffn_down=TQ2_0")), f.err);
    ck_assert_int_eq(find(&f, Q)->keep, 64 - 21);
    ck_assert_int_eq(find(&f, DOWN)->keep, 256 - 84);
    close_plan(&f);
    ck_ok(open_plan(&f, plain, NULL, ARGS("--zeros-per-group=0")), f.err);
    ck_assert_int_eq(find(&f, Q)->keep, 64);
    close_plan(&f);
}
END_TEST

static const struct model_tensor ragged[] = {
    { .name = "token_embd.weight", .type = BLOCK_F16, .n_cols = 288, .n_rows = 10 },
    { .name = Q, .type = BLOCK_F16, .n_cols = 288, .n_rows = 4 },
    { .name = DOWN, .type = BLOCK_F16, .n_cols = 512, .n_rows = 3 },
    { .name = "blk.1.attn_q.weight", .type = BLOCK_F16, .n_cols = 300, .n_rows = 4 },
    { 0 },
};

/* All offenders at once, with row length and remainder, before any work. */
START_TEST(ragged_rows)
{
    struct fixture f;
    ck_assert_int_eq(open_plan(&f, ragged, NULL, NULL), ERROR_UNSUPPORTED);
    ck_assert_str_eq(f.p.offenders.data,
                     Q ": row of 288 weights = 4 blocks of 64 (Q2_0) and 32 left over\n"
                       "blk.1.attn_q.weight: row of 300 weights = 4 blocks of 64 (Q2_0) and 44 left over\n");
    ck_assert(strstr(f.err.text, "2 tensors"));
    close_plan(&f);

    ck_ok(open_plan(&f, ragged, NULL, ARGS("--on-ragged", "f16")), f.err);
    expect_type(&f, Q, "F16", "copy");
    expect_type(&f, "blk.1.attn_q.weight", "F16", "copy");
    expect_type(&f, DOWN, "Q2_0", "optimal");
    ck_assert(strstr(f.p.warnings.data, "2 tensors with rows that are no whole number of blocks become F16"));
    close_plan(&f);

    /* 32 divides 288 and not 300 */
    ck_assert_int_eq(open_plan(&f, ragged, NULL, ARGS("--on-ragged", "q8_0")), ERROR_UNSUPPORTED);
    ck_assert(strstr(f.err.text, "1 tensor with") && strstr(f.err.text, "blk.1.attn_q.weight"));
    close_plan(&f);
    ck_ok(open_plan(&f, ragged, NULL, ARGS("--on-ragged", "q8_0", "--override", "blk\\.1\\.attn=F16")), f.err);
    expect_type(&f, Q, "Q8_0", "q8_0");
    close_plan(&f);

    /* an override is no way round the block */
    ck_assert_int_eq(open_plan(&f, plain, NULL, ARGS("--override", "attn_q=TQ1_0", "--override", "ffn_down=TQ1_0")), 0);
    close_plan(&f);
    ck_assert_int_eq(open_plan(&f, ragged, NULL, ARGS("--override", "attn_q=F16", "--override", "embd=TQ1_0")),
                     ERROR_UNSUPPORTED);
    ck_assert(strstr(f.p.offenders.data, "token_embd.weight: row of 288 weights = 1 blocks of 256 (TQ1_0) and 32"));
    close_plan(&f);
}
END_TEST

START_TEST(refused)
{
    static const struct model_tensor nothing[] = {
        { .name = "mystery.weight", .type = BLOCK_F16, .n_cols = 256, .n_rows = 2 },
        { 0 },
    };
    struct fixture f;
    ck_assert_int_eq(open_plan(&f, nothing, NULL, NULL), ERROR_UNSUPPORTED);
    ck_assert(strstr(f.err.text, "no tensor would become ternary"));
    close_plan(&f);
    ck_assert_int_eq(open_plan(&f, plain, "prism.hadamard.transform", NULL), ERROR_UNSUPPORTED);
    ck_assert(strstr(f.err.text, "prism.hadamard.transform"));
    close_plan(&f);
    ck_assert_int_eq(open_plan(&f, plain, "general.type", NULL), ERROR_UNSUPPORTED);
    ck_assert(strstr(f.err.text, "general.type"));
    close_plan(&f);
}
END_TEST

static const struct model_tensor trained[] = {
    { .name = Q, .type = BLOCK_F16, .n_cols = 256, .n_rows = 40, .values = MODEL_TERNARY, .group = 128 },
    { .name = "blk.0.attn_k.weight",
      .type = BLOCK_F16,
      .n_cols = 256,
      .n_rows = 40,
      .values = MODEL_TERNARY,
      .group = 256 },
    { .name = "blk.0.attn_v.weight",
      .type = BLOCK_F32,
      .n_cols = 256,
      .n_rows = 40,
      .values = MODEL_TERNARY,
      .group = 32 },
    { .name = DOWN, .type = BLOCK_BF16, .n_cols = 256, .n_rows = 40 },
    { 0 },
};

START_TEST(ternary_sources)
{
    struct fixture f;
    ck_ok(open_plan(&f, trained, NULL, ARGS("--type", "PQ2_0")), f.err);
    expect_type(&f, Q, "PQ2_0", "exact");
    ck_assert_str_eq(find(&f, Q)->source_group, "128");
    expect_type(&f, "blk.0.attn_k.weight", "PQ2_0", "exact");
    ck_assert_str_eq(find(&f, "blk.0.attn_k.weight")->source_group, "row");
    expect_type(&f, "blk.0.attn_v.weight", "PQ2_0", "optimal");
    ck_assert_str_eq(find(&f, "blk.0.attn_v.weight")->source_group, "32");
    ck_assert(find(&f, DOWN)->source_group == NULL);
    ck_assert_uint_eq(f.p.n_exact, 2);
    ck_assert(strstr(f.p.warnings.data, "1 tensor is ternary already, but not with one fp16 scale"));
    ck_assert(strstr(f.p.warnings.data, "1 of 4 linear tensors are ordinary"));
    close_plan(&f);
    ck_ok(open_plan(&f, trained, NULL, ARGS("--type", "TQ2_0", "--zeros-per-group=100")), f.err);
    ck_assert(strstr(f.p.warnings.data, "1 of 4 linear tensors are ternary already and keep the zeros they have"));
    ck_assert_uint_eq(f.p.n_exact, 1);
    close_plan(&f);
    ck_assert_int_eq(open_plan(&f, trained, NULL, ARGS("--type", "PQ2_0", "--lossless=require")), ERROR_MISMATCH);
    ck_assert(strstr(f.err.text, "attn_v") && strstr(f.err.text, "one scale per 32"));
    close_plan(&f);
}
END_TEST

static void add_stats(struct stats *s, const char *name, uint64_t n_in, float value, float count)
{
    struct stats_entry *e;
    ck_assert_int_eq(stats_add(s, name, n_in, 1, &e, NULL), 0);
    for (uint64_t i = 0; i < n_in; i++)
        e->sum2[i] = value * (float)(i + 1);
    e->counts[0] = count;
}

START_TEST(statistics)
{
    struct fixture f;
    struct stats s = { 0 };
    ck_ok(open_plan(&f, plain, NULL, ARGS("--stats", "none")), f.err);
    add_stats(&s, Q, 256, 2, 4);
    ck_assert_int_eq(plan_stats(&f.p, &s, &f.err), ERROR_MISSING); /* nothing for ffn_down */
    ck_assert(strstr(f.err.text, DOWN));
    add_stats(&s, DOWN, 512, 1, 0); /* seen by no token */
    add_stats(&s, "output.weight", 256, 1, 1);
    ck_ok(plan_stats(&f.p, &s, &f.err), f.err);
    ck_assert(find(&f, Q)->importance[2] == 1.5f);
    expect_type(&f, Q, "Q2_0", "weighted");
    ck_assert(find(&f, DOWN)->importance == NULL);
    expect_type(&f, DOWN, "Q2_0", "optimal");
    ck_assert(strstr(f.p.warnings.data, "statistics for " DOWN " are all zero"));
    add_stats(&s, "blk.9.attn_q.weight", 256, 1, 1);
    ck_assert_int_eq(plan_stats(&f.p, &s, &f.err), ERROR_MISMATCH);
    ck_assert(strstr(f.err.text, "blk.9.attn_q.weight"));
    stats_free(&s);
    add_stats(&s, Q, 512, 2, 4);
    ck_assert_int_eq(plan_stats(&f.p, &s, &f.err), ERROR_MISMATCH);
    ck_assert(strstr(f.err.text, "512 inputs, the tensor has 256"));
    stats_free(&s);
    close_plan(&f);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("plan");
    TCase *t = tcase_create("plan");
    suite_add_tcase(s, t);
    tcase_add_test(t, defaults);
    tcase_add_test(t, head_types);
    tcase_add_test(t, overrides);
    tcase_add_test(t, usage);
    tcase_add_test(t, kept_counts);
    tcase_add_test(t, ragged_rows);
    tcase_add_test(t, refused);
    tcase_add_test(t, ternary_sources);
    tcase_add_test(t, statistics);
    return s;
}

int main(void)
{
    return support_main(suite);
}
