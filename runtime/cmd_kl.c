/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/mem.h"
#include "runtime/commands.h"
#include "runtime/kl.h"
#include "runtime/klbase.h"
#include "runtime/text_input.h"
#include "runtime/tokenizer.h"

/* One comparison: the model, and a reference that is a second model or a file of log-probabilities. */
struct job {
    const struct run_options *o;
    struct run_env *e;
    struct tokenizer *tok;
    struct text_input text; /* ids empty: none given */
    struct model *ref;      /* NULL: base is the reference */
    struct klbase base;
    struct score_plan plan;
    const int32_t *tokens;
    size_t n_tokens;
    struct scorer model_scorer, ref_scorer;
    struct writer save;
    uint8_t *records;    /* [tile_rows][record] */
    float *log_p;        /* [tile_rows][n_vocab] */
    bool *decoded;       /* [tile_rows] */
    struct kl_row *rows; /* [tile_rows] */
    size_t record, n_vocab;
    const int32_t *targets; /* of the tile at work */
    struct kl_stats stats;
    double seconds;
};

static int same_tokens(const char *a, const char *b, const int32_t *x, size_t n_x, const int32_t *y, size_t n_y,
                       struct error *err)
{
    for (size_t i = 0; i < n_x && i < n_y; i++)
        if (x[i] != y[i])
            return error_set(err, ERROR_MISMATCH, "%s and %s disagree on token %zu of the text: %d and %d", a, b, i,
                             x[i], y[i]);
    if (n_x != n_y)
        return error_set(err, ERROR_MISMATCH, "%s makes %zu tokens of the text, %s %zu", a, n_x, b, n_y);
    return 0;
}

static int open_model_reference(struct job *j, struct error *err)
{
    struct tokenizer *tok = NULL;
    struct text_input text = { 0 };
    const struct run_options *o = j->o;
    int rc;
    if ((rc = model_open(&j->ref, o->ref, &j->e->model_options, err)) ||
        (rc = tokenizer_open(&tok, model_gguf(j->ref), err)))
        goto out;
    if (model_hparams(j->ref)->n_vocab != j->n_vocab) {
        rc = error_set(err, ERROR_MISMATCH, "%s has a vocabulary of %zu, %s of %u", o->model, j->n_vocab, o->ref,
                       model_hparams(j->ref)->n_vocab);
        goto out;
    }
    if ((rc = text_input_open(&text, tok, o->files.items[0], o->parse_special, err)) ||
        (rc = same_tokens(o->model, o->ref, j->text.ids.ids, j->text.ids.n, text.ids.ids, text.ids.n, err)))
        goto out;
    if (text.bos != j->text.bos)
        rc = error_set(err, ERROR_MISMATCH, "%s and %s disagree on whether a chunk starts with BOS", o->model, o->ref);
    j->tokens = j->text.ids.ids;
    j->n_tokens = j->text.ids.n;
    if (!rc)
        rc = score_plan(&j->plan, j->n_tokens, o->n_ctx ? o->n_ctx : 512, o->chunks, 0, text.bos, o->files.items[0],
                        err);
out:
    text_input_close(&text);
    tokenizer_close(tok);
    return rc;
}

static int open_file_reference(struct job *j, struct error *err)
{
    const struct run_options *o = j->o;
    int rc = klbase_open(&j->base, o->kl_base, err);
    if (rc)
        return rc;
    size_t n = (size_t)j->base.n_chunks * j->base.n_ctx;
    if (j->base.n_vocab != j->n_vocab)
        return error_set(err, ERROR_MISMATCH, "%s has a vocabulary of %zu, %s of %u", o->model, j->n_vocab, o->kl_base,
                         j->base.n_vocab);
    if (o->n_ctx && o->n_ctx != j->base.n_ctx)
        return error_set(err, ERROR_USAGE, "%s was made with -c %u, not %llu", o->kl_base, j->base.n_ctx,
                         (unsigned long long)o->n_ctx);
    if (o->files.n) {
        size_t have = j->text.ids.n < n ? j->text.ids.n : n;
        if ((rc = same_tokens(o->model, o->kl_base, j->text.ids.ids, have, j->base.tokens, n, err)))
            return rc;
    }
    j->tokens = j->base.tokens;
    j->n_tokens = n;
    bool bos = tokenizer_add_bos(j->tok) && tokenizer_bos(j->tok) >= 0;
    return score_plan(&j->plan, n, j->base.n_ctx, o->chunks, 0, bos, o->kl_base, err);
}

