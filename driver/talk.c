/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/talk.h"

#include <stdio.h>
#include <string.h>

#include "base/util/json.h"
#include "base/util/text.h"

enum { TALK_LIMIT = 1 << 20 };

/* A JSON object with phase, done and total: our display moves by what is new. */
static bool show_progress(struct child *c, const char *line, size_t n)
{
    struct json_doc *d = NULL;
    const char *phase = NULL, *event = NULL;
    uint64_t done = 0, total = 0, bytes = 0, total_bytes = 0;
    char label[64];

    if (n == 0 || line[0] != '{' || json_parse(&d, line, n, "progress", 2, 0, NULL))
        return false;
    const struct json *o = json_root(d);
    bool ok = !json_need_str(d, o, "phase", &phase, NULL) && !json_need_u64(d, o, "done", 0, UINT64_MAX, &done, NULL) &&
              !json_need_u64(d, o, "total", 0, UINT64_MAX, &total, NULL) &&
              !json_opt_u64(d, o, "bytes", 0, UINT64_MAX, &bytes, NULL) &&
              !json_opt_u64(d, o, "total_bytes", 0, UINT64_MAX, &total_bytes, NULL) &&
              !json_opt_str(d, o, "event", &event, NULL);
    if (ok) {
        bool start = strcmp(c->phase, phase) != 0 || done < c->done || (event && strcmp(event, "start") == 0);
        if (start) {
            snprintf(c->phase, sizeof c->phase, "%s", phase);
            snprintf(label, sizeof label, "%s: %.40s", c->label, phase);
            progress_phase(c->progress, label, total, total_bytes);
            c->done = c->bytes = 0;
        }
        progress_add(c->progress, done - c->done, bytes >= c->bytes ? bytes - c->bytes : 0);
        c->done = done;
        c->bytes = bytes;
        if (event && strcmp(event, "end") == 0)
            progress_end(c->progress);
    }
    json_free(d);
    return ok;
}

static int take_line(struct child *c, struct error *err)
{
    int code = 0;
    if (!show_progress(c, c->line.data, c->line.len) && c->talk.len < TALK_LIMIT) {
        code = buffer_append(&c->talk, c->line.data, c->line.len, err);
        if (!code)
            code = buffer_append(&c->talk, "\n", 1, err);
    }
    c->line.len = 0;
    return code;
}

int talk_take(struct child *c, const char *bytes, size_t n, struct error *err)
{
    int code = 0;
    while (!code && n > 0) {
        const char *newline = memchr(bytes, '\n', n);
        size_t part = newline ? (size_t)(newline - bytes) : n;
        if (c->line.len + part < TALK_LIMIT) /* the rest of an endless line is dropped */
            code = buffer_append(&c->line, bytes, part, err);
        if (!code && newline)
            code = take_line(c, err);
        bytes += part + (newline != NULL);
        n -= part + (newline != NULL);
    }
    return code;
}

int talk_end(struct child *c, struct error *err)
{
    return c->line.len ? take_line(c, err) : 0;
}

void talk_last(struct child *c, struct error *err)
{
    while (c->talk.len) {
        size_t end = c->talk.len - 1, start = end;
        while (start && c->talk.data[start - 1] != '\n')
            start--;
        c->talk.data[end] = 0;
        const char *line = c->talk.data + start, *colon = strstr(line, ": ");
        c->talk.len = start;
        if (!*line || text_starts(line, "Try '"))
            continue;
        if (text_starts(line, "tern-") && colon)
            line = colon + 2;
        error_set(err, err ? err->code : 0, "%s", line);
        return;
    }
}
