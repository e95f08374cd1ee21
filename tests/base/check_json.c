/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/mem.h"
#include "tests/support/support.h"

static struct json_doc *parsed(const char *text)
{
    struct error e = { 0 };
    struct json_doc *d = NULL;
    ck_ok(json_parse(&d, text, strlen(text), "t.json", 64, 0, &e), e);
    return d;
}

START_TEST(strict_grammar)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "", "end of the text" },
        { "  ", "end of the text" },
        { "{", "member name" },
        { "[1,", "a value" },
        { "[1,]", "a value" },
        { "{\"a\":1,}", "member name" },
        { "{a:1}", "member name" },
        { "{\"a\" 1}", "':'" },
        { "[1 2]", "',' or ']'" },
        { "{\"a\":1 \"b\":2}", "',' or '}'" },
        { "1 2", "nothing more" },
        { "{}{}", "nothing more" },
        { "[1]x", "nothing more" },
        { "NaN", "a value" },
        { "[Infinity]", "a value" },
        { "-Infinity", "a digit" },
        { "nul", "a value" },
        { "truex", "nothing more" },
        { "01", "leading zero" },
        { "-01", "leading zero" },
        { "+1", "a value" },
        { ".5", "a value" },
        { "1.", "a digit" },
        { "1e", "a digit" },
        { "1e+", "a digit" },
        { "0x10", "nothing more" },
        { "'a'", "a value" },
        { "\"a", "closing quote" },
        { "\"a\nb\"", "control character" },
        { "\"\\x\"", "unknown escape" },
        { "\"\\", "unknown escape" },
        { "\"\\u12g4\"", "hexadecimal" },
        { "\"\\u12", "hexadecimal" },
        { "\"\\ud800\"", "surrogate" },
        { "\"\\udc00\"", "surrogate" },
        { "\"\\ud800\\u0041\"", "surrogate" },
        { "\"\\ud800x\"", "surrogate" },
        { "\"\\u0000\"", "U+0000 in a string" },
        { "{\"\\u0000\":1}", "U+0000 in a member name" },
        { "\"\xff\"", "UTF-8" },
        { "\"\xed\xa0\x80\"", "UTF-8" },
        { "\xef\xbb\xbf{}", "byte order mark" },
        { "// c\n1", "a value" },
        { "[1]\x01", "nothing more" },
        { "1234567890123456789012345678901234567890123456789012345678901234", "63 characters" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        struct json_doc *d = (void *)1;
        int code = json_parse(&d, rows[i].text, strlen(rows[i].text), "t.json", 64, 0, &e);
        ck_assert_msg(code == ERROR_FORMAT, "'%s' gave %d", rows[i].text, code);
        ck_assert_msg(strstr(e.text, rows[i].says) != NULL, "'%s': %s", rows[i].text, e.text);
        ck_assert_msg(strstr(e.text, "t.json") == e.text && strstr(e.text, "byte"), "%s", e.text);
        ck_assert_ptr_null(d);
    }
}
END_TEST

START_TEST(text_needs_no_nul_and_nul_is_no_space)
{
    struct error e = { 0 };
    struct json_doc *d = NULL;
    char *p = support_guard(7, 1);
    memcpy(p, "[1,2,3]", 7);
    ck_ok(json_parse(&d, p, 7, "t", 4, 0, &e), e);
    json_free(d);
    for (size_t n = 0; n < 7; n++)
        ck_assert_int_eq(json_parse(&d, p + 7 - n, n, "t", 4, 0, &e), ERROR_FORMAT);
    support_guard_free(p, 7, 1);
    ck_assert_int_eq(json_parse(&d, "[1]\0", 4, "t", 4, 0, &e), ERROR_FORMAT);
}
END_TEST

