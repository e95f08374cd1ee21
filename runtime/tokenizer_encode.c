/* SPDX-License-Identifier: Apache-2.0 */
/* Text to ids. */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/util/text.h"
#include "runtime/tokenizer_internal.h"

enum { MAX_MARKS = 1024 };

/* Everything one call owns. */
struct encoder {
    const struct tokenizer *t;
    struct splitter splitter;
    struct bpe_scratch scratch;
    struct match_list matches;
    struct token_list *out;
};

static int encode_word(void *ctx, const char *word, size_t n, struct error *err)
{
    struct encoder *e = ctx;
    return bpe_word(e->t, &e->scratch, word, n, e->out, err);
}

/* Code points below U+0300 neither combine nor decompose under NFC, and their bytes are below 0xcc. */
static bool may_change_in_nfc(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((uint8_t)s[i] >= 0xcc)
            return true;
    return false;
}

/*
 * Ordering the marks of a character takes utf8proc the square of their number, so a run of them has a limit (Unicode's
 * stream-safe format allows 30). Three marks of class 0 count because they decompose to others.
 */
static int check_marks(const char *s, size_t n, struct error *err)
{
    size_t run = 0, used;
    uint32_t cp;
    for (size_t i = 0; i < n; i += used) {
        used = text_utf8_decode(s + i, n - i, &cp);
        if (!used)
            return 0; /* checked before */
        bool mark = cp >= 0x300 && (utf8proc_get_property((utf8proc_int32_t)cp)->combining_class || cp == 0xf73 ||
                                    cp == 0xf75 || cp == 0xf81);
        run = mark ? run + 1 : 0;
        if (run > MAX_MARKS)
            return error_set(err, ERROR_UNSUPPORTED, "more than %d combining marks in a row", MAX_MARKS);
    }
    return 0;
}

static int encode_plain(struct encoder *e, const char *text, size_t n, struct error *err)
{
    utf8proc_uint8_t *composed = NULL;
    if (e->t->nfc && may_change_in_nfc(text, n)) {
        int marks = check_marks(text, n, err);
        if (marks)
            return marks;
        utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &composed,
                                               UTF8PROC_STABLE | UTF8PROC_COMPOSE);
        if (length < 0) {
            free(composed);
            return error_set(err, length == UTF8PROC_ERROR_NOMEM ? ERROR_NOMEM : ERROR_FORMAT, "NFC: %s",
                             utf8proc_errmsg(length));
        }
        text = (const char *)composed;
        n = (size_t)length;
    }
    int code = split_words(e->t, &e->splitter, text, n, encode_word, e, err);
    free(composed); /* utf8proc's own allocation */
    return code;
}

/* Leftmost, then longest: the list descends and has the longest token of each place. */
static int encode_parts(struct encoder *e, const char *text, size_t n, struct error *err)
{
    size_t done = 0;
    int code = 0;
    for (size_t i = e->matches.n; i-- > 0 && !code;) {
        const struct match *m = &e->matches.items[i];
        if (m->pos < done)
            continue;
        code = encode_plain(e, text + done, m->pos - done, err);
        if (!code)
            code = token_list_add(e->out, m->id, err);
        done = m->pos + m->n;
    }
    return code ? code : encode_plain(e, text + done, n - done, err);
}

int tokenizer_encode(const struct tokenizer *t, const char *text, size_t n, bool parse_special, struct token_list *out,
                     struct error *err)
{
    struct encoder e = { .t = t, .out = out };
    size_t before = out->n, valid = n ? text_utf8_check(text, n) : 0;
    if (valid != n)
        return error_set(err, ERROR_FORMAT, "invalid UTF-8 at byte %zu", valid);
    if (!n)
        return 0;
    int code = splitter_open(&e.splitter, err);
    if (!code)
        code = matcher_scan(parse_special ? &t->special : &t->added, t, text, n, &e.matches, err);
    if (!code)
        code = encode_parts(&e, text, n, err);
    if (code)
        out->n = before;
    splitter_close(&e.splitter);
    bpe_scratch_free(&e.scratch);
    mem_free(e.matches.items);
    return code;
}

void token_list_free(struct token_list *l)
{
    mem_free(l->ids);
    *l = (struct token_list){ 0 };
}