static int open_buffers(struct job *j, struct error *err)
{
    const struct run_options *o = j->o;
    int32_t bos = tokenizer_bos(j->tok);
    int rc = scorer_open(&j->model_scorer, j->e->model, j->e->kernels, j->e->pool, &j->plan, o->n_batch, o->kv_type,
                         bos, err);
    if (!rc && j->ref)
        rc = scorer_open(&j->ref_scorer, j->ref, j->e->kernels, j->e->pool, &j->plan, o->n_batch, o->kv_type, bos, err);
    if (rc)
        return rc;
    size_t rows = j->model_scorer.tile_rows;
    j->record = klbase_record_bytes(j->n_vocab);
    if (!(j->records = mem_zalloc(j->ref ? 1 : rows, j->record, "log-probabilities", err)) ||
        !(j->log_p = j->ref ? j->ref_scorer.logits
                            : mem_zalloc((uint64_t)rows * j->n_vocab, sizeof *j->log_p, "log-probabilities", err)) ||
        !(j->decoded = mem_zalloc(rows, sizeof *j->decoded, "scores", err)) ||
        !(j->rows = mem_zalloc(rows, sizeof *j->rows, "scores", err)))
        return ERROR_NOMEM;
    if (o->save_kl_base)
        rc = klbase_create(&j->save, o->save_kl_base, j->plan.window, j->n_vocab, j->plan.n_chunks, j->tokens,
                           o->common.force, err);
    return rc;
}

static void compare_item(void *ctx, size_t i, unsigned worker)
{
    (void)worker;
    struct job *j = ctx;
    float *log_p = j->log_p + i * j->n_vocab;
    j->decoded[i] = true;
    if (j->ref) {
        double log_sum = j->e->kernels->log_sum_exp(log_p, j->n_vocab, NULL);
        for (size_t v = 0; v < j->n_vocab; v++)
            log_p[v] = (float)(log_p[v] - log_sum);
    } else {
        j->decoded[i] = klbase_decode(j->records + i * j->record, j->n_vocab, log_p);
    }
    if (j->decoded[i])
        kl_compare(&j->rows[i], j->e->kernels, log_p, j->ref ? -INFINITY : -16.0f,
                   j->model_scorer.logits + i * j->n_vocab, j->n_vocab, j->targets[i]);
}

static int save_rows(struct job *j, size_t n, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        klbase_encode(j->e->kernels, j->ref_scorer.logits + i * j->n_vocab, j->n_vocab, j->records);
        rc = writer_write(&j->save, j->records, j->record, err);
    }
    return rc;
}

static int compare_tile(struct job *j, size_t chunk, size_t row, size_t n, struct error *err)
{
    int rc = scorer_logits(&j->model_scorer, row, n, err);
    if (rc)
        return rc;
    if (!j->ref)
        rc = klbase_read(&j->base, chunk, row, n, j->records, err);
    else if (!(rc = scorer_logits(&j->ref_scorer, row, n, err)) && j->o->save_kl_base)
        rc = save_rows(j, n, err);
    if (rc)
        return rc;
    pool_run(j->e->pool, n, compare_item, j);
    for (size_t i = 0; i < n && !rc; i++) {
        if (!j->decoded[i])
            return error_set(err, ERROR_FORMAT, "%s: chunk %zu, record %zu: scale or minimum is not a number",
                             j->o->kl_base, chunk, row + i);
        rc = kl_add(&j->stats, &j->rows[i], err);
    }
    return rc;
}

