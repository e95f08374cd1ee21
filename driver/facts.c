/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/facts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct json *result(const struct driver *d, enum step_id id)
{
    return d->steps[id].result ? json_root(d->steps[id].result) : NULL;
}

static double number(const struct json *o, const char *key)
{
    double v;
    return json_f64(json_get(o, key), &v) ? v : NAN;
}

static uint64_t count(const struct json *o, const char *key)
{
    uint64_t v;
    return json_u64(json_get(o, key), &v) ? v : 0;
}

static const char *string(const struct json *o, const char *key)
{
    const char *s = json_str(json_get(o, key));
    return s ? s : "";
}

void facts_gather(const struct driver *d, struct facts *f)
{
    const struct json *convert = result(d, STEP_CONVERT), *pack = result(d, STEP_PACK), *eval = result(d, STEP_EVAL);
    const struct json *verified = json_first(json_get(result(d, STEP_VERIFY), "files"));
    const struct json *linear = json_get(json_get(verified, "compare"), "linear");
    *f = (struct facts){
        .dtype = string(convert, "dtype"),
        .method = string(pack, "method"),
        .corpus_sha256 = string(eval, "corpus_sha256"),
        .source_bpw = 8.0 * (double)d->steps[STEP_CONVERT].bytes / (double)d->parameters,
        .packed_bpw = 8.0 * (double)d->steps[STEP_PACK].bytes / (double)d->parameters,
        .linear_bpw = number(linear, "bits_per_weight"),
        .ternary = count(pack, "ternary_tensors"),
        .exact = count(pack, "exact_tensors"),
        .relative_error = number(linear, "relative_error"),
        .weighted_error = number(linear, "weighted_error"),
        .zeros = number(linear, "zeros"),
        .ref_ppl = number(eval, "ref_perplexity"),
        .ref_ppl_err = number(eval, "ref_stderr"),
        .ppl = number(eval, "perplexity"),
        .ppl_err = number(eval, "stderr"),
        .ppl_ratio = number(eval, "ppl_ratio"),
        .kl_mean = number(eval, "kl_mean"),
        .kl_median = number(eval, "kl_median"),
        .kl_99 = number(eval, "kl_99"),
        .kl_max = number(eval, "kl_max"),
        .same_top = number(eval, "same_top1"),
        .rms_dp = number(eval, "rms_dp"),
        .chunks = count(eval, "chunks"),
        .n_ctx = count(eval, "n_ctx"),
    };
}

int facts_text(struct buffer *b, const char *head, const char *s, struct error *err)
{
    int code = buffer_append(b, head, strlen(head), err);
    return code ? code : json_put_str(b, s, strlen(s), err);
}

static int put(struct buffer *b, const char *head, double v, struct error *err)
{
    int code = buffer_append(b, head, strlen(head), err);
    return code ? code : json_put_f64(b, v, err);
}

static int json_eval(const struct facts *f, struct buffer *b, struct error *err)
{
    const struct {
        const char *head;
        double v;
    } rows[] = { { ",\"perplexity\":{\"full\":", f->ref_ppl },
                 { ",\"full_stderr\":", f->ref_ppl_err },
                 { ",\"packed\":", f->ppl },
                 { ",\"packed_stderr\":", f->ppl_err },
                 { ",\"ratio\":", f->ppl_ratio },
                 { "},\"kl\":{\"mean\":", f->kl_mean },
                 { ",\"median\":", f->kl_median },
                 { ",\"p99\":", f->kl_99 },
                 { ",\"max\":", f->kl_max },
                 { "},\"same_top1\":", f->same_top },
                 { ",\"rms_dp\":", f->rms_dp } };
    int code = 0;
    for (size_t i = 0; !code && i < sizeof rows / sizeof *rows; i++)
        code = put(b, rows[i].head, rows[i].v, err);
    if (!code)
        code = buffer_printf(b, err, ",\"chunks\":%" PRIu64 ",\"n_ctx\":%" PRIu64, f->chunks, f->n_ctx);
    return code ? code : facts_text(b, ",\"eval_sha256\":", f->corpus_sha256, err);
}

static int json_files(const struct driver *d, const struct facts *f, struct buffer *b, struct error *err)
{
    int code = buffer_printf(b, err,
                             ",\"full\":{\"dtype\":\"%s\",\"bytes\":%" PRIu64 ",\"sha256\":\"%s\"}"
                             ",\"packed\":{\"type\":\"%s\",\"group_size\":%u,\"bytes\":%" PRIu64
                             ",\"sha256\":\"%s\",\"ternary_tensors\":%" PRIu64 ",\"exact_tensors\":%" PRIu64,
                             f->dtype, d->steps[STEP_CONVERT].bytes, d->steps[STEP_CONVERT].sha256, d->o->block->name,
                             d->o->block->weights, d->steps[STEP_PACK].bytes, d->steps[STEP_PACK].sha256, f->ternary,
                             f->exact);
    if (!code)
        code = facts_text(b, ",\"method\":", f->method, err);
    if (!code)
        code = facts_text(b, ",\"readers\":", d->o->block->readers, err);
    if (!code)
        code = put(b, ",\"bits_per_weight\":", f->packed_bpw, err);
    if (!code)
        code = put(b, ",\"linear_bits_per_weight\":", f->linear_bpw, err);
    if (!code)
        code = put(b, ",\"relative_error\":", f->relative_error, err);
    if (!code)
        code = put(b, ",\"weighted_error\":", f->weighted_error, err);
    if (!code)
        code = put(b, ",\"zeros\":", f->zeros, err);
    return code ? code : buffer_append(b, "}", 1, err);
}

static int json_steps(const struct driver *d, struct buffer *b, struct error *err)
{
    bool any = false;
    int code = buffer_printf(b, err, ",\"steps\":[");
    for (int i = 0; !code && i < N_STEPS; i++) {
        const struct step *s = &d->steps[i];
        if (!s->done)
            continue;
        code = buffer_printf(b, err, "%s{\"name\":\"%s\",\"reused\":%s,\"seconds\":%.3f}", any ? "," : "", s->name,
                             s->reused ? "true" : "false", s->seconds);
        any = true;
    }
    return code ? code : buffer_append(b, "]", 1, err);
}

static int json_inputs(const struct driver *d, struct buffer *b, struct error *err)
{
    static const char *const kinds[] = { "model", "calibration", "evaluation" };
    int code = buffer_printf(b, err, ",\"inputs\":[");
    for (size_t i = 0; !code && i < d->n_inputs; i++) {
        const struct input *in = &d->inputs[i];
        code = facts_text(b, i ? ",{\"path\":" : "{\"path\":", in->path, err);
        if (!code)
            code = buffer_printf(b, err, ",\"kind\":\"%s\",\"bytes\":%" PRIu64 ",\"sha256\":\"%s\"}", kinds[in->kind],
                                 in->bytes, in->sha256);
    }
    return code ? code : buffer_append(b, "]", 1, err);
}

int facts_json(const struct driver *d, const struct facts *f, struct buffer *b, struct error *err)
{
    int code = facts_text(b, "{\"output\":", d->out, err);
    if (!code)
        code = buffer_printf(b, err, ",\"written\":true,\"architecture\":\"%s\",\"parameters\":%" PRIu64,
                             d->architecture, d->parameters);
    if (!code)
        code = json_files(d, f, b, err);
    if (!code && d->steps[STEP_EVAL].done)
        code = json_eval(f, b, err);
    if (!code)
        code = json_steps(d, b, err);
    if (!code)
        code = json_inputs(d, b, err);
    return code ? code : buffer_append(b, "}\n", 2, err);
}
