/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/util/mem.h"
#include "base/util/text.h"
#include "runtime/chat.h"
#include "runtime/commands.h"
#include "runtime/sample.h"
#include "runtime/tokenizer.h"

/* The prompt's tokens, BOS in front when the model asks for it and the text does not already start with it. */
static int encode_prompt(const struct run_options *o, const struct tokenizer *tok, struct token_list *ids,
                         struct error *err)
{
    struct buffer text = { 0 };
    struct token_list body = { 0 };
    int rc;
    if (o->chat) {
        const struct chat_message messages[] = { { "system", o->system }, { "user", o->prompt } };
        size_t first = o->system ? 0 : 1;
        const char *template = tokenizer_chat_template(tok);
        if (!template)
            return error_set(err, ERROR_MISSING, "%s: no chat template in it; leave --chat out", o->model);
        rc = chat_apply(template, messages + first, 2 - first, true, &text, err);
    } else {
        rc = buffer_append(&text, o->prompt, strlen(o->prompt), err);
    }
    if (!rc)
        rc = tokenizer_encode(tok, text.data, text.len, o->chat || o->parse_special, &body, err);
    int32_t bos = tokenizer_bos(tok);
    bool add = tokenizer_add_bos(tok) && bos >= 0 && !(body.n && body.ids[0] == bos);
    if (!rc && !(rc = mem_reserve((void **)&ids->ids, &ids->cap, body.n + 1, sizeof *ids->ids, "token ids", err))) {
        if (add)
            ids->ids[ids->n++] = bos;
        if (body.n)
            memcpy(ids->ids + ids->n, body.ids, body.n * sizeof *ids->ids);
        ids->n += body.n;
        if (!ids->n)
            rc = error_set(err, ERROR_USAGE, "the prompt is empty");
    }
    token_list_free(&body);
    buffer_free(&text);
    return rc;
}

/* Bytes of b that end with a whole UTF-8 character; bytes that can never become one count as whole. */
static size_t whole_characters(const struct buffer *b)
{
    size_t back = 0;
    while (back < 3 && back < b->len) {
        unsigned char c = (unsigned char)b->data[b->len - ++back];
        if ((c & 0xc0) == 0x80)
            continue;
        size_t want = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
        return want > back ? b->len - back : b->len;
    }
    return b->len;
}

static int put_piece(struct buffer *pending, const struct tokenizer *tok, int32_t id, struct error *err)
{
    size_t n;
    const char *piece = tokenizer_piece(tok, id, &n);
    int rc = piece ? buffer_append(pending, piece, n, err) : 0;
    if (rc)
        return rc;
    size_t whole = whole_characters(pending);
    fwrite(pending->data, 1, whole, stdout);
    fflush(stdout);
    memmove(pending->data, pending->data + whole, pending->len - whole);
    pending->len -= whole;
    return 0;
}

struct job {
    size_t n_vocab;
    struct context *c;
    struct sampler *sampler;
    float *hidden, *logits;
    struct buffer pending;
};

static int eval_prompt(struct job *j, const struct token_list *ids, struct error *err)
{
    size_t batch = context_batch(j->c);
    int rc = 0;
    for (size_t at = 0; at < ids->n && !rc; at += batch) {
        size_t n = ids->n - at < batch ? ids->n - at : batch;
        bool last = at + n == ids->n;
        rc = context_eval(j->c, ids->ids + at, n, last ? n - 1 : n, last ? j->hidden : NULL, err);
    }
    for (size_t i = 0; i < ids->n; i++)
        sampler_accept(j->sampler, ids->ids[i]);
    return rc;
}

