/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/rotation.h"

#include <inttypes.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/text.h"

#define PREFIX "prism.hadamard."

enum { MAX_WIDTHS = 1024 }; /* a model has a handful */

static void need_text(const struct gguf *g, const char *key, const char *a, const char *b, struct report *r)
{
    struct gguf_str s;
    struct error err = { 0 };
    char quoted[128];

    if (gguf_need_str(g, key, &s, &err)) {
        report_error(r, &err);
        return;
    }
    if ((s.n == strlen(a) && !memcmp(s.s, a, s.n)) || (b && s.n == strlen(b) && !memcmp(s.s, b, s.n)))
        return;
    report_add(r, REPORT_ERROR, ERROR_UNSUPPORTED, key, "expected \"%s\"%s%s%s, found \"%s\"", a, b ? " or \"" : "",
               b ? b : "", b ? "\"" : "", text_quote(quoted, sizeof quoted, s.s, s.n));
}

/* The width must have a sign vector when signs are explicit. */
static bool has_width(const struct gguf_kv *widths, uint64_t width)
{
    for (uint64_t i = 0; i < widths->count; i++)
        if (bytes_get_u32(widths->value + 4 * i) == width)
            return true;
    return false;
}

static void check_listed(const struct gguf *g, const char *key, uint32_t block, const struct gguf_kv *widths,
                         struct report *r)
{
    const struct gguf_kv *names = gguf_find(g, key);
    struct gguf_str s;
    size_t cursor = 0;

    while (names && gguf_next_str(names, &cursor, &s)) {
        char name[GGUF_MAX_NAME + 1], quoted[128];
        const struct gguf_tensor *t = NULL;
        if (s.n <= GGUF_MAX_NAME) {
            memcpy(name, s.s, s.n);
            name[s.n] = 0;
            t = gguf_tensor(g, name);
        }
        if (!t)
            report_add(r, REPORT_ERROR, ERROR_FORMAT, key, "lists %s, which the file does not hold",
                       text_quote(quoted, sizeof quoted, s.s, s.n));
        else if (t->ne[0] % block)
            report_add(r, REPORT_ERROR, ERROR_FORMAT, t->name,
                       "rows of %" PRIu64 " are no multiple of the rotation block %" PRIu32, t->ne[0], block);
        else if (widths && !has_width(widths, t->ne[0]))
            report_add(r, REPORT_ERROR, ERROR_FORMAT, t->name, "no sign vector for rows of %" PRIu64, t->ne[0]);
    }
}

/* Sign vectors: as many values as the widths add up to, each -1 or +1. */
static const struct gguf_kv *check_signs(const struct gguf *g, struct report *r)
{
    const struct gguf_kv *widths = NULL, *values = NULL;
    struct error err = { 0 };
    uint64_t sum = 0;

    if (gguf_need_array(g, PREFIX "sign_widths", GGUF_I32, &widths, &err) ||
        gguf_need_array(g, PREFIX "sign_values", GGUF_I32, &values, &err)) {
        report_error(r, &err);
        return widths;
    }
    if (widths->count > MAX_WIDTHS) {
        report_add(r, REPORT_ERROR, ERROR_FORMAT, PREFIX "sign_widths", "expected at most %d widths, found %" PRIu64,
                   MAX_WIDTHS, widths->count);
        return NULL;
    }
    for (uint64_t i = 0; i < widths->count; i++)
        sum += bytes_get_u32(widths->value + 4 * i); /* at most 2^30 elements below 2^32: no overflow */
    if (sum != values->count)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, PREFIX "sign_values", "expected %" PRIu64 " values, found %" PRIu64,
                   sum, values->count);
    for (uint64_t i = 0; i < values->count; i++) {
        int32_t v = (int32_t)bytes_get_u32(values->value + 4 * i);
        if (v == 1 || v == -1)
            continue;
        report_add(r, REPORT_ERROR, ERROR_FORMAT, PREFIX "sign_values",
                   "element %" PRIu64 ": expected -1 or 1, found %" PRId32, i, v);
        break;
    }
    return widths;
}

bool rotation_check(const struct gguf *g, struct report *r)
{
    const struct gguf_kv *widths = NULL;
    struct gguf_str mode = { "", 0 };
    struct error err = { 0 };
    uint32_t version = 0, block = 0;
    bool any = false;

    for (size_t i = 0; i < g->n_kv && !any; i++)
        any = text_starts(g->kv[i].key, PREFIX);
    if (!any)
        return false;
    if (gguf_need_u32(g, PREFIX "version", &version, &err) || gguf_need_u32(g, PREFIX "block_size", &block, &err)) {
        report_error(r, &err);
        return true;
    }
    if (version != 1 && version != 2) {
        report_add(r, REPORT_ERROR, ERROR_UNSUPPORTED, PREFIX "version", "expected 1 or 2, found %" PRIu32, version);
        return true;
    }
    if (!block || block & (block - 1)) {
        report_add(r, REPORT_ERROR, ERROR_FORMAT, PREFIX "block_size", "expected a power of two, found %" PRIu32,
                   block);
        return true;
    }
    need_text(g, PREFIX "transform", "normalized-sylvester-walsh-hadamard", NULL, r);
    need_text(g, PREFIX "axis", "input-last-dimension", NULL, r);
    need_text(g, PREFIX "sign_mode", "identity", "explicit", r);
    if (!gguf_opt_str(g, PREFIX "sign_mode", &mode, NULL) && mode.n == 8 && !memcmp(mode.s, "explicit", 8))
        widths = check_signs(g, r);
    check_listed(g, PREFIX "weight_names", block, widths, r);
    check_listed(g, PREFIX "inverse_weight_names", block, widths, r);
    return true;
}
