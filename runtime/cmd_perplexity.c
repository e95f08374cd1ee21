/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/mem.h"
#include "runtime/commands.h"
#include "runtime/klbase.h"
#include "runtime/score.h"
#include "runtime/text_input.h"
#include "runtime/tokenizer.h"

struct result {
    const char *path;
    char sha256[65];
    struct score_plan plan;
    size_t n_tokens;
    struct score_sum sum;
    double seconds;
};

/* Score the chunks; each chunk's records go to `base` when that is open. */
static int score_chunks(const struct run_options *o, struct run_env *e, struct scorer *s, const struct text_input *t,
                        struct result *r, struct writer *base, struct error *err)
{
    size_t record = klbase_record_bytes(s->n_vocab);
    uint8_t *records = base->fd >= 0 ? mem_zalloc(1, record, "log-probabilities", err) : NULL;
    int rc = base->fd >= 0 && !records ? ERROR_NOMEM : 0;
    double start = run_seconds();
    progress_phase(e->progress, "perplexity", r->plan.n_chunks, 0);
    for (size_t c = 0; c < r->plan.n_chunks && !rc; c++) {
        const int32_t *tokens = t->ids.ids + c * r->plan.step, *targets = tokens + r->plan.first + 1;
        if ((rc = scorer_chunk(s, &r->plan, tokens, err)))
            error_prefix(err, "chunk %zu", c + 1);
        for (size_t row = 0; row < r->plan.n_scored && !rc; row += s->tile_rows) {
            size_t n = r->plan.n_scored - row < s->tile_rows ? r->plan.n_scored - row : s->tile_rows;
            if ((rc = scorer_logits(s, row, n, err)))
                break;
            scorer_nll(s, targets + row, n);
            for (size_t i = 0; i < n; i++)
                score_add(&r->sum, s->nll[i]);
            for (size_t i = 0; i < n && records && !rc; i++) {
                klbase_encode(s->k, s->logits + i * s->n_vocab, s->n_vocab, records);
                rc = writer_write(base, records, record, err);
            }
        }
        progress_add(e->progress, 1, 0);
        if (!rc && o->common.verbose)
            run_say(o, "[%zu] %.4f", c + 1, score_perplexity(&r->sum));
    }
    progress_end(e->progress);
    mem_free(records);
    r->seconds = run_seconds() - start;
    if (!rc && !isfinite(r->sum.nll))
        rc = error_set(err, ERROR_FORMAT, "%s: the logits are not finite", o->model);
    return rc;
}

static int score_text(const struct run_options *o, struct run_env *e, const struct tokenizer *tok, const char *path,
                      struct result *r, struct error *err)
{
    struct text_input t;
    struct scorer s = { 0 };
    struct writer base = WRITER_INIT;
    int rc = text_input_open(&t, tok, path, o->parse_special, err);
    if (rc)
        return rc;
    *r = (struct result){ .path = path, .n_tokens = t.ids.n };
    memcpy(r->sha256, t.sha256, sizeof r->sha256);
    if ((rc = score_plan(&r->plan, t.ids.n, o->n_ctx ? o->n_ctx : 512, o->chunks, o->ppl_stride, t.bos, path, err)))
        goto out;
    run_say(o, "%s: %zu tokens, BOS %s, sha256 %s; %zu chunks of %zu, %zu tokens scored in each", path, t.ids.n,
            r->plan.bos ? "yes" : "no", t.sha256, r->plan.n_chunks, r->plan.window, r->plan.n_scored);
    const char *inputs[] = { o->model, path };
    uint64_t planned = klbase_bytes(r->plan.window, model_hparams(e->model)->n_vocab, r->plan.n_chunks);
    if (o->save_kl_base && ((rc = file_not_same(o->save_kl_base, inputs, 2, err)) ||
                            (rc = file_check_output(o->save_kl_base, planned, o->common.force, err))))
        goto out;
    if (o->save_kl_base)
        run_say(o, "%s: %.1f MiB to write", o->save_kl_base, (double)planned / 1048576);
    if (o->common.dry_run)
        goto out;
    if ((rc =
             scorer_open(&s, e->model, e->kernels, e->pool, &r->plan, o->n_batch, o->kv_type, tokenizer_bos(tok), err)))
        goto out;
    if (o->save_kl_base && (rc = klbase_create(&base, o->save_kl_base, r->plan.window, s.n_vocab, r->plan.n_chunks,
                                               t.ids.ids, o->common.force, err)))
        goto out;
    rc = score_chunks(o, e, &s, &t, r, &base, err);
    if (!rc && o->save_kl_base)
        rc = writer_commit(&base, err);
out:
    writer_abort(&base);
    scorer_close(&s);
    text_input_close(&t);
    return rc;
}

