/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/text.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * UTF-8 (RFC 3629): the first byte gives the length and the allowed range of the second, which is what excludes
 * overlong forms (E0 80..9F, F0 80..8F), surrogates (ED A0..BF) and values above U+10FFFF (F4 90..BF).
 */
size_t text_utf8_decode(const char *s, size_t n, uint32_t *cp)
{
    const unsigned char *b = (const unsigned char *)s;
    if (n == 0)
        return 0;
    if (b[0] < 0x80) {
        *cp = b[0];
        return 1;
    }
    if (b[0] < 0xc2 || b[0] > 0xf4)
        return 0;
    size_t len = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    unsigned low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    unsigned high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    if (n < len || b[1] < low || b[1] > high)
        return 0;
    uint32_t v = b[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (b[i] & 0x3f);
    }
    *cp = v;
    return len;
}

size_t text_utf8_check(const char *s, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= 8 && (memcpy(&eight, s + i, 8), (eight & 0x8080808080808080u) == 0)) {
            i += 8; /* eight ASCII bytes at once */
            continue;
        }
        uint32_t cp;
        size_t len = text_utf8_decode(s + i, n - i, &cp);
        if (!len)
            return i;
        i += len;
    }
    return n;
}

size_t text_utf8_encode(uint32_t cp, char out[4])
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        if (cp >= 0xd800 && cp <= 0xdfff)
            return 0;
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    if (cp > 0x10ffff)
        return 0;
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits at s; *end points behind them. False when there are none or the value does not fit. */
static bool digits(const char *s, uint64_t *out, const char **end)
{
    uint64_t v = 0;
    const char *p = s;
    for (; is_digit(*p); p++)
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, (uint64_t)(*p - '0'), &v))
            return false;
    *out = v;
    *end = p;
    return p > s;
}

bool text_u64(const char *s, uint64_t *out)
{
    uint64_t v;
    const char *end;
    if (!digits(s, &v, &end) || *end)
        return false;
    *out = v;
    return true;
}

bool text_i64(const char *s, int64_t *out)
{
    bool negative = *s == '-';
    uint64_t v;
    if (!text_u64(s + negative, &v) || v > (uint64_t)INT64_MAX + negative)
        return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool text_f64(const char *s, double *out)
{
    /* The grammar is checked here, because strtod also takes white space, hexadecimal, "inf" and "nan". */
    const char *p = s + (*s == '-' || *s == '+');
    size_t n = strspn(p, "0123456789");
    p += n;
    if (*p == '.') {
        size_t fraction = strspn(p + 1, "0123456789");
        n += fraction;
        p += fraction + 1;
    }
    if (n == 0)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        p += *p == '-' || *p == '+';
        size_t exponent = strspn(p, "0123456789");
        if (exponent == 0)
            return false;
        p += exponent;
    }
    if (*p)
        return false;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c)
        return false;
    double v = strtod_l(s, NULL, c);
    freelocale(c);
    if (!isfinite(v))
        return false;
    *out = v;
    return true;
}

bool text_size(const char *s, uint64_t *out)
{
    uint64_t v;
    const char *end;
    if (!digits(s, &v, &end))
        return false;
    unsigned shift = 0;
    switch (*end) {
    case 'K':
    case 'k':
        shift = 10;
        break;
    case 'M':
    case 'm':
        shift = 20;
        break;
    case 'G':
    case 'g':
        shift = 30;
        break;
    case 'T':
    case 't':
        shift = 40;
        break;
    default:
        break;
    }
    if (end[shift != 0] || v > UINT64_MAX >> shift)
        return false;
    *out = v << shift;
    return true;
}

/* Kept as they are: printable ASCII but the backslash, and code points that cannot steer a terminal or reorder the line
 * (no C1 controls, no bidirectional overrides). */
static bool harmless(uint32_t cp)
{
    if (cp < 0x80)
        return cp >= 0x20 && cp < 0x7f && cp != '\\';
    return cp >= 0xa0 && !(cp >= 0x202a && cp <= 0x202e) && !(cp >= 0x2066 && cp <= 0x2069);
}

char *text_quote(char *buf, size_t cap, const char *s, size_t n)
{
    size_t used = 0, safe = 0; /* safe: longest prefix after which "..." still fits */
    if (cap == 0)
        return buf;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t len = text_utf8_decode(s + i, n - i, &cp), room;
        bool keep = len && harmless(cp);
        if (!len)
            len = 1;
        room = keep ? len : 4 * len;
        if (used + room >= cap) {
            used = safe;
            for (int dot = 0; dot < 3 && used + 1 < cap; dot++)
                buf[used++] = '.';
            break;
        }
        if (keep)
            memcpy(buf + used, s + i, len);
        else
            for (size_t k = 0; k < len; k++) {
                static const char hex[] = "0123456789abcdef";
                unsigned char byte = (unsigned char)s[i + k];
                memcpy(buf + used + 4 * k, (char[]){ '\\', 'x', hex[byte >> 4], hex[byte & 15] }, 4);
            }
        used += room;
        i += len;
        if (used + 3 < cap)
            safe = used;
    }
    buf[used] = 0;
    return buf;
}

char *text_bytes(char *buf, size_t cap, uint64_t n)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (n < 1024) {
        snprintf(buf, cap, "%u B", (unsigned)n);
        return buf;
    }
    double v = (double)n / 1024;
    size_t unit = 0;
    while (v >= 1023.95 && unit + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        unit++;
    }
    snprintf(buf, cap, "%.1f %s", v, units[unit]);
    return buf;
}

bool text_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}