static int compare_chunks(struct job *j, struct error *err)
{
    double start = run_seconds();
    int rc = 0;
    progress_phase(j->e->progress, "kl", j->plan.n_chunks, 0);
    for (size_t c = 0; c < j->plan.n_chunks && !rc; c++) {
        const int32_t *tokens = j->tokens + c * j->plan.step;
        if ((rc = scorer_chunk(&j->model_scorer, &j->plan, tokens, err)) ||
            (j->ref && (rc = scorer_chunk(&j->ref_scorer, &j->plan, tokens, err)))) {
            error_prefix(err, "chunk %zu", c + 1);
            break;
        }
        for (size_t row = 0; row < j->plan.n_scored && !rc; row += j->model_scorer.tile_rows) {
            size_t n = j->plan.n_scored - row;
            n = n < j->model_scorer.tile_rows ? n : j->model_scorer.tile_rows;
            j->targets = tokens + j->plan.first + 1 + row;
            rc = compare_tile(j, c, row, n, err);
        }
        progress_add(j->e->progress, 1, 0);
        if (!rc && j->o->common.verbose)
            run_say(j->o, "[%zu] perplexity %.4f, KL %.6f", c + 1, score_perplexity(&j->stats.model),
                    j->stats.kld / (double)j->stats.n);
    }
    progress_end(j->e->progress);
    j->seconds = run_seconds() - start;
    if (!rc && !(isfinite(j->stats.kld) && isfinite(j->stats.model.nll) && isfinite(j->stats.ref.nll)))
        rc = error_set(err, ERROR_FORMAT, "%s: the logits are not finite", j->o->model);
    return rc;
}

static int put_json(struct buffer *b, const struct job *j, const struct kl_result *r, struct error *err)
{
    const struct kl_stats *s = &j->stats;
    const struct {
        const char *key;
        double value;
    } numbers[] = { { "perplexity", score_perplexity(&s->model) },
                    { "stderr", score_stderr(&s->model) },
                    { "nll", score_mean(&s->model) },
                    { "ref_perplexity", score_perplexity(&s->ref) },
                    { "ref_stderr", score_stderr(&s->ref) },
                    { "kl_mean", r->mean },
                    { "kl_mean_stderr", r->mean_err },
                    { "kl_median", r->median },
                    { "kl_90", r->p90 },
                    { "kl_95", r->p95 },
                    { "kl_99", r->p99 },
                    { "kl_999", r->p999 },
                    { "kl_max", r->max },
                    { "kl_min", r->min },
                    { "same_top1", r->same_top },
                    { "same_top1_stderr", r->same_top_err },
                    { "rms_dp", r->rms_dp },
                    { "rms_dp_stderr", r->rms_dp_err },
                    { "mean_dp", r->mean_dp },
                    { "ppl_ratio", exp(r->ln_ratio) },
                    { "ppl_ratio_stderr", exp(r->ln_ratio) * r->ln_ratio_err },
                    { "tokens_per_s", (double)(j->plan.n_chunks * j->plan.window) / j->seconds } };
    int rc = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers && !rc; i++)
        if (!(rc = buffer_printf(b, err, "%s\"%s\": ", i ? ", " : "{", numbers[i].key)))
            rc = json_put_f64(b, numbers[i].value, err);
    if (!rc)
        rc = buffer_printf(b, err, ", \"chunks\": %zu, \"n_ctx\": %zu, \"tokens\": %zu, \"scored\": %llu, \"bos\": %s",
                           j->plan.n_chunks, j->plan.window, j->n_tokens, (unsigned long long)s->n,
                           j->plan.bos ? "true" : "false");
    if (!rc && j->text.sha256[0])
        rc = buffer_printf(b, err, ", \"corpus_sha256\": \"%s\"", j->text.sha256);
    return rc ? rc : buffer_printf(b, err, "}\n");
}

static int put_text(struct buffer *b, const struct job *j, const struct kl_result *r, struct error *err)
{
    const struct kl_stats *s = &j->stats;
    double ratio = exp(r->ln_ratio);
    return buffer_printf(b, err,
                         "perplexity        %.4f +/- %.5f\n"
                         "reference         %.4f +/- %.5f\n"
                         "ratio             %.5f +/- %.5f\n"
                         "KL mean           %.6f +/- %.6f\n"
                         "KL median         %.6f\n"
                         "KL 90, 99, 99.9 %% %.6f, %.6f, %.6f\n"
                         "KL max            %.6f\n"
                         "RMS dp            %.3f +/- %.3f %%\n"
                         "same top token    %.3f +/- %.3f %%\n"
                         "(%zu chunks of %zu, %llu tokens scored)\n",
                         score_perplexity(&s->model), score_stderr(&s->model), score_perplexity(&s->ref),
                         score_stderr(&s->ref), ratio, ratio * r->ln_ratio_err, r->mean, r->mean_err, r->median, r->p90,
                         r->p99, r->p999, r->max, 100 * r->rms_dp, 100 * r->rms_dp_err, 100 * r->same_top,
                         100 * r->same_top_err, j->plan.n_chunks, j->plan.window, (unsigned long long)s->n);
}

