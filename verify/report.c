/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util/json.h"
#include "base/util/text.h"

static const char *const level_names[] = { "note", "warning", "error" };

void report_init(struct report *r, const char *path)
{
    memset(r, 0, sizeof *r);
    r->path = path;
}

void report_free(struct report *r)
{
    for (size_t i = 0; i < r->n; i++) {
        mem_free(r->items[i].where);
        mem_free(r->items[i].text);
    }
    mem_free(r->items);
    buffer_free(&r->facts);
    memset(r, 0, sizeof *r);
}

static void count_item(struct report *r, enum report_level level, int code)
{
    if (level == REPORT_WARNING)
        r->n_warnings++;
    if (level != REPORT_ERROR)
        return;
    r->n_errors++;
    if (!r->code || (error_exit_status(r->code) != 1 && error_exit_status(code) == 1))
        r->code = code;
}

void report_add(struct report *r, enum report_level level, int code, const char *where, const char *fmt, ...)
{
    char text[2048], quoted[512];
    struct report_item item = { .level = level };
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    count_item(r, level, code);
    item.text = mem_strdup(text, NULL);
    if (where)
        item.where = mem_strdup(text_quote(quoted, sizeof quoted, where, strlen(where)), NULL);
    if (!item.text || (where && !item.where) ||
        mem_reserve((void **)&r->items, &r->cap, r->n + 1, sizeof item, "report", NULL)) {
        mem_free(item.text);
        mem_free(item.where);
        r->no_memory = true;
        return;
    }
    r->items[r->n++] = item;
}

void report_error(struct report *r, const struct error *err)
{
    char quoted[1024];
    const char *text = err->text;
    size_t n;

    text_quote(quoted, sizeof quoted, r->path, strlen(r->path));
    n = strlen(quoted);
    if (!strncmp(text, quoted, n) && text[n] == ':' && text[n + 1] == ' ')
        text += n + 2;
    else if (!strncmp(text, quoted, n) && text[n] == '/') /* a file in the folder */
        text += n + 1;
    report_add(r, REPORT_ERROR, err->code, NULL, "%s", text);
}

int report_settle(struct report *r, int code, const struct error *found, struct error *err)
{
    if (code == ERROR_INTERRUPTED || code == ERROR_NOMEM) {
        if (err)
            *err = *found;
        return code;
    }
    if (code)
        report_error(r, found);
    return 0;
}

int report_code(const struct report *r, struct error *err)
{
    return r->no_memory ? error_set(err, ERROR_NOMEM, "%s: out of memory for the report", r->path) : 0;
}

int report_path(const char *path, struct buffer *out, struct error *err)
{
    if (!path[strcspn(path, "\n\r")])
        return buffer_append(out, path, strlen(path), err);
    int code = buffer_append(out, "\\", 1, err);
    for (const char *p = path; !code && *p; p++) {
        const char *as = *p == '\n' ? "\\n" : *p == '\r' ? "\\r" : *p == '\\' ? "\\\\" : NULL;
        code = as ? buffer_append(out, as, 2, err) : buffer_append(out, p, 1, err);
    }
    return code;
}

static int put_item(const struct report_item *item, struct buffer *out, struct error *err)
{
    return buffer_printf(out, err, "%s%s%s", item->where ? item->where : "", item->where ? ": " : "", item->text);
}

/* The items of one level, "; " between them, in brackets; nothing when there are none. */
static int put_notes(const struct report *r, struct buffer *out, struct error *err)
{
    const char *before = " (";
    int code = 0;
    for (size_t i = 0; i < r->n && !code; i++) {
        code = buffer_printf(out, err, "%s", before);
        if (!code)
            code = put_item(&r->items[i], out, err);
        before = "; ";
    }
    return code || !r->n ? code : buffer_append(out, ")", 1, err);
}

static int put_problems(const struct report *r, enum report_level worst, bool verbose, struct buffer *out,
                        struct error *err)
{
    size_t first = 0, n = r->n_errors + r->n_warnings;
    int code;

    while (r->items[first].level != worst)
        first++;
    if ((code = buffer_append(out, " (", 2, err)) || (code = put_item(&r->items[first], out, err)))
        return code;
    if (n > 1)
        code = buffer_printf(out, err, "; and %zu more", n - 1);
    if (!code)
        code = buffer_append(out, ")", 1, err);
    for (size_t i = 0; i < r->n && !code; i++) {
        if (i == first || (r->items[i].level == REPORT_NOTE && !verbose))
            continue;
        code = buffer_printf(out, err, "\n  %s: ", level_names[r->items[i].level]);
        if (!code)
            code = put_item(&r->items[i], out, err);
    }
    return code;
}

int report_text(const struct report *r, bool quiet, bool verbose, struct buffer *out, struct error *err)
{
    const char *word = r->n_errors ? "FAILED" : r->n_warnings ? "WARNED" : "OK";
    int code;

    if (r->no_memory)
        return report_code(r, err);
    if (quiet && !r->n_errors && !r->n_warnings)
        return 0;
    if ((code = report_path(r->path, out, err)) || (code = buffer_printf(out, err, ": %s", word)))
        return code;
    if (r->n_errors || r->n_warnings)
        code = put_problems(r, r->n_errors ? REPORT_ERROR : REPORT_WARNING, verbose, out, err);
    else
        code = put_notes(r, out, err);
    return code ? code : buffer_append(out, "\n", 1, err);
}

static int json_items(const struct report *r, bool notes, struct buffer *out, struct error *err)
{
    const char *before = "";
    int code = 0;
    for (size_t i = 0; i < r->n && !code; i++) {
        const struct report_item *item = &r->items[i];
        if ((item->level == REPORT_NOTE) != notes)
            continue;
        code = buffer_printf(out, err, "%s{\"level\":\"%s\",\"where\":", before, level_names[item->level]);
        if (!code && item->where)
            code = json_put_str(out, item->where, strlen(item->where), err);
        else if (!code)
            code = buffer_printf(out, err, "null");
        if (!code)
            code = buffer_printf(out, err, ",\"text\":");
        if (!code)
            code = json_put_str(out, item->text, strlen(item->text), err);
        if (!code)
            code = buffer_append(out, "}", 1, err);
        before = ",";
    }
    return code;
}

int report_json(const struct report *r, struct buffer *out, struct error *err)
{
    const char *word = r->n_errors ? "failed" : r->n_warnings ? "warned" : "ok";
    int code;

    if (r->no_memory)
        return report_code(r, err);
    if ((code = buffer_printf(out, err, "{\"path\":")) || (code = json_put_str(out, r->path, strlen(r->path), err)))
        return code;
    code = r->kind ? buffer_printf(out, err, ",\"kind\":\"%s\"", r->kind) : buffer_printf(out, err, ",\"kind\":null");
    if (!code)
        code = buffer_printf(out, err, ",\"result\":\"%s\",\"problems\":[", word);
    if (!code)
        code = json_items(r, false, out, err);
    if (!code)
        code = buffer_printf(out, err, "],\"notes\":[");
    if (!code)
        code = json_items(r, true, out, err);
    if (!code)
        code = buffer_printf(out, err, "]");
    if (!code)
        code = buffer_append(out, r->facts.data ? r->facts.data : "", r->facts.len, err);
    return code ? code : buffer_append(out, "}", 1, err);
}