START_TEST(byte_order_mark)
{
    struct error e = { 0 };
    struct json_doc *d = NULL;
    ck_ok(json_parse(&d, "\xef\xbb\xbf{\"a\":1}", 10, "t", 4, JSON_BOM, &e), e);
    ck_assert_uint_eq(json_count(json_root(d)), 1);
    json_free(d);
    ck_assert_int_eq(json_parse(&d, "\xef\xbb\xbf\xef\xbb\xbf{}", 8, "t", 4, JSON_BOM, &e), ERROR_FORMAT);
}
END_TEST

START_TEST(depth)
{
    char text[4000];
    struct error e = { 0 };
    struct json_doc *d = NULL;
    for (size_t levels = 1; levels < 1900; levels = levels < 8 ? levels + 1 : levels * 2) {
        memset(text, '[', levels);
        memset(text + levels, ']', levels);
        int code = json_parse(&d, text, 2 * levels, "t", 5, 0, &e);
        ck_assert_int_eq(code, levels <= 5 ? 0 : ERROR_FORMAT);
        if (code)
            ck_assert_ptr_nonnull(strstr(e.text, "depth"));
        json_free(d);
        code = json_parse(&d, text, 2 * levels, "t", 1000000, 0, &e);
        ck_assert_int_eq(code, levels <= 1000 ? 0 : ERROR_FORMAT);
        json_free(d);
    }
}
END_TEST

START_TEST(duplicate_keys)
{
    struct error e = { 0 };
    struct json_doc *d = NULL;
    const char *text = "{\"a\":{\"x\":1},\"b\":{\"x\":1,\"y\":2,\"\\u0078\":3}}";
    ck_assert_int_eq(json_parse(&d, text, strlen(text), "t.json", 8, 0, &e), ERROR_FORMAT);
    ck_assert_str_eq(e.text, "t.json: JSON: duplicate key \"x\" at byte 30");
    json_free(parsed("{\"a\":1,\"A\":2,\"\":3}"));
}
END_TEST

START_TEST(large_object)
{
    struct error e = { 0 };
    struct buffer b = { 0 };
    enum { N = 150000 };
    ck_ok(buffer_printf(&b, &e, "{"), e);
    for (int i = 0; i < N; i++)
        ck_ok(buffer_printf(&b, &e, "%s\"tok\\u00e9%d\":%d", i ? "," : "", i, i), e);
    size_t whole = b.len;
    ck_ok(buffer_printf(&b, &e, "}"), e);
    struct json_doc *d = NULL;
    ck_ok(json_parse(&d, b.data, b.len, "vocab", 4, 0, &e), e);
    ck_assert_uint_eq(json_count(json_root(d)), N);
    for (int i = 0; i < N; i += 7) {
        char key[32];
        uint64_t v = 0;
        snprintf(key, sizeof key, "tok\xc3\xa9%d", i);
        ck_assert(json_u64(json_get(json_root(d), key), &v));
        ck_assert_uint_eq(v, i);
    }
    ck_assert_ptr_null(json_get(json_root(d), "tok"));
    json_free(d);
    b.len = whole;
    ck_ok(buffer_printf(&b, &e,
                        ",\"tok\xc3\xa9"
                        "77777\":1}"),
          e);
    ck_assert_int_eq(json_parse(&d, b.data, b.len, "vocab", 4, 0, &e), ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.text, "77777"));
    buffer_free(&b);
}
END_TEST

