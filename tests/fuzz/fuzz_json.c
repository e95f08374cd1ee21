/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as JSON: parse, then ask every value every question. */
#include <stdlib.h>
#include <string.h>

#include "base/util/json.h"
#include "base/util/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void visit(const struct json_doc *doc, const struct json *v, unsigned depth)
{
    char path[64];
    uint64_t u;
    int64_t i;
    double d;
    bool b;
    json_path(doc, v, path, sizeof path);
    (void)json_kind_name(v);
    if (json_u64(v, &u) && (u >> 63) == 0 && (!json_i64(v, &i) || (uint64_t)i != u))
        abort();
    (void)json_f64(v, &d);
    (void)json_bool(v, &b);
    const char *s = json_str(v);
    if (s) {
        struct buffer out = { 0 };
        if (json_put_str(&out, s, strlen(s), NULL) || strlen(out.data) != out.len)
            abort();
        buffer_free(&out);
    }
    size_t n = 0;
    for (const struct json *e = json_first(v); e; e = json_next(e), n++)
        visit(doc, e, depth + 1);
    if (n != json_count(v))
        abort();
    if (depth > 16)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_doc *doc = NULL;
    struct error err = { 0 };
    int rc = json_parse(&doc, (const char *)data, size, "fuzz", 16, JSON_BOM, &err);
    if (!rc)
        visit(doc, json_root(doc), 0);
    else if (!err.text[0] || strchr(err.text, '\n'))
        abort();
    json_free(doc);
    return 0;
}
