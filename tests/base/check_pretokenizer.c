/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/model/pretokenizer.h"
#include "tests/support/support.h"

/* Rules are written as in tokenizer.json; the raw strings keep \\ for JSON. */
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,\"use_regex\":false}"
#define BYTES_REGEX "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}"
#define SEQUENCE(x) "{\"type\":\"Sequence\",\"pretokenizers\":[" x "]}"
#define SPLIT(regex, behavior, invert)                                                                                 \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"" behavior "\",\"invert\":" invert "}"
#define WORDS(digits)                                                                                                  \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|" digits                                     \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define CL100K                                                                                                         \
    "'(?i:[sdmt]|ll|ve|re)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?+\\\\p{L}+|\\\\p{N}{1,3}| "                                   \
    "?[^\\\\s\\\\p{L}\\\\p{N}]++[\\\\r\\\\n]*"                                                                         \
    "|\\\\s*[\\\\r\\\\n]|\\\\s+(?!\\\\S)|\\\\s+"
/* The same with real line ends in the classes, as some files have them. */
#define WORDS_RAW                                                                                                      \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}"                                        \
    "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\r\\n]*|\\\\s*[\\r\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

static const struct pretokenizer *match(const char *json, bool ignore_merges, struct error *e)
{
    struct json_doc *d = NULL;
    const struct pretokenizer *p = NULL;
    e->text[0] = '\0';
    ck_ok(json_parse(&d, json, strlen(json), "rule", 64, 0, e), *e);
    int code = pretokenizer_match(json_root(d), ignore_merges, &p, e);
    ck_assert_int_eq(code, p ? 0 : ERROR_UNSUPPORTED);
    json_free(d);
    return p;
}

START_TEST(rules_are_recognised)
{
    static const struct {
        const char *rule;
        bool ignore_merges;
        const char *name;
    } rows[] = {
        { BYTES_REGEX, false, "gpt-2" },
        { "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}", false, "gpt-2" }, /* use_regex is true when absent */
        { SEQUENCE(BYTES_REGEX), false, "gpt-2" },
        { SEQUENCE("{\"type\":\"Digits\",\"individual_digits\":true}," BYTES_REGEX), false, "smollm" },
        { SEQUENCE(SPLIT("\\\\p{N}", "Isolated", "false") "," BYTES_REGEX), false, "smollm" },
        { SEQUENCE(SPLIT("\\\\p{N}{1}", "Isolated", "false") "," SEQUENCE(BYTES_REGEX)), false, "smollm" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}{1,3}"), "Isolated", "false") "," BYTES), true, "llama-bpe" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}{1,3}"), "Isolated", "false") "," BYTES), false, "smaug-bpe" },
        { SEQUENCE(SPLIT(CL100K, "Isolated", "false") "," BYTES), false, "smaug-bpe" },
        { SEQUENCE(SPLIT(CL100K, "Removed", "true") "," BYTES), true, "llama-bpe" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}"), "Isolated", "false") "," BYTES), false, "qwen2" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}"), "Isolated", "false") "," BYTES), true, "qwen2" },
        { SEQUENCE(SPLIT(WORDS_RAW, "Isolated", "false") "," BYTES), false, "qwen2" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        const struct pretokenizer *p = match(rows[i].rule, rows[i].ignore_merges, &e);
        ck_assert_msg(p && strcmp(p->name, rows[i].name) == 0, "row %zu: expected %s, found %s %s", i, rows[i].name,
                      p ? p->name : "nothing", e.text);
    }
}
END_TEST

