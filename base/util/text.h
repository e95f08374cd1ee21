/* SPDX-License-Identifier: Apache-2.0 */
/* Text: UTF-8, numbers that must consume the whole string, quoting of foreign bytes. Locale-independent, thread-safe.
 */
#ifndef TERNPACK_BASE_UTIL_TEXT_H
#define TERNPACK_BASE_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Offset of the first byte that is not valid UTF-8 (surrogates and overlongs are invalid), or n when all is valid. */
size_t text_utf8_check(const char *s, size_t n);
/* Decode one code point at s[0..n): returns its length 1..4, or 0 when invalid. */
size_t text_utf8_decode(const char *s, size_t n, uint32_t *cp);
size_t text_utf8_encode(uint32_t cp, char out[4]); /* 1..4, 0 when cp is no scalar value */

/* The whole string must be the number (no white space, no sign for u64). */
bool text_u64(const char *s, uint64_t *out);
bool text_i64(const char *s, int64_t *out);
bool text_f64(const char *s, double *out);    /* finite; '.' whatever the locale */
bool text_size(const char *s, uint64_t *out); /* digits with optional K, M, G, T (1024) */

/* Printable form of foreign bytes for an error line: bytes outside 0x20..0x7e and '\\' as \xNN, cut with "..." so that
 * it fits `cap`. Valid UTF-8 above 0x7f is kept. Returns buf. */
char *text_quote(char *buf, size_t cap, const char *s, size_t n);

/* "12.3 MiB" into buf. */
char *text_bytes(char *buf, size_t cap, uint64_t n);

bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

#endif