START_TEST(integers_are_exact)
{
    struct json_doc *d = parsed("[9007199254740993,18446744073709551615,18446744073709551616,-9223372036854775808,"
                                "-9223372036854775809,1.0,1e3,-0,-1,1e999]");
    const struct json *v = json_first(json_root(d));
    uint64_t u = 0;
    int64_t i = 0;
    double f = 0;
    ck_assert(json_u64(v, &u) && u == 9007199254740993u && json_i64(v, &i) && i == 9007199254740993);
    v = json_next(v);
    ck_assert(json_u64(v, &u) && u == UINT64_MAX && !json_i64(v, &i));
    v = json_next(v);
    ck_assert(!json_u64(v, &u) && !json_i64(v, &i) && json_f64(v, &f) && f == 18446744073709551616.0);
    v = json_next(v);
    ck_assert(!json_u64(v, &u) && json_i64(v, &i) && i == INT64_MIN);
    v = json_next(v);
    ck_assert(!json_i64(v, &i));
    v = json_next(v);
    ck_assert(!json_u64(v, &u) && json_f64(v, &f) && f == 1);
    v = json_next(v);
    ck_assert(!json_u64(v, &u) && json_f64(v, &f) && f == 1000);
    v = json_next(v);
    ck_assert(json_u64(v, &u) && u == 0);
    v = json_next(v);
    ck_assert(!json_u64(v, &u) && json_i64(v, &i) && i == -1);
    v = json_next(v);
    ck_assert(!json_f64(v, &f));
    ck_assert_ptr_null(json_next(v));
    json_free(d);
}
END_TEST

START_TEST(values_and_paths)
{
    struct json_doc *d = parsed("{\"a\":{\"b\":[null,true,{\"c\":\"x\\ud83d\\ude00\\n\"}]},\"e\":{},\"f\":[]}");
    const struct json *b = json_get(json_get(json_root(d), "a"), "b"), *c;
    char path[64];
    bool flag = false;
    ck_assert_uint_eq(json_count(b), 3);
    ck_assert(json_is_null(json_first(b)) && json_is_null(NULL));
    ck_assert(json_bool(json_next(json_first(b)), &flag) && flag);
    c = json_get(json_next(json_next(json_first(b))), "c");
    ck_assert_str_eq(json_str(c), "x\xf0\x9f\x98\x80\n");
    ck_assert_str_eq(json_path(d, c, path, sizeof path), "a.b[2].c");
    ck_assert_str_eq(json_path(d, c, path, 5), "a.b[");
    ck_assert_str_eq(json_path(d, json_root(d), path, sizeof path), "");
    ck_assert_str_eq(json_key(c), "c");
    ck_assert_str_eq(json_key(b), "b");
    ck_assert_str_eq(json_key(json_first(b)), "");
    ck_assert_int_eq(json_kind(json_get(json_root(d), "e")), JSON_OBJECT);
    ck_assert_ptr_null(json_first(json_get(json_root(d), "e")));
    ck_assert_ptr_null(json_first(json_get(json_root(d), "f")));
    ck_assert_ptr_null(json_get(NULL, "x"));
    ck_assert_ptr_null(json_get(b, "x"));
    ck_assert_ptr_null(json_str(b));
    json_free(d);
    json_free(NULL);
}
END_TEST