/* What is known before the run. */
static void print_plan(const struct job *j)
{
    printf("{\"chunks\": %zu, \"n_ctx\": %zu, \"tokens\": %zu, \"scored\": %zu, \"bos\": %s%s%s%s}\n", j->plan.n_chunks,
           j->plan.window, j->n_tokens, j->plan.n_chunks * j->plan.n_scored, j->plan.bos ? "true" : "false",
           j->text.sha256[0] ? ", \"corpus_sha256\": \"" : "", j->text.sha256, j->text.sha256[0] ? "\"" : "");
}

static int print(struct job *j, struct error *err)
{
    struct buffer b = { 0 };
    struct kl_result r;
    kl_finish(&j->stats, &r);
    int rc = j->o->common.json ? put_json(&b, j, &r, err) : put_text(&b, j, &r, err);
    if (!rc)
        fwrite(b.data, 1, b.len, stdout);
    buffer_free(&b);
    return rc;
}

static int prepare(struct job *j, struct error *err)
{
    const struct run_options *o = j->o;
    const char *inputs[4] = { o->model, o->ref ? o->ref : o->kl_base };
    size_t n_inputs = 2;
    int rc = tokenizer_open(&j->tok, model_gguf(j->e->model), err);
    j->n_vocab = model_hparams(j->e->model)->n_vocab;
    if (!rc && o->files.n) {
        inputs[n_inputs++] = o->files.items[0];
        rc = text_input_open(&j->text, j->tok, o->files.items[0], o->parse_special, err);
    }
    if (!rc)
        rc = o->ref ? open_model_reference(j, err) : open_file_reference(j, err);
    if (rc)
        return rc;
    run_say(o, "%zu tokens, BOS %s%s%s; %zu chunks of %zu, %zu tokens scored in each", j->n_tokens,
            j->plan.bos ? "yes" : "no", j->text.sha256[0] ? ", sha256 " : "", j->text.sha256, j->plan.n_chunks,
            j->plan.window, j->plan.n_scored);
    if (o->save_kl_base) {
        uint64_t planned = klbase_bytes(j->plan.window, j->n_vocab, j->plan.n_chunks);
        if (!(rc = file_not_same(o->save_kl_base, inputs, n_inputs, err)))
            rc = file_check_output(o->save_kl_base, planned, o->common.force, err);
        if (!rc)
            run_say(o, "%s: %.1f MiB to write", o->save_kl_base, (double)planned / 1048576);
    }
    return rc;
}

int cmd_kl(const struct run_options *o, struct error *err)
{
    struct run_env e;
    struct job j = { .o = o, .e = &e, .base.file = FILE_INIT, .save = WRITER_INIT };
    int rc = run_env_open(&e, o, err);
    if (rc)
        return rc;
    if (!(rc = prepare(&j, err)) && !o->common.dry_run && !(rc = open_buffers(&j, err)) &&
        !(rc = compare_chunks(&j, err))) {
        if (o->save_kl_base)
            rc = writer_commit(&j.save, err);
        if (!rc)
            rc = print(&j, err);
    }
    if (!rc && o->common.dry_run && o->common.json)
        print_plan(&j);
    writer_abort(&j.save);
    kl_free(&j.stats);
    mem_free(j.records);
    if (!j.ref)
        mem_free(j.log_p);
    mem_free(j.decoded);
    mem_free(j.rows);
    scorer_close(&j.model_scorer);
    scorer_close(&j.ref_scorer);
    klbase_close(&j.base);
    model_close(j.ref);
    text_input_close(&j.text);
    tokenizer_close(j.tok);
    run_env_close(&e);
    return rc;
}
