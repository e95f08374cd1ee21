/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/util/file.h"
#include "base/util/json_private.h"
#include "base/util/text.h"

/* Give each value its cJSON item. False when the two readings of the text disagree. */
static bool pair(struct json *v, const cJSON *item)
{
    const struct json *child = json_first(v);
    v->item = item;
    for (const cJSON *c = item->child; c; c = c->next) {
        if (!child || !pair((struct json *)(uintptr_t)child, c))
            return false;
        child = json_next(child);
    }
    return !child;
}

uint32_t json_index_size(uint32_t count)
{
    uint32_t n = 64;
    while (n < 2 * (uint64_t)count && n < 1u << 31)
        n *= 2;
    return n;
}

uint64_t json_hash(const char *key)
{
    return XXH3_64bits(key, strlen(key));
}

static int duplicate(const struct json_doc *doc, const struct json *member, struct error *err)
{
    char key[256];
    return error_set(err, ERROR_FORMAT, "%s: JSON: duplicate key \"%s\" at byte %" PRIu32, doc->name,
                     text_quote(key, sizeof key, json_key(member), strlen(json_key(member))), member->offset);
}

static int index_object(struct json_doc *doc, struct json *object, struct error *err)
{
    uint32_t size = json_index_size(object->count);
    uint32_t *index = arena_alloc(&doc->indexes, size, sizeof *index, err);
    if (!index)
        return ERROR_NOMEM;
    for (const struct json *m = json_first(object); m; m = json_next(m)) {
        uint32_t slot = (uint32_t)json_hash(json_key(m)) & (size - 1);
        for (; index[slot]; slot = (slot + 1) & (size - 1))
            if (strcmp(json_key(object + index[slot]), json_key(m)) == 0)
                return duplicate(doc, m, err);
        index[slot] = (uint32_t)(m - object);
    }
    object->index = index;
    return 0;
}

/* No key twice in an object; large objects get a hash table, which json_get uses too. */
static int check_keys(struct json_doc *doc, struct error *err)
{
    for (size_t i = 0; i < doc->n_values; i++) {
        struct json *v = &doc->values[i];
        if (v->kind != JSON_OBJECT)
            continue;
        if (v->count > JSON_SMALL_OBJECT) {
            int code = index_object(doc, v, err);
            if (code)
                return code;
            continue;
        }
        for (const struct json *m = json_first(v); m; m = json_next(m))
            for (const struct json *before = json_first(v); before != m; before = json_next(before))
                if (strcmp(json_key(before), json_key(m)) == 0)
                    return duplicate(doc, m, err);
    }
    return 0;
}

int json_parse(struct json_doc **out, const char *text, size_t n, const char *name, unsigned max_depth, unsigned flags,
               struct error *err)
{
    int code = ERROR_NOMEM;
    char shown[1024];

    *out = NULL;
    text_quote(shown, sizeof shown, name, strlen(name));
    if (n >= UINT32_MAX)
        return error_set(err, ERROR_FORMAT, "%s: a JSON text of %zu bytes is too long", shown, n);
    struct json_doc *doc = mem_zalloc(1, sizeof *doc, "JSON document", err);
    if (!doc)
        return ERROR_NOMEM;
    doc->name = mem_strdup(shown, err);
    if (!doc->name)
        goto fail;
    if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        if (!(flags & JSON_BOM)) {
            code = error_set(err, ERROR_FORMAT, "%s: not valid JSON at byte 0: a byte order mark", doc->name);
            goto fail;
        }
        text += 3;
        n -= 3;
    }
    code = json_scan(doc, text, n, max_depth, err);
    if (code)
        goto fail;
    doc->tree = cJSON_ParseWithLengthOpts(text, n, NULL, 0);
    if (!doc->tree)
        code = error_set(err, ERROR_NOMEM, "%s: out of memory: JSON tree of a text of %zu bytes", doc->name, n);
    else if (!pair(doc->values, doc->tree))
        code = error_set(err, ERROR_INTERNAL, "%s: JSON: cJSON reads the text differently", doc->name);
    else
        code = check_keys(doc, err);
    if (code)
        goto fail;
    *out = doc;
    return 0;
fail:
    json_free(doc);
    return code;
}

int json_parse_file(struct json_doc **out, const char *path, uint64_t max, unsigned max_depth, struct error *err)
{
    char *text;
    size_t n;

    *out = NULL;
    int code = file_read_all(path, max, &text, &n, err);
    if (code)
        return code;
    code = json_parse(out, text, n, path, max_depth, JSON_BOM, err);
    mem_free(text);
    return code;
}

void json_free(struct json_doc *doc)
{
    if (!doc)
        return;
    cJSON_Delete(doc->tree);
    arena_free(&doc->indexes);
    mem_free(doc->values);
    mem_free(doc->name);
    mem_free(doc);
}

/* The longest piece that needs no escape goes in one append. */
int json_put_str(struct buffer *b, const char *s, size_t n, struct error *err)
{
    int code = buffer_append(b, "\"", 1, err);
    for (size_t i = 0, from = 0; !code && i <= n;) {
        uint32_t cp = 0;
        size_t len = text_utf8_decode(s + i, n - i, &cp);
        if (i < n && len && cp >= 0x20 && cp != 0x7f && cp != '"' && cp != '\\') {
            i += len;
            continue;
        }
        code = buffer_append(b, s + from, i - from, err);
        if (!code && i < n) {
            if (!len)
                code = buffer_append(b, "\xef\xbf\xbd", 3, err);
            else if (cp == '"' || cp == '\\')
                code = buffer_printf(b, err, "\\%c", (int)cp);
            else if (cp == '\n')
                code = buffer_append(b, "\\n", 2, err);
            else if (cp == '\t')
                code = buffer_append(b, "\\t", 2, err);
            else
                code = buffer_printf(b, err, "\\u%04x", (unsigned)cp);
        }
        i += len ? len : 1;
        from = i;
    }
    return code ? code : buffer_append(b, "\"", 1, err);
}

int json_put_f64(struct buffer *b, double v, struct error *err)
{
    char text[40];
    if (!isfinite(v))
        return buffer_append(b, "null", 4, err);
    for (int digits = 1; digits <= 17; digits++) {
        double back;
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (text_f64(text, &back) && back == v)
            break;
    }
    return buffer_append(b, text, strlen(text), err);
}