START_TEST(typed_getters_name_the_place)
{
    struct json_doc *d = parsed("{\"r\":{\"factor\":\"8\",\"n\":-8,\"z\":null,\"ok\":5,\"t\":true}}");
    const struct json *r = json_get(json_root(d), "r");
    struct error e = { 0 };
    uint64_t u = 3;
    double f = 3;
    const char *s = NULL;
    bool t = false;
    ck_assert_int_eq(json_need_f64(d, r, "factor", &f, &e), ERROR_FORMAT);
    ck_assert_str_eq(e.text, "t.json: r.factor: expected a finite number, found a string \"8\"");
    ck_assert_int_eq(json_need_u64(d, r, "n", 1, 100, &u, &e), ERROR_FORMAT);
    ck_assert_str_eq(e.text, "t.json: r.n: expected an integer from 1 to 100, found -8");
    ck_assert_int_eq(json_need_u64(d, r, "missing", 1, UINT64_MAX, &u, &e), ERROR_FORMAT);
    ck_assert_str_eq(e.text, "t.json: r.missing: expected an integer of at least 1, found nothing");
    ck_assert_int_eq(json_need_str(d, r, "z", &s, &e), ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.text, "found null"));
    ck_ok(json_opt_u64(d, r, "z", 1, 9, &u, &e), e);
    ck_ok(json_opt_u64(d, r, "nope", 1, 9, &u, &e), e);
    ck_ok(json_opt_u64(d, NULL, "nope", 1, 9, &u, &e), e);
    ck_assert_uint_eq(u, 3);
    ck_assert_int_eq(json_opt_u64(d, r, "ok", 6, 9, &u, &e), ERROR_FORMAT);
    ck_ok(json_opt_u64(d, r, "ok", 5, 5, &u, &e), e);
    ck_assert_uint_eq(u, 5);
    ck_ok(json_opt_bool(d, r, "t", &t, &e), e);
    ck_assert(t);
    ck_assert_int_eq(json_opt_bool(d, r, "ok", &t, &e), ERROR_FORMAT);
    ck_assert_int_eq(json_opt_f64(d, r, "t", &f, &e), ERROR_FORMAT);
    ck_ok(json_need_f64(d, r, "ok", &f, &e), e);
    ck_assert(f == 5);
    ck_assert_int_eq(json_opt_str(d, r, "ok", &s, &e), ERROR_FORMAT);
    ck_ok(json_opt_str(d, r, "factor", &s, &e), e);
    ck_assert_str_eq(s, "8");
    json_free(d);
}
END_TEST

START_TEST(written_text_reads_back)
{
    struct error e = { 0 };
    struct buffer b = { 0 };
    static const double numbers[] = { 0, -0.0, 1, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789012, -2.5e-7 };
    ck_ok(json_put_str(&b, "a\"\\\n\t\x01\xc3\xa9\xff\x7f", 10, &e), e);
    ck_assert_str_eq(b.data, "\"a\\\"\\\\\\n\\t\\u0001\xc3\xa9\xef\xbf\xbd\\u007f\"");
    json_free(parsed(b.data));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double back = 1;
        b.len = 0;
        ck_ok(json_put_f64(&b, numbers[i], &e), e);
        struct json_doc *d = parsed(b.data);
        ck_assert(json_f64(json_root(d), &back) && back == numbers[i]);
        json_free(d);
    }
    b.len = 0;
    ck_ok(json_put_f64(&b, NAN, &e), e);
    ck_assert_str_eq(b.data, "null");
    b.len = 0;
    ck_ok(json_put_f64(&b, 0.1, &e), e);
    ck_assert_str_eq(b.data, "0.1");
    buffer_free(&b);
}
END_TEST

START_TEST(real_tokenizer)
{
    struct error e = { 0 };
    struct json_doc *d = NULL;
    ck_ok(json_parse_file(&d, support_path("data/garden-3m/tokenizer.json"), 1 << 26, 64, &e), e);
    const struct json *vocab = json_get(json_get(json_root(d), "model"), "vocab");
    ck_assert_uint_gt(json_count(vocab), 200);
    for (const struct json *m = json_first(vocab); m; m = json_next(m))
        ck_assert_ptr_eq(json_get(vocab, json_key(m)), m);
    json_free(d);
    ck_assert_int_eq(json_parse_file(&d, support_path("data/garden-3m/tokenizer.json"), 10, 64, &e), ERROR_FORMAT);
    ck_assert_int_eq(json_parse_file(&d, support_path("data/no-such.json"), 10, 64, &e), ERROR_MISSING);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("json");
    TCase *c = tcase_create("json");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, strict_grammar);
    tcase_add_test(c, text_needs_no_nul_and_nul_is_no_space);
    tcase_add_test(c, byte_order_mark);
    tcase_add_test(c, depth);
    tcase_add_test(c, duplicate_keys);
    tcase_add_test(c, large_object);
    tcase_add_test(c, integers_are_exact);
    tcase_add_test(c, values_and_paths);
    tcase_add_test(c, typed_getters_name_the_place);
    tcase_add_test(c, written_text_reads_back);
    tcase_add_test(c, real_tokenizer);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
