/* SPDX-License-Identifier: Apache-2.0 */
#include "base/model/pretokenizer.h"

#include <stdio.h>
#include <string.h>

#include "base/util/mem.h"

/* Pieces that several expressions share. CONTRACTIONS ignores case (so U+017F counts as s); TAIL ends most expressions:
 * line ends with the white space before them, then white space that leaves its last character to the word that follows.
 */
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define TAIL "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define WORDS(digits) CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|" TAIL
#define WORDS_MARKS                                                                                                    \
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" TAIL
#define UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define CASED(suffix, digits)                                                                                          \
    "[^\\r\\n\\p{L}\\p{N}]?" UPPER "*" LOWER "+" suffix "|[^\\r\\n\\p{L}\\p{N}]?" UPPER "+" LOWER "*" suffix           \
    "|" digits "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" TAIL
#define CJK "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
#define DEEPSEEK3                                                                                                      \
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"                \
    "| ?[\\p{P}\\p{S}]+[\\r\\n]*|" TAIL

static const struct pretokenizer table[] = {
    { .name = "gpt-2", .steps = { GPT2 } },
    { .name = "smollm", .steps = { "\\p{N}", GPT2 } },
    { .name = "llama-bpe", .steps = { WORDS("\\p{N}{1,3}") }, .ignore_merges = true, .add_bos = true },
    { .name = "smaug-bpe", .steps = { WORDS("\\p{N}{1,3}") } },
    { .name = "qwen2", .steps = { WORDS("\\p{N}") }, .nfc = true },
    { .name = "qwen35", .steps = { WORDS_MARKS }, .nfc = true },
    { .name = "tekken", .steps = { CASED("", "\\p{N}") }, .ignore_merges = true, .add_bos = true },
    { .name = "gpt-4o", .steps = { CASED(CONTRACTIONS "?", "\\p{N}{1,3}") } },
    { .name = "deepseek-v3", .steps = { "\\p{N}{1,3}", CJK, DEEPSEEK3 } },
    { .name = "default", .steps = { "[\\p{P}\\$\\+<=>\\^~\\|]+", GPT2, "\\p{N}+", "[0-9][0-9][0-9]" } },
};

/* Names that llama.cpp treats exactly like an entry above. */
static const struct {
    const char *name, *entry;
} synonyms[] = {
    { "mpt", "gpt-2" },
    { "olmo", "gpt-2" },
    { "phi-2", "gpt-2" },
    { "jais", "gpt-2" },
    { "trillion", "gpt-2" },
    { "exaone4", "gpt-2" },
    { "starcoder", "smollm" },
    { "refact", "smollm" },
    { "codeshell", "smollm" },
    { "exaone", "smollm" },
    { "minerva-7b", "smollm" },
    { "llama3", "llama-bpe" },
    { "llama-v3", "llama-bpe" },
    { "falcon3", "llama-bpe" },
    { "falcon-h1", "llama-bpe" },
    { "pixtral", "llama-bpe" },
    { "midm-2.0", "llama-bpe" },
    { "lfm2", "llama-bpe" },
    { "dbrx", "smaug-bpe" },
    { "glm4", "smaug-bpe" },
    { "chatglm-bpe", "smaug-bpe" },
    { "deepseek-r1-qwen", "qwen2" },
    { "megrez", "qwen2" },
    { "llama4", "gpt-4o" },
    { "kanana2", "gpt-4o" },
};

/*
 * Other spellings of an expression above, each equal to it for every text:
 *  - the contractions' alternatives start with different letters, so grouping and order do not matter
 *  - in cl100k's form the possessive ?+ and ++ cannot be given back anyway: what follows is disjoint from what they
 * took; and \s*[\r\n] reaches the same last line end as \s*[\r\n]+, for \s* already takes every line end but the last
 */
static const struct {
    const char *spelling, *step;
} spellings[] = {
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]"
      "|\\s+(?!\\S)|\\s+",
      WORDS("\\p{N}{1,3}") },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]+"
      "|\\s+(?!\\S)|\\s+",
      WORDS("\\p{N}{1,3}") },
    { "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]"
      "|\\s+(?!\\S)|\\s+",
      WORDS("\\p{N}") },
    { "\\p{N}{1}", "\\p{N}" },
};