/* The members of one result, without braces. */
/* Of a dry run, which has scored nothing: the members that are known beforehand. */
static int put_result(struct buffer *b, const struct result *r, struct error *err)
{
    int rc;
    if (!r->sum.n)
        return buffer_printf(b, err,
                             "\"chunks\": %zu, \"n_ctx\": %zu, \"tokens\": %zu, \"scored\": %zu, \"bos\": %s%s%s%s",
                             r->plan.n_chunks, r->plan.window, r->n_tokens, r->plan.n_chunks * r->plan.n_scored,
                             r->plan.bos ? "true" : "false", r->sha256[0] ? ", \"corpus_sha256\": \"" : "", r->sha256,
                             r->sha256[0] ? "\"" : "");
    if ((rc = buffer_printf(b, err, "\"perplexity\": ")) || (rc = json_put_f64(b, score_perplexity(&r->sum), err)) ||
        (rc = buffer_printf(b, err, ", \"stderr\": ")) || (rc = json_put_f64(b, score_stderr(&r->sum), err)) ||
        (rc = buffer_printf(b, err, ", \"nll\": ")) || (rc = json_put_f64(b, score_mean(&r->sum), err)) ||
        (rc = buffer_printf(b, err, ", \"chunks\": %zu, \"n_ctx\": %zu, \"tokens\": %zu, \"scored\": %llu, \"bos\": %s",
                            r->plan.n_chunks, r->plan.window, r->n_tokens, (unsigned long long)r->sum.n,
                            r->plan.bos ? "true" : "false")) ||
        (rc = buffer_printf(b, err, ", \"tokens_per_s\": ")) ||
        (rc = json_put_f64(b, (double)(r->plan.n_chunks * r->plan.window) / r->seconds, err)))
        return rc;
    return r->sha256[0] ? buffer_printf(b, err, ", \"corpus_sha256\": \"%s\"", r->sha256) : 0;
}

static int put_json(struct buffer *b, const struct result *all, const struct result *each, size_t n, double mean,
                    struct error *err)
{
    int rc = buffer_printf(b, err, "{");
    if (!rc)
        rc = put_result(b, n == 1 ? each : all, err);
    if (!rc && n > 1 && all->sum.n && !(rc = buffer_printf(b, err, ", \"mean_perplexity\": ")))
        rc = json_put_f64(b, mean, err);
    for (size_t i = 0; i < n && n > 1 && !rc; i++) {
        if ((rc = buffer_printf(b, err, "%s{\"file\": ", i ? ", " : ", \"files\": [")) ||
            (rc = json_put_str(b, each[i].path, strlen(each[i].path), err)) || (rc = buffer_printf(b, err, ", ")) ||
            (rc = put_result(b, &each[i], err)) || (rc = buffer_printf(b, err, i + 1 < n ? "}" : "}]")))
            break;
    }
    return rc ? rc : buffer_printf(b, err, "}\n");
}

static int put_text(struct buffer *b, const struct result *all, const struct result *each, size_t n, double mean,
                    struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = buffer_printf(
            b, err, "%s%sperplexity %.4f +/- %.5f (%zu chunks of %zu, %llu tokens scored, %.1f tokens/s)\n",
            n > 1 ? each[i].path : "", n > 1 ? ": " : "", score_perplexity(&each[i].sum), score_stderr(&each[i].sum),
            each[i].plan.n_chunks, each[i].plan.window, (unsigned long long)each[i].sum.n,
            (double)(each[i].plan.n_chunks * each[i].plan.window) / each[i].seconds);
    if (!rc && n > 1)
        rc = buffer_printf(b, err, "mean of %zu files: perplexity %.4f; over all tokens: perplexity %.4f +/- %.5f\n", n,
                           mean, score_perplexity(&all->sum), score_stderr(&all->sum));
    return rc;
}

static int print(const struct run_options *o, const struct result *each, size_t n, struct error *err)
{
    struct buffer b = { 0 };
    struct result all = { .plan = each[0].plan };
    all.plan.n_chunks = 0;
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        score_merge(&all.sum, &each[i].sum);
        all.plan.n_chunks += each[i].plan.n_chunks;
        all.n_tokens += each[i].n_tokens;
        all.seconds += each[i].seconds;
        if (each[i].sum.n)
            mean += score_perplexity(&each[i].sum) / (double)n;
    }
    int rc = o->common.json ? put_json(&b, &all, each, n, mean, err) : put_text(&b, &all, each, n, mean, err);
    if (!rc)
        fwrite(b.data, 1, b.len, stdout);
    buffer_free(&b);
    return rc;
}

int cmd_perplexity(const struct run_options *o, struct error *err)
{
    struct run_env e;
    struct tokenizer *tok = NULL;
    struct result *results = NULL;
    int rc = run_env_open(&e, o, err);
    if (rc)
        return rc;
    if ((rc = tokenizer_open(&tok, model_gguf(e.model), err)))
        goto out;
    if (!(results = mem_zalloc(o->files.n, sizeof *results, "results", err))) {
        rc = ERROR_NOMEM;
        goto out;
    }
    for (size_t i = 0; i < o->files.n && !rc; i++)
        rc = score_text(o, &e, tok, o->files.items[i], &results[i], err);
    if (!rc && (!o->common.dry_run || o->common.json))
        rc = print(o, results, o->files.n, err);
out:
    mem_free(results);
    tokenizer_close(tok);
    run_env_close(&e);
    return rc;
}
