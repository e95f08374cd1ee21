/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/util/json_private.h"
#include "base/util/text.h"

struct scan {
    struct json_doc *doc;
    const char *s;
    size_t n, i; /* i: next byte */
    unsigned depth, max_depth;
    struct error *err;
};

static int scan_value(struct scan *c);

static int bad(struct scan *c, size_t at, const char *what)
{
    return error_set(c->err, ERROR_FORMAT, "%s: not valid JSON at byte %zu: %s", c->doc->name, at, what);
}

static int unexpected(struct scan *c, const char *wanted)
{
    char found[32], what[128];
    if (c->i >= c->n)
        snprintf(what, sizeof what, "expected %s, found the end of the text", wanted);
    else
        snprintf(what, sizeof what, "expected %s, found '%s'", wanted,
                 text_quote(found, sizeof found, c->s + c->i, c->n - c->i < 12 ? c->n - c->i : 12));
    return bad(c, c->i, what);
}

/* The byte at i, or 0 at the end: no rule accepts a NUL. */
static char peek(const struct scan *c)
{
    return c->i < c->n ? c->s[c->i] : 0;
}

static void skip_space(struct scan *c)
{
    while (c->i < c->n && (c->s[c->i] == ' ' || c->s[c->i] == '\n' || c->s[c->i] == '\r' || c->s[c->i] == '\t'))
        c->i++;
}

static bool take(struct scan *c, const char *word)
{
    size_t n = strlen(word);
    if (c->n - c->i < n || memcmp(c->s + c->i, word, n) != 0)
        return false;
    c->i += n;
    return true;
}

/* Four hexadecimal digits at i, or -1. */
static int hex4(struct scan *c)
{
    int v = 0;
    for (int k = 0; k < 4; k++) {
        char h = peek(c);
        int digit = h >= '0' && h <= '9'   ? h - '0'
                    : h >= 'a' && h <= 'f' ? h - 'a' + 10
                    : h >= 'A' && h <= 'F' ? h - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        v = v << 4 | digit;
        c->i++;
    }
    return v;
}

/* Behind "\u". A high surrogate must be followed by an escaped low one; U+0000 would end a C string early. */
static int scan_unicode_escape(struct scan *c, bool is_key)
{
    size_t at = c->i - 2;
    int unit = hex4(c);
    if (unit < 0)
        return bad(c, at, "expected four hexadecimal digits after \\u");
    if (unit == 0)
        return bad(c, at, is_key ? "U+0000 in a member name" : "U+0000 in a string");
    if (unit >= 0xdc00 && unit <= 0xdfff)
        return bad(c, at, "a low surrogate without a high one is not valid UTF-8 text");
    if (unit >= 0xd800 && unit <= 0xdbff) {
        int low = take(c, "\\u") ? hex4(c) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return bad(c, at, "a high surrogate without a low one is not valid UTF-8 text");
    }
    return 0;
}

/* At the opening quote; afterwards behind the closing one. The bytes are known to be UTF-8. */
static int scan_string(struct scan *c, bool is_key)
{
    size_t start = c->i++;
    for (;;) {
        if (c->i >= c->n)
            return bad(c, start, "a string without its closing quote");
        unsigned char b = (unsigned char)c->s[c->i];
        if (b < 0x20)
            return bad(c, c->i, "a control character in a string");
        c->i++;
        if (b == '"')
            return 0;
        if (b != '\\')
            continue;
        char e = peek(c);
        if (!e || !strchr("\"\\/bfnrtu", e))
            return bad(c, c->i - 1, "an unknown escape in a string");
        c->i++;
        int code = e == 'u' ? scan_unicode_escape(c, is_key) : 0;
        if (code)
            return code;
    }
}

static size_t skip_digits(struct scan *c)
{
    size_t from = c->i;
    while (c->i < c->n && c->s[c->i] >= '0' && c->s[c->i] <= '9')
        c->i++;
    return c->i - from;
}

