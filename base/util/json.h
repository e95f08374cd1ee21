/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict JSON over cJSON. cJSON alone accepts duplicate keys, trailing text, numbers beyond 2^53 and U+0000 in strings;
 * json_parse does its own pre-scan so that none of that gets through:
 *  - the text is one value with only white space round it, valid UTF-8, a leading BOM is skipped when JSON_BOM is given
 *  - nesting deeper than max_depth, duplicate keys within an object, lone surrogates: ERROR_FORMAT with the byte offset
 *    (and the key's name for duplicates)
 *  - an escaped NUL in a string is ERROR_FORMAT
 *  - integers are kept exactly: json_u64/json_i64 re-read the source digits (cJSON only keeps a double)
 * Typed getters fill err with the key path ("config.json: rope_scaling.factor: expected a number, found a string").
 * A document is immutable after parsing and may be read by several threads.
 */
#ifndef TERNPACK_BASE_UTIL_JSON_H
#define TERNPACK_BASE_UTIL_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"

struct json_doc; /* owns everything below it */
struct json;     /* one value, borrowed from its document */

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };
enum { JSON_BOM = 1 };

/* `name` (e.g. a file name) starts every error text. max_depth counts arrays and objects; the text needs no NUL. */
int json_parse(struct json_doc **out, const char *text, size_t n, const char *name, unsigned max_depth, unsigned flags,
               struct error *err);
/* Read a file (at most max bytes) and parse it. */
int json_parse_file(struct json_doc **out, const char *path, uint64_t max, unsigned max_depth, struct error *err);
void json_free(struct json_doc *doc);
const struct json *json_root(const struct json_doc *doc);

enum json_kind json_kind(const struct json *v);
const char *json_kind_name(const struct json *v); /* "an object", "null", ... */
size_t json_count(const struct json *v);          /* members or elements, 0 for scalars */
/* Iterate: first child / next sibling, NULL at the end. O(1) each. */
const struct json *json_first(const struct json *v);
const struct json *json_next(const struct json *v);
const char *json_key(const struct json *v); /* key of an object member, "" otherwise */
const char *json_path(const struct json_doc *doc, const struct json *v, char *buf, size_t n); /* "a.b[2]" */

/* Object member by exact name, or NULL (also when v is NULL or no object). Null values are returned as JSON_NULL. */
const struct json *json_get(const struct json *v, const char *key);

/* Value access: false when v is NULL or has another kind/range. String length excludes the NUL. */
bool json_is_null(const struct json *v); /* true for NULL too */
bool json_bool(const struct json *v, bool *out);
bool json_f64(const struct json *v, double *out);
bool json_u64(const struct json *v,
              uint64_t *out); /* exact non-negative integer below 2^64, no fraction, no exponent */
bool json_i64(const struct json *v, int64_t *out);
const char *json_str(const struct json *v); /* NULL when no string */

/* Required members: 0, or ERROR_FORMAT naming document, key path, expected, found. Absent and null count as missing. */
int json_need_u64(const struct json_doc *d, const struct json *obj, const char *key, uint64_t min, uint64_t max,
                  uint64_t *out, struct error *err);
int json_need_f64(const struct json_doc *d, const struct json *obj, const char *key, double *out, struct error *err);
int json_need_str(const struct json_doc *d, const struct json *obj, const char *key, const char **out,
                  struct error *err);
/* Optional members: absent or null leaves *out unchanged and returns 0; a wrong kind or range is ERROR_FORMAT. */
int json_opt_u64(const struct json_doc *d, const struct json *obj, const char *key, uint64_t min, uint64_t max,
                 uint64_t *out, struct error *err);
int json_opt_f64(const struct json_doc *d, const struct json *obj, const char *key, double *out, struct error *err);
int json_opt_bool(const struct json_doc *d, const struct json *obj, const char *key, bool *out, struct error *err);
int json_opt_str(const struct json_doc *d, const struct json *obj, const char *key, const char **out,
                 struct error *err);

/* Append a JSON string literal (quotes included; invalid UTF-8 becomes U+FFFD) or a finite number ("null" when not
 * finite; shortest form that reads back equal) to a buffer, for --json output. */
struct buffer;
int json_put_str(struct buffer *b, const char *s, size_t n, struct error *err);
int json_put_f64(struct buffer *b, double v, struct error *err);

#endif
