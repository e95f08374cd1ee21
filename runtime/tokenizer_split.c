/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting text into words with the expressions of a pre-tokenizer. */
#include <inttypes.h>
#include <string.h>

#include "runtime/tokenizer_internal.h"

/*
 * Unicode's White_Space, the meaning of \s in the source tokenizers' expression engine. PCRE2's \s with PCRE2_UCP also
 * takes U+180E, without it only ASCII.
 */
#define SPACE "\\t-\\r \\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}"

/* \s and \S in PCRE2's language, inside and outside of a class. \S does not occur within classes. */
static int regex_translate(const char *regex, struct buffer *out, struct error *err)
{
    bool in_class = false;
    int code = 0;
    for (const char *p = regex; *p && !code; p++) {
        if (*p == '\\' && p[1]) {
            p++;
            if (*p == 's')
                code = buffer_printf(out, err, in_class ? "%s" : "[%s]", SPACE);
            else if (*p == 'S')
                code = buffer_printf(out, err, "[^%s]", SPACE);
            else
                code = buffer_append(out, p - 1, 2, err);
            continue;
        }
        if (*p == '[' || *p == ']')
            in_class = *p == '[';
        code = buffer_append(out, p, 1, err);
    }
    return code;
}

int split_compile(struct tokenizer *t, struct error *err)
{
    struct buffer b = { 0 };
    int code = 0;
    for (; t->pre->steps[t->n_steps] && !code; t->n_steps++) {
        int number;
        PCRE2_SIZE at;
        b.len = 0;
        if ((code = regex_translate(t->pre->steps[t->n_steps], &b, err)))
            break;
        t->steps[t->n_steps] = pcre2_compile((PCRE2_SPTR)b.data, b.len, PCRE2_UTF, &number, &at, NULL);
        if (!t->steps[t->n_steps]) {
            PCRE2_UCHAR text[128] = "";
            pcre2_get_error_message(number, text, sizeof text);
            code = error_set(err, ERROR_INTERNAL, "pre-tokenizer %s, expression %zu, byte %zu: %s", t->pre->name,
                             t->n_steps + 1, (size_t)at, (const char *)text);
            break;
        }
        (void)pcre2_jit_compile(t->steps[t->n_steps], PCRE2_JIT_COMPLETE); /* without JIT: slower, same matches */
    }
    buffer_free(&b);
    return code;
}

int splitter_open(struct splitter *s, struct error *err)
{
    s->data = pcre2_match_data_create(1, NULL);
    s->context = pcre2_match_context_create(NULL);
    s->stack = pcre2_jit_stack_create(32 << 10, 8 << 20, NULL); /* NULL without JIT, which is fine */
    if (!s->data || !s->context)
        return error_set(err, ERROR_NOMEM, "out of memory for the match of a pre-tokenizer");
    /* The expressions are ours and take time linear in the text; the default limit would refuse 10 MB of spaces. */
    pcre2_set_match_limit(s->context, UINT32_MAX);
    if (s->stack)
        pcre2_jit_stack_assign(s->context, NULL, s->stack);
    return 0;
}

void splitter_close(struct splitter *s)
{
    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    pcre2_jit_stack_free(s->stack);
}

static int split_step(const struct tokenizer *t, struct splitter *s, size_t step, const char *text, size_t n,
                      split_fn *fn, void *ctx, struct error *err)
{
    if (!n)
        return 0;
    if (step == t->n_steps)
        return fn(ctx, text, n, err);
    size_t done = 0; /* bytes already handed on */
    int code = 0;
    while (done < n && !code) {
        int rc = pcre2_match(t->steps[step], (PCRE2_SPTR)text, n, done, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, s->data,
                             s->context);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc < 0)
            return error_set(err, ERROR_UNSUPPORTED, "pre-tokenizer %s gave up on a text (PCRE2 error %d)",
                             t->pre->name, rc);
        size_t from = pcre2_get_ovector_pointer(s->data)[0], to = pcre2_get_ovector_pointer(s->data)[1];
        code = split_step(t, s, step + 1, text + done, from - done, fn, ctx, err);
        if (!code)
            code = split_step(t, s, step + 1, text + from, to - from, fn, ctx, err);
        done = to;
    }
    return code ? code : split_step(t, s, step + 1, text + done, n - done, fn, ctx, err);
}

int split_words(const struct tokenizer *t, struct splitter *s, const char *text, size_t n, split_fn *fn, void *ctx,
                struct error *err)
{
    return split_step(t, s, 0, text, n, fn, ctx, err);
}
