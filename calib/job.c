/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/json.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The output is none of the inputs, and can be written. */
static int check_output(const struct calib_options *o, uint64_t planned, struct error *err)
{
    if (!o->output) /* a dry run without one */
        return 0;
    const char **inputs = mem_zalloc(o->files.n + 1, sizeof *inputs, "names", err);
    if (!inputs)
        return ERROR_NOMEM;
    for (size_t i = 0; i < o->files.n; i++)
        inputs[i] = o->files.items[i];
    inputs[o->files.n] = o->model;
    int rc = file_not_same(o->output, inputs, o->files.n + 1, err);
    mem_free(inputs);
    return rc ? rc : file_check_output(o->output, planned, o->common.force, err);
}

/* Bytes of the file that will be written: values, and generously the header. */
static uint64_t planned_bytes(const struct collect *c)
{
    uint64_t n = 4096;
    for (size_t i = 0; i < c->n_slots; i++)
        n += c->slots[i].n_in * 4 + 512;
    return n;
}

static int plan_chunks(struct job *j, struct error *err)
{
    const struct calib_options *o = j->options;
    uint32_t trained = model_hparams(j->model)->n_ctx_train;
    if (o->n_ctx > trained)
        return error_set(err, ERROR_USAGE, "--ctx %" PRIu64 ": the model was made for at most %" PRIu32 " tokens",
                         o->n_ctx, trained);
    j->add_bos = tokenizer_add_bos(j->tokenizer) && tokenizer_bos(j->tokenizer) >= 0;
    int rc = corpus_tokens(&j->corpus, j->tokenizer, o->parse_special, o->samples * o->n_ctx, &j->tokens,
                           &j->all_tokens, err);
    if (rc)
        return rc;
    j->n_chunks = j->tokens.n / o->n_ctx;
    if (o->samples && j->n_chunks > o->samples)
        j->n_chunks = o->samples;
    if (!j->n_chunks)
        return error_set(err, ERROR_FORMAT, "%s: %zu tokens are too few for one chunk of %" PRIu64,
                         j->corpus.names.data, j->tokens.n, o->n_ctx);
    return 0;
}

int job_open(struct job *j, const struct calib_options *o, struct error *err)
{
    struct digest_result digest;
    *j = (struct job){ .options = o, .stats = { .add_bos = -1 } };
    int rc;
    if ((rc = check_output(o, 0, err)) || (rc = kernels_select(&j->kernels, getenv("TERNPACK_KERNELS"), err)) ||
        (rc = pool_open(&j->pool, (unsigned)o->common.threads, err)) ||
        (rc = progress_open(&j->progress, (enum progress_mode)o->common.progress, 2, err)))
        return rc;
    struct model_options model = { .kernels = j->kernels, .pool = j->pool };
    if ((rc = model_open(&j->model, o->model, &model, err)) ||
        (rc = tokenizer_open(&j->tokenizer, model_gguf(j->model), err)))
        return rc;
    progress_phase(j->progress, "reading", 0, 0);
    if ((rc = corpus_read(&j->corpus, o->files.items, o->files.n, o->jsonl_field, err)) || (rc = plan_chunks(j, err)) ||
        (rc = digest_file(DIGEST_SHA256, o->model, &digest, err)))
        return rc;
    progress_end(j->progress);
    digest_hex(digest.sha256, sizeof digest.sha256, j->model_sha256);
    if ((rc = collect_open(&j->collect, j->model, j->kernels, o->n_ctx, err)))
        return rc;
    return check_output(o, planned_bytes(&j->collect), err);
}

int job_run(struct job *j, struct error *err)
{
    size_t n = j->options->n_ctx;
    double start = now();
    int rc = 0;
    progress_phase(j->progress, "calibrating", j->n_chunks, 0);
    for (size_t i = 0; i < j->n_chunks && !rc; i++) {
        int32_t *ids = j->tokens.ids + i * n;
        if (j->add_bos) /* the token is used for nothing else afterwards */
            ids[0] = tokenizer_bos(j->tokenizer);
        if (!(rc = interrupt_check(err)) && (rc = collect_chunk(&j->collect, ids, n, err)) && rc != ERROR_INTERRUPTED)
            error_prefix(err, "%s: chunk %zu", j->options->model, i + 1);
        progress_add(j->progress, 1, 0);
    }
    progress_end(j->progress);
    j->seconds = now() - start;
    return rc ? rc : collect_stats(&j->collect, &j->stats, err);
}