const struct pretokenizer *pretokenizer_at(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

static const struct pretokenizer *find_entry(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i].name) == n && memcmp(table[i].name, name, n) == 0)
            return &table[i];
    return NULL;
}

const struct pretokenizer *pretokenizer_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strlen(synonyms[i].name) == n && memcmp(synonyms[i].name, name, n) == 0)
            return find_entry(synonyms[i].entry, strlen(synonyms[i].entry));
    return find_entry(name, n);
}

const char *pretokenizer_names(char *buf, size_t cap)
{
    size_t len = 0;
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof table / sizeof *table && len < cap; i++)
        len += (size_t)snprintf(buf + len, cap - len, "%s%s", i ? ", " : "", table[i].name);
    return buf;
}

/* ---- reading a rule --------------------------------------------------------------------------------------------- */

struct rule {
    char *steps[PRETOKENIZER_MAX_STEPS];
    size_t n;
    bool byte_level; /* the ByteLevel that must come last was seen */
};

static void rule_free(struct rule *r)
{
    for (size_t i = 0; i < r->n; i++)
        mem_free(r->steps[i]);
}

/* A control character and its escape mean the same in an expression; the escape is the form compared. */
static int canonical(const char *regex, char **out, struct error *err)
{
    static const struct {
        char c;
        const char *escape;
    } controls[] = { { '\r', "\\r" }, { '\n', "\\n" }, { '\t', "\\t" } };
    struct buffer b = { 0 };
    int code = 0;
    for (const char *p = regex; *p && !code; p++) {
        const char *escape = NULL;
        for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
            if (*p == controls[i].c)
                escape = controls[i].escape;
        code = escape ? buffer_append(&b, escape, 2, err) : buffer_append(&b, p, 1, err);
    }
    const char *text = b.len ? b.data : "";
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcmp(text, spellings[i].spelling) == 0)
            text = spellings[i].step;
    if (!code && !(*out = mem_strdup(text, err)))
        code = ERROR_NOMEM;
    buffer_free(&b);
    return code;
}

/* 1: not a rule this file can express (the caller prints it); negative: an error. */
enum { OTHER = 1 };

static int add_step(struct rule *r, const char *regex, struct error *err)
{
    if (r->n + 1 >= PRETOKENIZER_MAX_STEPS || r->byte_level)
        return OTHER;
    int code = canonical(regex, &r->steps[r->n], err);
    if (!code)
        r->n++;
    return code;
}

static bool flag(const struct json *v, const char *key, bool absent)
{
    bool b = absent;
    json_bool(json_get(v, key), &b);
    return b;
}

static bool is_word(const struct json *v, const char *key, const char *word)
{
    const char *s = json_str(json_get(v, key));
    return s && strcmp(s, word) == 0;
}

/* Isolated keeps matches and gaps. "Removed" with invert keeps the matches only: the same for an expression that covers
 * every text, as those of the table that end in \s+ do; others are left to the user. */
static int split_step(const struct json *v, struct rule *r, struct error *err)
{
    const char *regex = json_str(json_get(json_get(v, "pattern"), "Regex"));
    bool invert = flag(v, "invert", false);
    if (!regex)
        return OTHER;
    if (is_word(v, "behavior", "Isolated") && !invert)
        return add_step(r, regex, err);
    size_t n = strlen(regex);
    bool total = n > 4 && strcmp(regex + n - 4, "|\\s+") == 0;
    if (is_word(v, "behavior", "Removed") && invert && total)
        return add_step(r, regex, err);
    return OTHER;
}

/* depth: nesting of Sequence, bounded because the text is foreign */
static int read_rule(const struct json *v, struct rule *r, unsigned depth, struct error *err)
{
    if (depth > 4 || !json_str(json_get(v, "type")))
        return OTHER;
    if (is_word(v, "type", "Sequence")) {
        int code = 0;
        for (const struct json *c = json_first(json_get(v, "pretokenizers")); c && !code; c = json_next(c))
            code = read_rule(c, r, depth + 1, err);
        return code;
    }
    if (is_word(v, "type", "Digits"))
        return add_step(r, flag(v, "individual_digits", false) ? "\\p{N}" : "\\p{N}+", err);
    if (is_word(v, "type", "Split"))
        return split_step(v, r, err);
    if (is_word(v, "type", "ByteLevel") && !r->byte_level && !flag(v, "add_prefix_space", true)) {
        int code = flag(v, "use_regex", true) ? add_step(r, GPT2, err) : 0;
        r->byte_level = true;
        return code;
    }
    return OTHER;
}