static int generate(const struct run_options *o, struct job *j, const struct tokenizer *tok,
                    const struct token_list *ids, size_t n_predict, struct error *err)
{
    double start = run_seconds();
    size_t made = 0;
    int rc = eval_prompt(j, ids, err);
    double prompt = run_seconds() - start;
    for (start = run_seconds(); made < n_predict && !rc;) {
        if ((rc = context_logits(j->c, j->hidden, 1, j->logits, err)) ||
            (rc = run_check_logits(o, j->logits, j->n_vocab, err)))
            break;
        int32_t id = sampler_next(j->sampler, j->logits);
        if (tokenizer_is_stop(tok, id))
            break;
        if ((rc = put_piece(&j->pending, tok, id, err)))
            break;
        if (++made < n_predict)
            rc = context_eval(j->c, &id, 1, 0, j->hidden, err);
    }
    fwrite(j->pending.data ? j->pending.data : "", 1, j->pending.len, stdout);
    fputc('\n', stdout);
    fflush(stdout);
    if (o->common.verbose)
        run_say(o, "%zu prompt tokens in %.2f s, %zu generated in %.2f s (%.1f tokens/s)", ids->n, prompt, made,
                run_seconds() - start, (double)made / (run_seconds() - start));
    return rc;
}

static int open_job(const struct run_options *o, const struct run_env *e, struct job *j, size_t n_prompt,
                    size_t *n_predict, struct error *err)
{
    const struct hparams *h = model_hparams(e->model);
    const struct sample_params params = {
        .temp = o->temp,
        .top_k = (uint32_t)o->top_k,
        .top_p = o->top_p,
        .min_p = o->min_p,
        .repeat_penalty = o->repeat_penalty,
        .repeat_last_n = (uint32_t)o->repeat_last_n,
        .mirostat = o->mirostat ? 2 : 0,
        .mirostat_ent = o->mirostat_ent,
        .mirostat_lr = o->mirostat_lr,
        .seed = o->seed,
    };
    size_t n_ctx = o->n_ctx ? o->n_ctx : n_prompt + *n_predict;
    if (n_prompt >= n_ctx)
        return error_set(err, ERROR_USAGE, "the prompt's %zu tokens fill a context of %zu", n_prompt, n_ctx);
    if (*n_predict > n_ctx - n_prompt)
        *n_predict = n_ctx - n_prompt;
    if (n_ctx > h->n_ctx_train)
        run_say(o, "warning: %zu positions, the model was trained on %u", n_ctx, h->n_ctx_train);
    run_say(o, "%zu prompt tokens, at most %zu to generate, seed %llu", n_prompt, *n_predict,
            (unsigned long long)o->seed);
    j->n_vocab = h->n_vocab;
    int rc = context_open(&j->c, e->model, (uint32_t)n_ctx, (uint32_t)o->n_batch, o->kv_type, err);
    if (!rc)
        rc = sampler_open(&j->sampler, &params, h->n_vocab, err);
    if (!rc && (!(j->hidden = mem_aligned(h->n_embd, sizeof *j->hidden, "hidden states", err)) ||
                !(j->logits = mem_aligned(h->n_vocab, sizeof *j->logits, "logits", err))))
        rc = ERROR_NOMEM;
    return rc;
}

int cmd_generate(const struct run_options *o, struct error *err)
{
    struct run_env e;
    struct job j = { 0 };
    struct tokenizer *tok = NULL;
    struct token_list ids = { 0 };
    size_t n_predict = o->n_predict;
    int rc = run_env_open(&e, o, err);
    if (rc)
        return rc;
    if (!(rc = tokenizer_open(&tok, model_gguf(e.model), err)) && !(rc = encode_prompt(o, tok, &ids, err)) &&
        !(rc = open_job(o, &e, &j, ids.n, &n_predict, err)) && !o->common.dry_run)
        rc = generate(o, &j, tok, &ids, n_predict, err);
    buffer_free(&j.pending);
    mem_free(j.hidden);
    mem_free(j.logits);
    sampler_close(j.sampler);
    context_close(j.c);
    token_list_free(&ids);
    tokenizer_close(tok);
    run_env_close(&e);
    return rc;
}
