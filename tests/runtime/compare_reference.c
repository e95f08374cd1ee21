/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model against the reference.json and reference_logits.f32 of a checkpoint folder (made by transformers in float32):
 *
 *   compare_reference model MODEL.gguf DIR TOLERANCE   logits in one batch, in pieces, token by token; greedy tokens
 *   compare_reference ids DIR                          the reference's token ids as JSON, on stdout
 *   compare_reference floats A.f32 B.f32 TOLERANCE     max |a - b| <= TOLERANCE * max |b|
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/mem.h"
#include "runtime/model.h"

struct reference {
    int32_t *ids, *greedy;
    size_t n, n_greedy, n_prompt; /* greedy tokens follow the first n_prompt ids */
    float *logits;                /* [n][n_vocab] */
    size_t n_logits;
};

static int fail(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

static int32_t *numbers(const struct json *list, size_t max, size_t *n)
{
    *n = json_count(list) < max ? json_count(list) : max;
    int32_t *ids = calloc(*n + 1, sizeof *ids);
    size_t i = 0;
    for (const struct json *v = json_first(list); v && i < *n; v = json_next(v)) {
        uint64_t id = 0;
        json_u64(v, &id);
        ids[i++] = (int32_t)id;
    }
    return ids;
}

static int read_reference(struct reference *r, const char *dir, struct error *err)
{
    char *path = file_join(dir, "reference.json", err), *logits = file_join(dir, "reference_logits.f32", err);
    struct json_doc *doc = NULL;
    size_t bytes = 0;
    int rc = json_parse_file(&doc, path, 1 << 24, 16, err);
    if (!rc && !(rc = file_read_all(logits, 1 << 28, (char **)&r->logits, &bytes, err))) {
        const struct json *root = json_root(doc), *garden = json_get(root, "reference_logits");
        uint64_t rows = 0;
        r->n_logits = bytes / sizeof(float);
        json_u64(json_first(json_get(garden ? garden : root, garden ? "shape" : "logits_shape")), &rows);
        r->ids = numbers(json_get(root, garden ? "test_token_ids_first_2000" : "input_ids"), rows, &r->n);
        const struct json *greedy = garden ? json_get(json_get(root, "greedy_48_after_first_16_test_tokens"), "ids")
                                           : json_get(root, "greedy_continuation_16");
        r->greedy = numbers(greedy, 1 << 20, &r->n_greedy);
        r->n_prompt = garden ? 16 : r->n;
        if (!rows || r->n != rows || !r->n_greedy)
            rc = error_set(err, ERROR_FORMAT, "%s: not the reference this test expects", path);
    }
    json_free(doc);
    mem_free(path);
    mem_free(logits);
    return rc;
}

static void free_reference(struct reference *r)
{
    free(r->ids);
    free(r->greedy);
    mem_free(r->logits);
}

static int compare_floats(const char *what, const float *a, const float *b, size_t n, double tolerance)
{
    double diff = 0, max = 0;
    for (size_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - b[i]);
        if (!(d <= diff)) /* keeps a NaN */
            diff = d;
        max = fabs(b[i]) > max ? fabs(b[i]) : max;
    }
    printf("%s: %zu values, max difference %.3g of the largest\n", what, n, diff / max);
    return n && diff <= tolerance * max ? 0 : 1;
}

/* The whole input in batches of `batch`. */
static int compare_batches(struct context *c, const struct model *m, const struct reference *r, size_t batch,
                           double tolerance, struct error *err)
{
    size_t n_embd = model_hparams(m)->n_embd, n_vocab = model_hparams(m)->n_vocab;
    float *hidden = malloc(r->n * n_embd * sizeof *hidden), *logits = malloc(r->n * n_vocab * sizeof *logits);
    char what[64];
    int rc =
        r->n * n_vocab == r->n_logits ? 0 : error_set(err, ERROR_MISMATCH, "vocabulary differs from the reference's");
    context_reset(c);
    for (size_t at = 0; at < r->n && !rc; at += batch) {
        size_t n = r->n - at < batch ? r->n - at : batch;
        rc = context_eval(c, r->ids + at, n, 0, hidden + at * n_embd, err);
        if (!rc)
            rc = context_logits(c, hidden + at * n_embd, n, logits + at * n_vocab, err);
    }
    snprintf(what, sizeof what, "batches of %zu", batch);
    if (!rc && (rc = compare_floats(what, logits, r->logits, r->n_logits, tolerance)))
        snprintf(err->text, sizeof err->text, "logits differ");
    free(hidden);
    free(logits);
    return rc;
}

