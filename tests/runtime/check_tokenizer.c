/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/model/pretokenizer.h"
#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/rng.h"
#include "base/util/text.h"
#include "convert/vocab.h"
#include "tests/runtime/vocabulary.h"
#include "tests/support/support.h"

static struct vocabulary v; /* large; one test at a time */

static struct tokenizer *opened(void)
{
    struct error e = { 0 };
    struct tokenizer *t = NULL;
    ck_ok(vocabulary_open(&v, &t, &e), e);
    return t;
}

static struct token_list encoded(const struct tokenizer *t, const char *text, size_t n, bool special)
{
    struct error e = { 0 };
    struct token_list l = { 0 };
    ck_ok(tokenizer_encode(t, text, n, special, &l, &e), e);
    return l;
}

/* The pieces of a text joined by '|', which shows where it was cut. */
static const char *pieces(const struct tokenizer *t, const char *text, bool special)
{
    static char out[4096];
    struct token_list l = encoded(t, text, strlen(text), special);
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < l.n; i++) {
        size_t n;
        const char *s = tokenizer_piece(t, l.ids[i], &n);
        len += (size_t)snprintf(out + len, sizeof out - len, "%s%.*s", i ? "|" : "", (int)n, s);
    }
    token_list_free(&l);
    return out;
}

/* ---- bytes and merges -------------------------------------------------------------------------------------------- */

