/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <sys/resource.h>

#include "base/util/json.h"
#include "base/util/mem.h"
#include "base/util/text.h"
#include "runtime/commands.h"

struct rate {
    double wall, cpu; /* seconds */
};

static struct rate now(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (struct rate){ run_seconds(), (double)u.ru_utime.tv_sec + 1e-6 * (double)u.ru_utime.tv_usec };
}

static struct rate since(struct rate start)
{
    struct rate end = now();
    return (struct rate){ end.wall - start.wall, end.cpu - start.cpu };
}

struct job {
    struct context *c;
    int32_t *ids; /* [n_prompt + n_generate], made up */
    float *hidden, *logits;
    size_t n_prompt, n_generate, n_batch;
};

/* The whole prompt from an empty cache, logits of the last position only. */
static int run_prompt(struct job *j, struct error *err)
{
    int rc = 0;
    context_reset(j->c);
    for (size_t at = 0; at < j->n_prompt && !rc; at += j->n_batch) {
        size_t n = j->n_prompt - at < j->n_batch ? j->n_prompt - at : j->n_batch;
        bool last = at + n == j->n_prompt;
        rc = context_eval(j->c, j->ids + at, n, last ? n - 1 : n, last ? j->hidden : NULL, err);
    }
    return rc ? rc : context_logits(j->c, j->hidden, 1, j->logits, err);
}

static int run_generation(struct job *j, size_t n, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (!(rc = context_eval(j->c, j->ids + j->n_prompt + i, 1, 0, j->hidden, err)))
            rc = context_logits(j->c, j->hidden, 1, j->logits, err);
    return rc;
}

static int print(const struct run_options *o, const struct run_env *e, const struct job *j, struct rate prompt,
                 struct rate generation, struct error *err)
{
    double n_prompt = (double)j->n_prompt, n_generate = (double)j->n_generate;
    unsigned threads = pool_threads(e->pool);
    struct buffer b = { 0 };
    int rc;
    if (o->common.json)
        rc = buffer_printf(&b, err,
                           "{\"prompt_tokens\": %zu, \"prompt_tokens_per_s\": %.3f, \"prompt_tokens_per_cpu_s\": %.3f, "
                           "\"generated_tokens\": %zu, \"generation_tokens_per_s\": %.3f, "
                           "\"generation_tokens_per_cpu_s\": %.3f, \"threads\": %u, \"kernels\": \"%s\"}\n",
                           j->n_prompt, n_prompt / prompt.wall, n_prompt / prompt.cpu, j->n_generate,
                           n_generate / generation.wall, n_generate / generation.cpu, threads, e->kernels->name);
    else
        rc = buffer_printf(&b, err,
                           "prompt      %6zu tokens %10.2f tokens/s %10.2f tokens/CPU s\n"
                           "generation  %6zu tokens %10.2f tokens/s %10.2f tokens/CPU s\n"
                           "(%u threads, %s kernels)\n",
                           j->n_prompt, n_prompt / prompt.wall, n_prompt / prompt.cpu, j->n_generate,
                           n_generate / generation.wall, n_generate / generation.cpu, threads, e->kernels->name);
    if (!rc)
        fwrite(b.data, 1, b.len, stdout);
    buffer_free(&b);
    return rc;
}

static int bench(const struct run_options *o, const struct run_env *e, struct job *j, struct error *err)
{
    const struct hparams *h = model_hparams(e->model);
    size_t n = j->n_prompt + j->n_generate;
    int rc = context_open(&j->c, e->model, (uint32_t)n, (uint32_t)o->n_batch, o->kv_type, err);
    if (rc)
        return rc;
    j->n_batch = context_batch(j->c);
    if (!(j->ids = mem_zalloc(n, sizeof *j->ids, "token ids", err)) ||
        !(j->hidden = mem_aligned(h->n_embd, sizeof *j->hidden, "hidden states", err)) ||
        !(j->logits = mem_aligned(h->n_vocab, sizeof *j->logits, "logits", err)))
        return ERROR_NOMEM;
    for (size_t i = 0; i < n; i++)
        j->ids[i] = (int32_t)(i * 7919 % h->n_vocab);
    /* once unmeasured: pages of the file, threads, buffers of the BLAS */
    if ((rc = run_prompt(j, err)))
        return rc;
    struct rate start = now();
    if ((rc = run_prompt(j, err)))
        return rc;
    struct rate prompt = since(start);
    start = now();
    if ((rc = run_generation(j, j->n_generate, err)))
        return rc;
    return print(o, e, j, prompt, since(start), err);
}

int cmd_bench(const struct run_options *o, struct error *err)
{
    struct run_env e;
    struct job j = { .n_generate = o->n_predict };
    uint64_t n_prompt = 512;
    if (o->prompt && (!text_u64(o->prompt, &n_prompt) || !n_prompt || n_prompt > 1 << 24))
        return error_set(err, ERROR_USAGE, "bench: -p takes a number of tokens from 1 to %d", 1 << 24);
    j.n_prompt = n_prompt;
    int rc = run_env_open(&e, o, err);
    if (rc)
        return rc;
    rc = bench(o, &e, &j, err);
    context_close(j.c);
    mem_free(j.ids);
    mem_free(j.hidden);
    mem_free(j.logits);
    run_env_close(&e);
    return rc;
}
