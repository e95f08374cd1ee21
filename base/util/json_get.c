/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a parsed document. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util/json_private.h"
#include "base/util/text.h"

const struct json *json_root(const struct json_doc *doc)
{
    return doc->values;
}

enum json_kind json_kind(const struct json *v)
{
    return (enum json_kind)v->kind;
}

const char *json_kind_name(const struct json *v)
{
    static const char *const names[] = { "null", "true or false", "a number", "a string", "an array", "an object" };
    return v ? names[v->kind] : "nothing";
}

size_t json_count(const struct json *v)
{
    return v ? v->count : 0;
}

const struct json *json_first(const struct json *v)
{
    return v && v->count ? v + 1 : NULL;
}

const struct json *json_next(const struct json *v)
{
    return v && v->next ? v + v->next : NULL;
}

const char *json_key(const struct json *v)
{
    return v && v->item->string ? v->item->string : "";
}

const struct json *json_get(const struct json *v, const char *key)
{
    if (!v || v->kind != JSON_OBJECT)
        return NULL;
    if (v->index) {
        uint32_t size = json_index_size(v->count), slot = (uint32_t)json_hash(key) & (size - 1);
        for (; v->index[slot]; slot = (slot + 1) & (size - 1))
            if (strcmp(json_key(v + v->index[slot]), key) == 0)
                return v + v->index[slot];
        return NULL;
    }
    for (const struct json *m = json_first(v); m; m = json_next(m))
        if (strcmp(json_key(m), key) == 0)
            return m;
    return NULL;
}

/* Appends at *used as far as it fits. */
static void add(char *buf, size_t cap, size_t *used, const char *text)
{
    size_t n = strlen(text);
    if (*used + n >= cap)
        n = cap - 1 - *used;
    memcpy(buf + *used, text, n);
    *used += n;
    buf[*used] = 0;
}

static void put_path(const struct json *v, char *buf, size_t cap, size_t *used)
{
    char piece[256];
    if (!v->up)
        return;
    const struct json *parent = v - v->up;
    put_path(parent, buf, cap, used);
    if (parent->kind == JSON_ARRAY) {
        size_t place = 0;
        for (const struct json *e = json_first(parent); e != v; e = json_next(e))
            place++;
        snprintf(piece, sizeof piece, "[%zu]", place);
    } else {
        if (*used)
            add(buf, cap, used, ".");
        text_quote(piece, sizeof piece, json_key(v), strlen(json_key(v)));
    }
    add(buf, cap, used, piece);
}

const char *json_path(const struct json_doc *doc, const struct json *v, char *buf, size_t n)
{
    size_t used = 0;
    (void)doc;
    if (n == 0)
        return "";
    buf[0] = 0;
    put_path(v, buf, n, &used);
    return buf;
}

bool json_is_null(const struct json *v)
{
    return !v || v->kind == JSON_NULL;
}

bool json_bool(const struct json *v, bool *out)
{
    if (!v || v->kind != JSON_BOOL)
        return false;
    *out = cJSON_IsTrue(v->item);
    return true;
}

bool json_f64(const struct json *v, double *out)
{
    if (!v || v->kind != JSON_NUMBER || !isfinite(v->item->valuedouble))
        return false;
    *out = v->item->valuedouble;
    return true;
}

bool json_u64(const struct json *v, uint64_t *out)
{
    if (!v || v->kind != JSON_NUMBER || !v->integer || (v->negative && v->magnitude))
        return false;
    *out = v->magnitude;
    return true;
}

bool json_i64(const struct json *v, int64_t *out)
{
    if (!v || v->kind != JSON_NUMBER || !v->integer || v->magnitude > (uint64_t)INT64_MAX + v->negative)
        return false;
    *out = v->negative ? (int64_t)(0 - v->magnitude) : (int64_t)v->magnitude;
    return true;
}

const char *json_str(const struct json *v)
{
    return v && v->kind == JSON_STRING ? v->item->valuestring : NULL;
}

/* "a string \"abc\"", "the number -8", "null" ... */
static const char *describe(const struct json *v, char *buf, size_t cap)
{
    char text[64];
    if (v && v->kind == JSON_STRING)
        snprintf(buf, cap, "a string \"%s\"", text_quote(text, sizeof text, json_str(v), strlen(json_str(v))));
    else if (v && v->kind == JSON_NUMBER && v->integer)
        snprintf(buf, cap, "%s%" PRIu64, v->negative ? "-" : "", v->magnitude);
    else if (v && v->kind == JSON_NUMBER)
        snprintf(buf, cap, "%.17g", v->item->valuedouble);
    else
        snprintf(buf, cap, "%s", json_kind_name(v));
    return buf;
}

static int wrong(const struct json_doc *d, const struct json *obj, const char *key, const struct json *v,
                 const char *expected, struct error *err)
{
    char path[512] = "", quoted[256], found[128];
    if (obj)
        json_path(d, obj, path, sizeof path);
    return error_set(err, ERROR_FORMAT, "%s: %s%s%s: expected %s, found %s", d->name, path, path[0] ? "." : "",
                     text_quote(quoted, sizeof quoted, key, strlen(key)), expected, describe(v, found, sizeof found));
}

static int get_u64(const struct json_doc *d, const struct json *obj, const char *key, const struct json *v,
                   uint64_t min, uint64_t max, uint64_t *out, struct error *err)
{
    char expected[96];
    uint64_t x;
    if (json_u64(v, &x) && x >= min && x <= max) {
        *out = x;
        return 0;
    }
    if (max == UINT64_MAX)
        snprintf(expected, sizeof expected, "an integer of at least %" PRIu64, min);
    else
        snprintf(expected, sizeof expected, "an integer from %" PRIu64 " to %" PRIu64, min, max);
    return wrong(d, obj, key, v, expected, err);
}

int json_need_u64(const struct json_doc *d, const struct json *obj, const char *key, uint64_t min, uint64_t max,
                  uint64_t *out, struct error *err)
{
    return get_u64(d, obj, key, json_get(obj, key), min, max, out, err);
}

int json_opt_u64(const struct json_doc *d, const struct json *obj, const char *key, uint64_t min, uint64_t max,
                 uint64_t *out, struct error *err)
{
    const struct json *v = json_get(obj, key);
    return json_is_null(v) ? 0 : get_u64(d, obj, key, v, min, max, out, err);
}

int json_need_f64(const struct json_doc *d, const struct json *obj, const char *key, double *out, struct error *err)
{
    const struct json *v = json_get(obj, key);
    return json_f64(v, out) ? 0 : wrong(d, obj, key, v, "a finite number", err);
}

int json_opt_f64(const struct json_doc *d, const struct json *obj, const char *key, double *out, struct error *err)
{
    return json_is_null(json_get(obj, key)) ? 0 : json_need_f64(d, obj, key, out, err);
}

int json_opt_bool(const struct json_doc *d, const struct json *obj, const char *key, bool *out, struct error *err)
{
    const struct json *v = json_get(obj, key);
    return json_is_null(v) || json_bool(v, out) ? 0 : wrong(d, obj, key, v, "true or false", err);
}

int json_need_str(const struct json_doc *d, const struct json *obj, const char *key, const char **out,
                  struct error *err)
{
    const struct json *v = json_get(obj, key);
    if (!json_str(v))
        return wrong(d, obj, key, v, "a string", err);
    *out = json_str(v);
    return 0;
}

int json_opt_str(const struct json_doc *d, const struct json *obj, const char *key, const char **out, struct error *err)
{
    return json_is_null(json_get(obj, key)) ? 0 : json_need_str(d, obj, key, out, err);
}