static int scan_number(struct scan *c, struct json *v)
{
    size_t start = c->i;
    v->negative = take(c, "-");
    size_t whole = c->i, n_whole = skip_digits(c);
    if (n_whole == 0)
        return unexpected(c, "a digit");
    if (c->s[whole] == '0' && n_whole > 1)
        return bad(c, start, "a number with a leading zero");
    v->integer = true;
    for (size_t k = whole; k < whole + n_whole; k++)
        if (__builtin_mul_overflow(v->magnitude, (uint64_t)10, &v->magnitude) ||
            __builtin_add_overflow(v->magnitude, (uint64_t)(c->s[k] - '0'), &v->magnitude))
            v->integer = false;
    if (take(c, ".")) {
        v->integer = false;
        if (skip_digits(c) == 0)
            return unexpected(c, "a digit after the point");
    }
    if (peek(c) == 'e' || peek(c) == 'E') {
        v->integer = false;
        c->i++;
        if (peek(c) == '-' || peek(c) == '+')
            c->i++;
        if (skip_digits(c) == 0)
            return unexpected(c, "a digit of the exponent");
    }
    return c->i - start > JSON_NUMBER_LIMIT ? bad(c, start, "a number of more than 63 characters") : 0;
}

/* At the opening bracket of values[self]. */
static int scan_container(struct scan *c, size_t self, bool is_object)
{
    const char close = is_object ? '}' : ']';
    size_t prev = 0, open = c->i++;
    uint32_t count = 0;
    if (++c->depth > c->max_depth)
        return error_set(c->err, ERROR_FORMAT, "%s: JSON nested deeper than %u levels (depth limit) at byte %zu",
                         c->doc->name, c->max_depth, open);
    skip_space(c);
    if (peek(c) != close) {
        for (;; c->i++) {
            size_t at = (skip_space(c), c->i), child = c->doc->n_values;
            if (is_object) {
                if (peek(c) != '"')
                    return unexpected(c, "a member name in quotes");
                int code = scan_string(c, true);
                if (code)
                    return code;
                skip_space(c);
                if (!take(c, ":"))
                    return unexpected(c, "':'");
                skip_space(c);
            }
            int code = scan_value(c);
            if (code)
                return code;
            struct json *v = c->doc->values;
            v[child].offset = (uint32_t)at;
            v[child].up = (uint32_t)(child - self);
            if (count++)
                v[prev].next = (uint32_t)(child - prev);
            prev = child;
            skip_space(c);
            if (peek(c) == close)
                break;
            if (peek(c) != ',')
                return unexpected(c, is_object ? "',' or '}'" : "',' or ']'");
        }
    }
    c->i++;
    c->depth--;
    c->doc->values[self].count = count;
    return 0;
}

static int scan_scalar(struct scan *c, struct json *v)
{
    char b = peek(c);
    if (b == '"') {
        v->kind = JSON_STRING;
        return scan_string(c, false);
    }
    if (b == '-' || (b >= '0' && b <= '9')) {
        v->kind = JSON_NUMBER;
        return scan_number(c, v);
    }
    if (take(c, "null")) {
        v->kind = JSON_NULL;
        return 0;
    }
    if (take(c, "true") || take(c, "false")) {
        v->kind = JSON_BOOL;
        return 0;
    }
    return unexpected(c, "a value");
}

static int scan_value(struct scan *c)
{
    struct json_doc *doc = c->doc;
    void *values = doc->values;
    int code = mem_reserve(&values, &doc->cap, doc->n_values + 1, sizeof *doc->values, "JSON values", c->err);
    doc->values = values;
    if (code)
        return code;
    size_t self = doc->n_values++;
    struct json *v = &doc->values[self];
    memset(v, 0, sizeof *v);
    v->offset = (uint32_t)c->i;
    char b = peek(c);
    if (b != '{' && b != '[')
        return scan_scalar(c, v);
    v->kind = b == '{' ? JSON_OBJECT : JSON_ARRAY;
    return scan_container(c, self, b == '{');
}

int json_scan(struct json_doc *doc, const char *s, size_t n, unsigned max_depth, struct error *err)
{
    struct scan c = { .doc = doc, .s = s, .n = n, .max_depth = max_depth, .err = err };
    if (c.max_depth > JSON_DEPTH_LIMIT)
        c.max_depth = JSON_DEPTH_LIMIT;
    size_t ok = text_utf8_check(s, n);
    if (ok < n)
        return bad(&c, ok, "the text is not UTF-8");
    skip_space(&c);
    int code = scan_value(&c);
    if (code)
        return code;
    skip_space(&c);
    return c.i < n ? unexpected(&c, "nothing more") : 0;
}