int job_write(struct job *j, struct error *err)
{
    struct stats *s = &j->stats, back;
    const struct calib_options *o = j->options;
    s->chunk_count = (uint32_t)j->n_chunks;
    s->chunk_size = (uint32_t)o->n_ctx;
    s->n_tokens = j->n_chunks * o->n_ctx;
    s->add_bos = j->add_bos;
    if (!(s->dataset = mem_strdup(j->corpus.names.data, err)) ||
        !(s->corpus_sha256 = mem_strdup(j->corpus.sha256, err)) ||
        !(s->model_sha256 = mem_strdup(j->model_sha256, err)))
        return ERROR_NOMEM;
    int rc = stats_write(s, o->output, o->common.force, err);
    if (rc || (rc = stats_read(&back, o->output, err)))
        return rc;
    for (size_t i = 0; i < s->n && !rc; i++) {
        const struct stats_entry *a = &s->entries[i], *b = i < back.n ? &back.entries[i] : NULL;
        if (!b || strcmp(a->name, b->name) || a->n_in != b->n_in || a->counts[0] != b->counts[0] ||
            memcmp(a->sum2, b->sum2, a->n_in * sizeof *a->sum2))
            rc = error_set(err, ERROR_INTERNAL, "%s: %s reads back differently", o->output, a->name);
    }
    stats_free(&back);
    return rc;
}

int job_json(const struct job *j, bool done, struct buffer *out, struct error *err)
{
    const char *path = j->options->output;
    int rc = buffer_printf(out, err, "{\"output\": ");
    if (!rc)
        rc = path ? json_put_str(out, path, strlen(path), err) : buffer_printf(out, err, "null");
    if (!rc)
        rc = buffer_printf(out, err, ", \"written\": %s", done ? "true" : "false");
    if (!rc)
        rc = buffer_printf(out, err,
                           ", \"chunks\": %zu, \"n_ctx\": %" PRIu64 ", \"tokens\": %" PRIu64 ", \"bos\": %s, "
                           "\"weights\": %zu, \"corpus_sha256\": \"%s\", \"model_sha256\": \"%s\"",
                           j->n_chunks, j->options->n_ctx, j->n_chunks * j->options->n_ctx,
                           j->add_bos ? "true" : "false", j->collect.n_slots, j->corpus.sha256, j->model_sha256);
    if (!rc && j->all_tokens)
        rc = buffer_printf(out, err, ", \"corpus_tokens\": %zu", j->tokens.n);
    if (!rc && done) {
        if (!(rc = buffer_printf(out, err, ", \"covered\": %zu, \"tokens_per_s\": ", j->stats.n)))
            rc = json_put_f64(out, (double)(j->n_chunks * j->options->n_ctx) / j->seconds, err);
    }
    return rc ? rc : buffer_printf(out, err, "}\n");
}

int job_text(const struct job *j, bool done, struct buffer *out, struct error *err)
{
    const struct calib_options *o = j->options;
    uint64_t tokens = j->n_chunks * o->n_ctx;
    int rc = buffer_printf(out, err, "%s: sha256 %s, ", j->corpus.names.data, j->corpus.sha256);
    if (!rc && j->all_tokens)
        rc = buffer_printf(out, err, "%zu tokens, ", j->tokens.n);
    if (!rc)
        rc = buffer_printf(out, err, "%zu chunks of %" PRIu64 ", BOS %s\n", j->n_chunks, o->n_ctx,
                           j->add_bos ? "yes" : "no");
    if (!rc && j->n_chunks < o->samples)
        rc = buffer_printf(out, err, "the text gives no more than that: %" PRIu64 " chunks were asked for\n",
                           o->samples);
    if (rc)
        return rc;
    if (!done)
        return buffer_printf(out, err, "%s (dry run, nothing written): importance of the inputs of %zu weights\n",
                             o->output ? o->output : "no output", j->collect.n_slots);
    return buffer_printf(out, err,
                         "%s: importance of the inputs of %zu weights, from %" PRIu64 " tokens in %.1f s (%.0f per "
                         "second)\n",
                         o->output, j->stats.n, tokens, j->seconds, (double)tokens / j->seconds);
}

void job_close(struct job *j)
{
    collect_close(&j->collect);
    stats_free(&j->stats);
    token_list_free(&j->tokens);
    corpus_free(&j->corpus);
    tokenizer_close(j->tokenizer);
    model_close(j->model);
    progress_close(j->progress);
    pool_close(j->pool);
    *j = (struct job){ 0 };
}