static bool same_steps(const struct rule *r, const struct pretokenizer *p)
{
    for (size_t i = 0; i < r->n; i++)
        if (!p->steps[i] || strcmp(p->steps[i], r->steps[i]) != 0)
            return false;
    return !p->steps[r->n];
}

static int print_json(const struct json *v, struct buffer *b, unsigned depth, struct error *err)
{
    bool object = json_kind(v) == JSON_OBJECT, yes = false;
    double number = 0;
    switch (json_kind(v)) {
    case JSON_STRING:
        return json_put_str(b, json_str(v), strlen(json_str(v)), err);
    case JSON_NUMBER:
        json_f64(v, &number);
        return json_put_f64(b, number, err);
    case JSON_BOOL:
        json_bool(v, &yes);
        return buffer_printf(b, err, "%s", yes ? "true" : "false");
    case JSON_NULL:
        return buffer_printf(b, err, "null");
    default:
        break;
    }
    if (depth > 8 || b->len > 1600) /* the line is cut there anyway */
        return buffer_printf(b, err, "...");
    int code = buffer_printf(b, err, "%s", object ? "{" : "[");
    for (const struct json *c = json_first(v); c && !code; c = json_next(c)) {
        if (c != json_first(v))
            code = buffer_printf(b, err, ",");
        if (!code && object)
            code = json_put_str(b, json_key(c), strlen(json_key(c)), err);
        if (!code && object)
            code = buffer_printf(b, err, ":");
        if (!code)
            code = print_json(c, b, depth + 1, err);
    }
    return code ? code : buffer_printf(b, err, "%s", object ? "}" : "]");
}

/* ERROR_UNSUPPORTED with the value's text after `what`. */
static int refuse(const struct json *v, const char *what, const char *hint, struct error *err)
{
    struct buffer b = { 0 };
    int code = v ? print_json(v, &b, 0, err) : buffer_printf(&b, err, "null");
    if (!code)
        code = error_set(err, ERROR_UNSUPPORTED, "%s%s: %.1700s", what, hint, b.data);
    buffer_free(&b);
    return code;
}

int pretokenizer_match(const struct json *pre_tokenizer, bool ignore_merges, const struct pretokenizer **out,
                       struct error *err)
{
    struct rule r = { .n = 0 };
    char names[256];
    *out = NULL;
    int code = read_rule(pre_tokenizer, &r, 0, err);
    for (size_t i = 0; !code && r.byte_level && i < sizeof table / sizeof *table; i++)
        if (same_steps(&r, &table[i]) &&
            (!*out || ((*out)->ignore_merges != ignore_merges && table[i].ignore_merges == ignore_merges)))
            *out = &table[i];
    rule_free(&r);
    if (code < 0)
        return code;
    if (*out)
        return 0;
    char hint[512];
    snprintf(hint, sizeof hint, " (known rules, to be forced with --pre NAME: %s)",
             pretokenizer_names(names, sizeof names));
    return refuse(pre_tokenizer, "unknown pre-tokenizer rule", hint, err);
}

int pretokenizer_normalizer(const struct json *normalizer, bool *nfc, struct error *err)
{
    *nfc = false;
    if (json_is_null(normalizer))
        return 0;
    if (is_word(normalizer, "type", "NFC")) {
        *nfc = true;
        return 0;
    }
    if (is_word(normalizer, "type", "Sequence")) {
        const struct json *c = json_first(json_get(normalizer, "normalizers"));
        for (; c && is_word(c, "type", "NFC"); c = json_next(c))
            *nfc = true;
        if (!c)
            return 0;
    }
    *nfc = false;
    return refuse(normalizer, "normalizer other than NFC", "", err);
}