/* Printed, never guessed. */
START_TEST(other_rules_are_printed)
{
    static const struct {
        const char *rule, *says;
    } rows[] = {
        { SEQUENCE(SPLIT("\\\\d+x", "Isolated", "false") "," BYTES), "\\d+x" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}{1,4}"), "Isolated", "false") "," BYTES), "{1,4}" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}"), "Removed", "false") "," BYTES), "Removed" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}"), "MergedWithNext", "false") "," BYTES), "MergedWithNext" },
        { SEQUENCE(SPLIT(WORDS("\\\\p{N}"), "Isolated", "true") "," BYTES), "invert" },
        { SEQUENCE(SPLIT("\\\\p{N}", "Removed", "true") "," BYTES_REGEX), "Removed" }, /* would drop the gaps */
        { SPLIT(WORDS("\\\\p{N}"), "Isolated", "false"), "Split" },                    /* not byte-level */
        { SEQUENCE(BYTES_REGEX ",{\"type\":\"Digits\",\"individual_digits\":true}"), "Digits" }, /* another order */
        { SEQUENCE(BYTES_REGEX "," BYTES_REGEX), "ByteLevel" },
        { SEQUENCE("{\"type\":\"Digits\",\"individual_digits\":false}," BYTES_REGEX), "individual_digits\":false" },
        { "{\"type\":\"ByteLevel\",\"add_prefix_space\":true,\"use_regex\":true}", "add_prefix_space\":true" },
        { "{\"type\":\"Metaspace\",\"replacement\":\"_\"}", "Metaspace" },
        { SEQUENCE("{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}," BYTES_REGEX), "Punctuation" },
        { "null", "null" },
        { "[]", "[]" },
        { "{\"type\":7}", "7" },
        { SEQUENCE(""), "Sequence" },
        { SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(SEQUENCE(BYTES_REGEX)))))), "Sequence" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        ck_assert_msg(!match(rows[i].rule, false, &e), "row %zu", i);
        ck_assert_msg(strstr(e.text, rows[i].says) && strstr(e.text, "--pre"), "row %zu: %s", i, e.text);
        ck_assert_ptr_null(strchr(e.text, '\n'));
    }
}
END_TEST

START_TEST(normalizers)
{
    static const struct {
        const char *json;
        int code;
        bool nfc;
    } rows[] = {
        { "null", 0, false },
        { "{\"type\":\"NFC\"}", 0, true },
        { "{\"type\":\"Sequence\",\"normalizers\":[]}", 0, false },
        { "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"}]}", 0, true },
        { "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Lowercase\"}]}", ERROR_UNSUPPORTED,
          false },
        { "{\"type\":\"NFKC\"}", ERROR_UNSUPPORTED, false },
        { "{\"type\":\"Prepend\",\"prepend\":\"_\"}", ERROR_UNSUPPORTED, false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        struct json_doc *d = NULL;
        bool nfc = true;
        ck_ok(json_parse(&d, rows[i].json, strlen(rows[i].json), "rule", 64, 0, &e), e);
        ck_assert_int_eq(pretokenizer_normalizer(json_root(d), &nfc, &e), rows[i].code);
        ck_assert_msg(nfc == rows[i].nfc, "row %zu", i);
        json_free(d);
    }
}
END_TEST

START_TEST(names)
{
    char list[256];
    pretokenizer_names(list, sizeof list);
    for (size_t i = 0; pretokenizer_at(i); i++) {
        const struct pretokenizer *p = pretokenizer_at(i);
        ck_assert_ptr_eq(pretokenizer_find(p->name, strlen(p->name)), p);
        ck_assert_ptr_nonnull(strstr(list, p->name));
        ck_assert_ptr_nonnull(p->steps[0]);
        ck_assert_ptr_null(p->steps[PRETOKENIZER_MAX_STEPS - 1]);
    }
    ck_assert_str_eq(pretokenizer_find("starcoder", 9)->name, "smollm");
    ck_assert_str_eq(pretokenizer_find("llama3", 6)->name, "llama-bpe");
    ck_assert_ptr_null(pretokenizer_find("smollm2", 7));
    ck_assert_ptr_null(pretokenizer_find("smoll", 5));
    ck_assert_ptr_null(pretokenizer_find("", 0));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("pretokenizer");
    TCase *c = tcase_create("all");
    tcase_add_test(c, rules_are_recognised);
    tcase_add_test(c, other_rules_are_printed);
    tcase_add_test(c, normalizers);
    tcase_add_test(c, names);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