START_TEST(bytes_round_trip)
{
    static const char text[] = "a\tb\n\x01\x7f caf\xc3\xa9 \xf0\x9f\x9a\x80\xe2\x80\x83\xc2\xad\0end";
    vocabulary_init(&v, "gpt-2");
    struct tokenizer *t = opened();
    struct token_list l = encoded(t, text, sizeof text - 1, false);
    ck_assert_uint_eq(l.n, sizeof text - 1);
    for (size_t i = 0; i < l.n; i++) {
        size_t n;
        const char *s = tokenizer_piece(t, l.ids[i], &n);
        ck_assert_int_eq(l.ids[i], (unsigned char)text[i]);
        ck_assert(n == 1 && *s == text[i]);
    }
    ck_assert_uint_eq(tokenizer_n_vocab(t), 256);
    ck_assert_ptr_null(tokenizer_piece(t, 256, &(size_t){ 0 }));
    ck_assert_ptr_null(tokenizer_piece(t, -1, &(size_t){ 0 }));
    token_list_free(&l);
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

/* The definition: join the leftmost pair of lowest rank until there is none. Ids of merges are known to the test. */
struct naive {
    int32_t left, right, joined;
};

static size_t naive_merge(int32_t *ids, size_t n, const struct naive *m, size_t n_merges)
{
    for (;;) {
        size_t best = n_merges, at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t r = 0; r < best; r++)
                if (m[r].left == ids[i] && m[r].right == ids[i + 1]) {
                    best = r;
                    at = i;
                }
        if (best == n_merges)
            return n;
        ids[at] = m[best].joined;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

START_TEST(merges_follow_the_definition)
{
    static struct naive merges[120];
    static char words[120][64];
    struct rng r;
    rng_seed(&r, 20);
    for (int round = 0; round < 4; round++) {
        vocabulary_init(&v, "gpt-2");
        size_t n = 0, n_words = 3;
        strcpy(words[0], "a");
        strcpy(words[1], "b");
        strcpy(words[2], "c");
        while (n < 60) {
            const char *left = words[rng_below(&r, n_words)], *right = words[rng_below(&r, n_words)];
            char joined[130];
            snprintf(joined, sizeof joined, "%s%s", left, right);
            bool known = strlen(joined) > 12;
            for (size_t i = 0; i < n; i++)
                known = known || (merges[i].left == vocabulary_add(&v, left, strlen(left)) &&
                                  merges[i].right == vocabulary_add(&v, right, strlen(right)));
            if (known)
                continue;
            merges[n].joined = vocabulary_merge(&v, left, right);
            merges[n].left = vocabulary_add(&v, left, strlen(left));
            merges[n].right = vocabulary_add(&v, right, strlen(right));
            n++;
            if (n_words < 100)
                strcpy(words[n_words++], joined);
        }
        struct tokenizer *t = opened();
        for (int i = 0; i < 400; i++) {
            char text[400];
            int32_t ids[400];
            size_t len = 1 + rng_below(&r, i % 10 ? 40 : 399); /* beyond the cached length too; words repeat */
            for (size_t k = 0; k < len; k++) {
                text[k] = (char)('a' + rng_below(&r, 3));
                ids[k] = text[k];
            }
            size_t want = naive_merge(ids, len, merges, n);
            for (int again = 0; again < 2; again++) {
                struct token_list l = encoded(t, text, len, false);
                ck_assert_uint_eq(l.n, want);
                ck_assert(memcmp(l.ids, ids, want * sizeof *ids) == 0);
                token_list_free(&l);
            }
        }
        tokenizer_close(t);
        vocabulary_free(&v);
    }
}
END_TEST

START_TEST(long_words)
{
    static char text[300001];
    vocabulary_init(&v, "gpt-2");
    int32_t aa = vocabulary_merge(&v, "a", "a"), aaaa = vocabulary_merge(&v, "aa", "aa");
    struct tokenizer *t = opened();
    memset(text, 'a', sizeof text);
    struct token_list l = encoded(t, text, sizeof text, false);
    ck_assert_uint_eq(l.n, 75001);
    for (size_t i = 0; i + 1 < l.n; i++)
        ck_assert_int_eq(l.ids[i], aaaa);
    ck_assert_int_eq(l.ids[l.n - 1], 'a');
    (void)aa;
    token_list_free(&l);
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

START_TEST(a_byte_without_a_token_is_left_out)
{
    vocabulary_init(&v, "gpt-2");
    v.tokens['!'] = (struct gguf_str){ "unreachable", 11 };
    vocabulary_merge(&v, "a", "b");
    struct tokenizer *t = opened();
    ck_assert_str_eq(pieces(t, "!!", false), "");
    ck_assert_str_eq(pieces(t, "x! y", false), "x| |y");
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

START_TEST(whole_words)
{
    vocabulary_init(&v, "llama-bpe");
    vocabulary_merge(&v, "a", "b");
    vocabulary_add(&v, "abc", 3); /* no merge leads to it */
    struct tokenizer *t = opened();
    ck_assert_str_eq(pieces(t, "abc abcd abc", false), "abc| |ab|c|d| |ab|c");
    ck_assert(tokenizer_add_bos(t));
    tokenizer_close(t);
    v.ignore_merges = 0;
    t = opened();
    ck_assert_str_eq(pieces(t, "abc", false), "ab|c");
    tokenizer_close(t);
    v.ignore_merges = -1;
    v.pre = "smaug-bpe";
    t = opened();
    ck_assert_str_eq(pieces(t, "abc", false), "ab|c");
    ck_assert(!tokenizer_add_bos(t));
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

/* ---- words ------------------------------------------------------------------------------------------------------- */

/* Every two-byte merge exists, so a word is cut only by its length and by the pre-tokenizer; what shows is the
 * pre-tokenizer. */
START_TEST(pre_tokenizers)
{
    static const struct {
        const char *pre, *text, *want;
    } rows[] = {
        { "gpt-2", "it's 12 34", "it|'s| 12| 34" },
        { "smollm", "it's 12 34", "it|'s| |1|2| |3|4" },
        { "gpt-2", "IT'S", "IT|'|S" },
        { "smaug-bpe", "IT'S", "IT|'S" },
        { "smaug-bpe", "x1234", "x|123|4" },
        { "qwen2", "x12", "x|1|2" },
        { "qwen2", "a  b", "a| | b" },
        { "qwen2", "(a)b", "(a|)b" },
        { "gpt-2", "(a)b", "(|a|)|b" },
        { "gpt-2", "a\n\nb", "a|\n|\n|b" },
        { "qwen2", "a \n\nb", "a| \n\n|b" },
        { "deepseek-v3", "a1234", "a|123|4" },
        { "gpt-2", "a\xe1\xa0\x8e", "a|\xe1\xa0\x8e" }, /* U+180E is no white space: it is a word with what follows */
        { "gpt-2", "a\xe1\xa0\x8e!", "a|\xe1\xa0\x8e!" },
        { "gpt-2", "a\xc2\x85!", "a|\xc2\x85|!" },    /* U+0085 is */
        { "smaug-bpe", "a'\xc5\xbf", "a|'\xc5\xbf" }, /* U+017F folds to s */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        vocabulary_init(&v, rows[i].pre);
        static const char *const merges[][2] = {
            { "i", "t" },        { "I", "T" },           { "'", "s" },
            { "'", "S" },        { "1", "2" },           { "12", "3" },
            { " ", "12" },       { "3", "4" },           { " ", "34" },
            { " ", "b" },        { "(", "a" },           { ")", "b" },
            { " ", " " },        { "\n", "\n" },         { " ", "\n\n" },
            { "\xe1", "\xa0" },  { "\xe1\xa0", "\x8e" }, { "\xe1\xa0\x8e", "!" },
            { "\xc2", "\x85" },  { "\xc2\x85", "!" },    { "\xc5", "\xbf" },
            { "'", "\xc5\xbf" },
        };
        for (size_t m = 0; m < sizeof merges / sizeof *merges; m++)
            vocabulary_merge(&v, merges[m][0], merges[m][1]);
        struct tokenizer *t = opened();
        const char *got = pieces(t, rows[i].text, false);
        ck_assert_msg(strcmp(got, rows[i].want) == 0, "row %zu, %s: %s", i, rows[i].pre, got);
        tokenizer_close(t);
        vocabulary_free(&v);
    }
}
END_TEST

START_TEST(every_entry_compiles)
{
    for (size_t i = 0; pretokenizer_at(i); i++) {
        vocabulary_init(&v, pretokenizer_at(i)->name);
        struct tokenizer *t = opened();
        static const char text[] =
            "Mixed CASE, 12345 \xd0\x9d\xd0\xb5\xd1\x89\xd0\xbe!\n\n  x's \xe6\x88\x91\xe6\x83\xb3 \xcc\x81";
        struct token_list l = encoded(t, text, sizeof text - 1, false);
        ck_assert_uint_eq(l.n, sizeof text - 1); /* no merges: each byte is a token, wherever the cuts are */
        token_list_free(&l);
        tokenizer_close(t);
        vocabulary_free(&v);
    }
}
END_TEST

START_TEST(composition)
{
    static const char composed[] = "caf\xc3\xa9", loose[] = "cafe\xcc\x81";
    for (int nfc = -1; nfc <= 1; nfc++) {
        vocabulary_init(&v, "qwen2");
        vocabulary_merge(&v, "\xc3", "\xa9");
        v.nfc = nfc;
        struct tokenizer *t = opened();
        struct token_list a = encoded(t, composed, strlen(composed), false),
                          b = encoded(t, loose, strlen(loose), false);
        ck_assert_uint_eq(a.n, 4);
        ck_assert_uint_eq(b.n, nfc == 0 ? 6 : 4);
        token_list_free(&a);
        token_list_free(&b);
        tokenizer_close(t);
        vocabulary_free(&v);
    }
}
END_TEST

/* Marks of descending classes in one run take utf8proc quadratic time to order, so there is a limit; many short runs
 * and tokenizers without NFC have none. */
START_TEST(long_runs_of_marks)
{
    struct buffer text = { 0 };
    struct error err = { 0 };
    vocabulary_init(&v, "qwen2");
    for (int nfc = 0; nfc <= 1; nfc++) {
        v.nfc = nfc;
        struct tokenizer *t = opened();
        struct token_list ids = { 0 };
        text.len = 0;
        for (int i = 0; i < 200000; i++) {
            if (i % 500 == 0)
                ck_ok(buffer_append(&text, "a", 1, &err), err);
            ck_ok(buffer_append(&text, i % 2 ? "\xcc\x96" : "\xcc\x81", 2, &err), err); /* classes 220, 230 */
        }
        ck_ok(tokenizer_encode(t, text.data, text.len, false, &ids, &err), err);
        ids.n = text.len = 0;
        for (int i = 0; i < 200000; i++)
            ck_ok(buffer_append(&text, i % 2 ? "\xcc\x96" : "\xcc\x81", 2, &err), err);
        ck_assert_int_eq(tokenizer_encode(t, text.data, text.len, false, &ids, &err), nfc ? ERROR_UNSUPPORTED : 0);
        token_list_free(&ids);
        tokenizer_close(t);
    }
    vocabulary_free(&v);
    buffer_free(&text);
}
END_TEST

START_TEST(ten_million_spaces)
{
    size_t n = 10000000;
    char *text = malloc(n);
    struct token_list ids = { 0 };
    struct error err = { 0 };
    ck_assert_ptr_nonnull(text);
    memset(text, ' ', n);
    vocabulary_init(&v, "qwen2");
    struct tokenizer *t = opened();
    ck_ok(tokenizer_encode(t, text, n, false, &ids, &err), err);
    ck_assert_uint_ge(ids.n, 1);
    token_list_free(&ids);
    tokenizer_close(t);
    vocabulary_free(&v);
    free(text);
}
END_TEST

/* ---- added tokens ------------------------------------------------------------------------------------------------ */

START_TEST(added_tokens)
{
    vocabulary_init(&v, "gpt-2");
    vocabulary_add_text(&v, "<|im_start|>", 3);
    vocabulary_add_text(&v, "<x>", 4);
    vocabulary_add_text(&v, "<x><x>", 4);
    vocabulary_add_text(&v, "ab", 4);
    vocabulary_add_text(&v, "abcd", 4);
    vocabulary_add_text(&v, "bcdefg", 4);
    vocabulary_add_text(&v, "\xc3\xa9t\xc3\xa9", 4);
    vocabulary_add_text(&v, "unused", 5);
    struct tokenizer *t = opened();
    ck_assert_str_eq(pieces(t, "<|im_start|>", true), "<|im_start|>");
    ck_assert_str_eq(pieces(t, "<|im_start|>", false), "<|||i|m|_|s|t|a|r|t|||>");
    ck_assert_str_eq(pieces(t, "<x><x><x>", false), "<x><x>|<x>");
    ck_assert_str_eq(pieces(t, "1<x>2", false), "1|<x>|2");
    ck_assert_str_eq(pieces(t, "abcdefg", false), "abcd|e|f|g"); /* leftmost before longest */
    ck_assert_str_eq(pieces(t, "abcbcdefg", false), "ab|c|bcdefg");
    ck_assert_str_eq(pieces(t, "\xc3\xa9t\xc3\xa9\xc3\xa9t", false), "\xc3\xa9t\xc3\xa9|\xc3|\xa9|t");
    ck_assert_str_eq(pieces(t, "unused", true), "u|n|u|s|e|d");
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

/* Against a search of every token at every place; letters from a small alphabet so that tokens overlap in all ways. */
START_TEST(matching_against_search)
{
    struct rng r;
    rng_seed(&r, 21);
    for (int round = 0; round < 20; round++) {
        char tokens[40][10];
        size_t n = 0;
        vocabulary_init(&v, "gpt-2");
        while (n < 40) {
            size_t len = 2 + rng_below(&r, 6);
            for (size_t k = 0; k < len; k++)
                tokens[n][k] = (char)('a' + rng_below(&r, 2 + (unsigned)round % 3));
            tokens[n][len] = '\0';
            bool known = false;
            for (size_t i = 0; i < n; i++)
                known = known || strcmp(tokens[i], tokens[n]) == 0;
            if (!known)
                vocabulary_add_text(&v, tokens[n++], 4);
            else if (rng_below(&r, 50) == 0)
                break; /* a small alphabet may have no more */
        }
        struct tokenizer *t = opened();
        for (int i = 0; i < 100; i++) {
            char text[200];
            int32_t want[200];
            size_t len = rng_below(&r, 199), n_want = 0;
            for (size_t k = 0; k < len; k++)
                text[k] = (char)('a' + rng_below(&r, 4));
            for (size_t k = 0; k < len;) {
                size_t best = 0, longest = 0;
                for (size_t j = 0; j < n; j++) {
                    size_t m = strlen(tokens[j]);
                    if (m > longest && m <= len - k && memcmp(text + k, tokens[j], m) == 0) {
                        best = j;
                        longest = m;
                    }
                }
                want[n_want++] = longest ? 256 + (int32_t)best : text[k];
                k += longest ? longest : 1;
            }
            struct token_list l = encoded(t, text, len, false);
            ck_assert_uint_eq(l.n, n_want);
            ck_assert(!n_want || memcmp(l.ids, want, n_want * sizeof *want) == 0);
            token_list_free(&l);
        }
        tokenizer_close(t);
        vocabulary_free(&v);
    }
}
END_TEST

/* A thousand special tokens that share a long start, and a text of a million bytes that almost matches.
 * Linear work ends at once; the product of the two would outlast the test's time limit. */
START_TEST(many_special_tokens)
{
    vocabulary_init(&v, "gpt-2");
    for (int i = 0; i < 1000; i++) {
        char name[300];
        memset(name, 'a', 200);
        snprintf(name + 200, 100, "<|reserved_%d|>", i);
        vocabulary_add_text(&v, name, 3);
    }
    struct tokenizer *t = opened();
    size_t n = 1 << 20;
    char *text = malloc(n);
    memset(text, 'a', n);
    memcpy(text + n - 14, "<|reserved_7|>", 14);
    struct token_list l = encoded(t, text, n, true);
    ck_assert_uint_eq(l.n, n - 214 + 1);
    ck_assert_int_eq(l.ids[l.n - 1], 256 + 7);
    token_list_free(&l);
    free(text);
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

/* ---- ids, template, errors --------------------------------------------------------------------------------------- */

START_TEST(ids_and_template)
{
    vocabulary_init(&v, "gpt-2");
    v.bos = vocabulary_add_text(&v, "<bos>", 3);
    v.eos = vocabulary_add_text(&v, "<eos>", 3);
    v.eot = vocabulary_add_text(&v, "<turn>", 3);
    int32_t by_name = vocabulary_add_text(&v, "<|eot_id|>", 3), listed = vocabulary_add_text(&v, "<other>", 3);
    v.stops[v.n_stops++] = (int32_t)v.eos;
    v.stops[v.n_stops++] = listed;
    v.add_bos = 1;
    v.chat_template = "{{ x }}";
    struct tokenizer *t = opened();
    ck_assert_int_eq(tokenizer_bos(t), v.bos);
    ck_assert_int_eq(tokenizer_eos(t), v.eos);
    ck_assert(tokenizer_add_bos(t));
    ck_assert_str_eq(tokenizer_chat_template(t), "{{ x }}");
    ck_assert(tokenizer_is_stop(t, (int32_t)v.eos) && tokenizer_is_stop(t, (int32_t)v.eot));
    ck_assert(tokenizer_is_stop(t, by_name) && tokenizer_is_stop(t, listed));
    ck_assert(!tokenizer_is_stop(t, (int32_t)v.bos) && !tokenizer_is_stop(t, 'a'));
    ck_assert(!tokenizer_is_stop(t, -1) && !tokenizer_is_stop(t, 1 << 30));
    tokenizer_close(t);
    vocabulary_free(&v);
    vocabulary_init(&v, "gpt-2");
    t = opened();
    ck_assert(tokenizer_bos(t) == -1 && tokenizer_eos(t) == -1 && !tokenizer_add_bos(t) && !tokenizer_chat_template(t));
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

START_TEST(invalid_text)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "ab\xff", "byte 2" },
        { "\xc3", "byte 0" },
        { "abc\xed\xa0\x80", "byte 3" },
        { "\xc0\x80", "byte 0" },
        { "ok \xf4\x90\x80\x80", "byte 3" },
    };
    vocabulary_init(&v, "gpt-2");
    struct tokenizer *t = opened();
    struct token_list l = encoded(t, "xy", 2, false);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        ck_assert_int_eq(tokenizer_encode(t, rows[i].text, strlen(rows[i].text), false, &l, &e), ERROR_FORMAT);
        ck_assert_msg(strstr(e.text, rows[i].says), "row %zu: %s", i, e.text);
        ck_assert_uint_eq(l.n, 2); /* what was there stays, nothing is added */
    }
    struct error e = { 0 };
    ck_ok(tokenizer_encode(t, "", 0, false, &l, &e), e);
    ck_assert_uint_eq(l.n, 2);
    token_list_free(&l);
    tokenizer_close(t);
    vocabulary_free(&v);
}
END_TEST

static void no_model(void)
{
    v.model = NULL;
}
static void spm(void)
{
    v.model = "llama";
}
static void no_pre(void)
{
    v.pre = NULL;
}
static void unknown_pre(void)
{
    v.pre = "no-such-rule";
}
static void no_tokens(void)
{
    v.no_tokens = true;
}
static void empty(void)
{
    v.n = 0;
    v.n_types = SIZE_MAX;
    v.n_merges = 0;
}
static void duplicate(void)
{
    vocabulary_add_text(&v, "a", 1);
}
static void few_types(void)
{
    v.n_types = v.n - 1;
}
static void bad_type(void)
{
    v.types[5] = 7;
}
static void negative_type(void)
{
    v.types[5] = -1;
}
static void no_merges(void)
{
    v.no_merges = true;
}
static void unknown_left(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ "qq b", 4 };
}
static void unknown_right(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ "b qq", 4 };
}
static void unknown_joined(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ "q z", 3 };
}
static void no_space(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ "ab", 2 };
}
static void no_right(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ "ab ", 3 };
}
static void no_left(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ " ab", 3 };
}
static void empty_merge(void)
{
    v.merges[v.n_merges++] = (struct gguf_str){ "", 0 };
}
static void bos_range(void)
{
    v.bos = (int64_t)v.n;
}
static void eos_range(void)
{
    v.eos = 4000000000;
}
static void eot_range(void)
{
    v.eot = 100000;
}
static void stop_range(void)
{
    v.stops[v.n_stops++] = (int32_t)v.n;
}
static void stop_negative(void)
{
    v.stops[v.n_stops++] = -1;
}