static int compare_greedy(struct context *c, const struct model *m, const struct reference *r, struct error *err)
{
    size_t n_vocab = model_hparams(m)->n_vocab, best = 0;
    float *hidden = malloc(model_hparams(m)->n_embd * sizeof *hidden), *logits = malloc(n_vocab * sizeof *logits);
    context_reset(c);
    int rc = context_eval(c, r->ids, r->n_prompt, r->n_prompt - 1, hidden, err);
    for (size_t i = 0; i < r->n_greedy && !rc; i++) {
        if ((rc = context_logits(c, hidden, 1, logits, err)))
            break;
        best = 0;
        for (size_t v = 1; v < n_vocab; v++)
            best = logits[v] > logits[best] ? v : best;
        int32_t id = (int32_t)best;
        if (id != r->greedy[i])
            rc = error_set(err, ERROR_MISMATCH, "greedy token %zu: %d, the reference has %d", i, id, r->greedy[i]);
        else
            rc = context_eval(c, &id, 1, 0, hidden, err);
    }
    if (!rc)
        printf("%zu greedy tokens equal\n", r->n_greedy);
    free(hidden);
    free(logits);
    return rc;
}

static int compare_model(const char *path, const char *dir, double tolerance)
{
    struct error err = { 0 };
    struct reference r = { 0 };
    struct model_options o = { 0 };
    struct model *m = NULL;
    struct context *c = NULL;
    int rc;
    if ((rc = kernels_select(&o.kernels, getenv("TERNPACK_KERNELS"), &err)) || (rc = read_reference(&r, dir, &err)) ||
        (rc = pool_open(&o.pool, 2, &err)) || (rc = model_open(&m, path, &o, &err)) ||
        (rc = context_open(&c, m, (uint32_t)(r.n + r.n_greedy), 64, KV_F32, &err)) ||
        (rc = compare_batches(c, m, &r, 64, tolerance, &err)) || (rc = compare_batches(c, m, &r, 7, tolerance, &err)) ||
        (rc = compare_batches(c, m, &r, 1, tolerance, &err)))
        fail(&err);
    if (!rc && (rc = compare_greedy(c, m, &r, &err)))
        fail(&err);
    context_close(c);
    model_close(m);
    pool_close(o.pool);
    free_reference(&r);
    return rc != 0;
}

static int print_ids(const char *dir)
{
    struct error err = { 0 };
    struct reference r = { 0 };
    int rc = read_reference(&r, dir, &err);
    for (size_t i = 0; i < r.n && !rc; i++)
        printf("%s%d", i ? ", " : "[", r.ids[i]);
    puts("]");
    free_reference(&r);
    return rc ? fail(&err) : 0;
}

static int compare_files(const char *a, const char *b, double tolerance)
{
    struct error err = { 0 };
    char *x = NULL, *y = NULL;
    size_t n_x = 0, n_y = 0;
    int rc = file_read_all(a, 1 << 28, &x, &n_x, &err);
    if (!rc)
        rc = file_read_all(b, 1 << 28, &y, &n_y, &err);
    if (!rc && n_x != n_y)
        rc = error_set(&err, ERROR_MISMATCH, "%s has %zu bytes, %s %zu", a, n_x, b, n_y);
    if (rc)
        fail(&err);
    else
        rc = compare_floats(a, (const float *)(const void *)x, (const float *)(const void *)y, n_x / sizeof(float),
                            tolerance);
    mem_free(x);
    mem_free(y);
    return rc != 0;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "model"))
        return compare_model(argv[2], argv[3], atof(argv[4]));
    if (argc == 3 && !strcmp(argv[1], "ids"))
        return print_ids(argv[2]);
    if (argc == 5 && !strcmp(argv[1], "floats"))
        return compare_files(argv[2], argv[3], atof(argv[4]));
    fprintf(stderr, "usage: compare_reference model|ids|floats ...\n");
    return 2;
}