/* A token of 1 MiB. */
static void huge_token(void)
{
    static char text[(1 << 20) + 1];
    memset(text, 'a', sizeof text - 1);
    vocabulary_add_text(&v, text, 4);
}

START_TEST(hostile_files)
{
    static const struct {
        void (*spoil)(void);
        int code;
        const char *says;
    } rows[] = {
        { no_model, ERROR_FORMAT, "tokenizer.ggml.model" },
        { spm, ERROR_UNSUPPORTED, "\"llama\"" },
        { no_pre, ERROR_UNSUPPORTED, "tokenizer.ggml.pre" },
        { unknown_pre, ERROR_UNSUPPORTED, "\"no-such-rule\"" },
        { no_tokens, ERROR_FORMAT, "tokenizer.ggml.tokens" },
        { empty, ERROR_FORMAT, "0 tokens" },
        { duplicate, ERROR_FORMAT, "tokens 97 and 257 are both \"a\"" },
        { few_types, ERROR_FORMAT, "256 types for 257 tokens" },
        { bad_type, ERROR_FORMAT, "token 5 has type 7" },
        { negative_type, ERROR_FORMAT, "token 5 has type -1" },
        { no_merges, ERROR_FORMAT, "tokenizer.ggml.merges" },
        { unknown_left, ERROR_FORMAT, "merges[1]: no token \"qq\"" },
        { unknown_right, ERROR_FORMAT, "no token \"qq\"" },
        { unknown_joined, ERROR_FORMAT, "no token \"qz\"" },
        { no_space, ERROR_FORMAT, "expected two tokens" },
        { no_right, ERROR_FORMAT, "expected two tokens" },
        { no_left, ERROR_FORMAT, "expected two tokens" },
        { empty_merge, ERROR_FORMAT, "expected two tokens" },
        { bos_range, ERROR_FORMAT, "bos_token_id is 257, but there are 257 tokens" },
        { eos_range, ERROR_FORMAT, "eos_token_id is 4000000000" },
        { eot_range, ERROR_FORMAT, "eot_token_id is 100000" },
        { stop_range, ERROR_FORMAT, "eos_token_ids[0] is 257" },
        { stop_negative, ERROR_FORMAT, "eos_token_ids[0] is -1" },
        { huge_token, ERROR_FORMAT, "1048576 bytes" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        struct tokenizer *t = (void *)&v;
        vocabulary_init(&v, "gpt-2");
        vocabulary_merge(&v, "a", "b");
        rows[i].spoil();
        ck_assert_msg(vocabulary_open(&v, &t, &e) == rows[i].code, "row %zu: %s", i, e.text);
        ck_assert_ptr_null(t);
        ck_assert_msg(strstr(e.text, rows[i].says) && strstr(e.text, "vocabulary.gguf"), "row %zu: %s", i, e.text);
        vocabulary_free(&v);
    }
}
END_TEST

/* ---- the demo model ---------------------------------------------------------------------------------------------- */

START_TEST(demo_model)
{
    struct error e = { 0 };
    struct json_doc *config = NULL, *reference = NULL;
    struct vocab *vocab;
    struct gguf_writer *w;
    struct gguf g = { 0 };
    struct tokenizer *t;
    char *text;
    size_t n;
    const char *dir = support_path("data/garden-3m"), *path = support_tmp("garden.gguf");

    ck_ok(json_parse_file(&config, support_path("data/garden-3m/config.json"), 1 << 24, 32, &e), e);
    ck_ok(vocab_open(&vocab, dir, config, 1024, NULL, &e), e);
    ck_ok(gguf_writer_new(&w, 32, &e), e);
    ck_ok(vocab_put(vocab, w, &e), e);
    ck_ok(gguf_writer_begin(w, path, true, &e), e);
    ck_ok(gguf_writer_commit(w, &e), e);
    ck_ok(gguf_open(&g, path, 0, &e), e);
    ck_ok(tokenizer_open(&t, &g, &e), e);
    gguf_close(&g); /* the tokenizer outlives it */

    ck_ok(json_parse_file(&reference, support_path("data/garden-3m/reference.json"), 1 << 24, 32, &e), e);
    static const struct {
        const char *file, *count, *ids;
    } texts[] = { { "data/garden-corpus/test.txt", "test_n_tokens", "test_token_ids_first_2000" },
                  { "data/garden-corpus/valid.txt", "valid_n_tokens", NULL } };
    for (size_t i = 0; i < 2; i++) {
        uint64_t want;
        ck_ok(file_read_all(support_path(texts[i].file), 1 << 24, &text, &n, &e), e);
        struct token_list l = encoded(t, text, n, false);
        ck_assert(json_u64(json_get(json_root(reference), texts[i].count), &want));
        ck_assert_uint_eq(l.n, want);
        size_t k = 0;
        const struct json *ids = texts[i].ids ? json_get(json_root(reference), texts[i].ids) : NULL;
        for (const struct json *id = json_first(ids); id; id = json_next(id), k++) {
            ck_assert(json_u64(id, &want));
            ck_assert_int_eq(l.ids[k], (int32_t)want);
        }
        ck_assert_uint_eq(k, ids ? 2000 : 0);
        size_t at = 0;
        for (size_t j = 0; j < l.n; j++) { /* the pieces are the text */
            size_t len;
            const char *s = tokenizer_piece(t, l.ids[j], &len);
            ck_assert(len <= n - at && memcmp(text + at, s, len) == 0);
            at += len;
        }
        ck_assert_uint_eq(at, n);
        token_list_free(&l);
        mem_free(text);
    }
    ck_assert_int_eq(tokenizer_eos(t), 1023);
    ck_assert(tokenizer_is_stop(t, 1021) && tokenizer_is_stop(t, 1023) && !tokenizer_is_stop(t, 1022));
    ck_assert(!tokenizer_add_bos(t));
    tokenizer_close(t);
    gguf_writer_free(w);
    vocab_free(vocab);
    json_free(config);
    json_free(reference);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("tokenizer");
    TCase *c = tcase_create("all");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, bytes_round_trip);
    tcase_add_test(c, merges_follow_the_definition);
    tcase_add_test(c, long_words);
    tcase_add_test(c, a_byte_without_a_token_is_left_out);
    tcase_add_test(c, whole_words);
    tcase_add_test(c, pre_tokenizers);
    tcase_add_test(c, every_entry_compiles);
    tcase_add_test(c, composition);
    tcase_add_test(c, long_runs_of_marks);
    tcase_add_test(c, ten_million_spaces);
    tcase_add_test(c, added_tokens);
    tcase_add_test(c, matching_against_search);
    tcase_add_test(c, many_special_tokens);
    tcase_add_test(c, ids_and_template);
    tcase_add_test(c, invalid_text);
    tcase_add_test(c, hostile_files);
    tcase_add_test(c, demo_model);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
