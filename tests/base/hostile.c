/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/base/hostile.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/support.h"

/* Column number `n` of a tab-separated line. */
static void column(const char *line, int n, char *out, size_t cap)
{
    while (n-- && (line = strchr(line, '\t')))
        line++;
    ck_assert_ptr_nonnull(line);
    snprintf(out, cap, "%.*s", (int)strcspn(line, "\t\n"), line);
}

int hostile_rows(const char *kind, struct hostile_row *rows, int cap)
{
    FILE *f = fopen(support_path("data/hostile/bad.tsv"), "r");
    char line[2048];
    int n = 0;
    ck_assert_ptr_nonnull(f);
    while (fgets(line, sizeof line, f) && n < cap) {
        struct hostile_row *r = &rows[n];
        column(line, 0, r->file, sizeof r->file);
        column(line, 1, r->kind, sizeof r->kind);
        column(line, 3, r->expected, sizeof r->expected);
        column(line, 4, r->names, sizeof r->names);
        n += !strcmp(r->kind, kind);
    }
    fclose(f);
    ck_assert_int_gt(n, 5);
    ck_assert_int_lt(n, cap);
    return n;
}

bool hostile_may(const struct hostile_row *r, const char *outcome)
{
    size_t n = strlen(outcome);
    for (const char *p = r->expected; p; p = strchr(p, '|'), p += p != NULL)
        if (!strncmp(p, outcome, n) && (!p[n] || p[n] == '|'))
            return true;
    return false;
}

/* `text` without any mention of the path. */
static void without_path(const char *text, const char *path, char *out, size_t cap)
{
    size_t n = strlen(path), used = 0;
    while (*text && used + 1 < cap) {
        if (!strncmp(text, path, n))
            text += n;
        else
            out[used++] = *text++;
    }
    out[used] = 0;
}

void hostile_judge(const struct hostile_row *r, const char *path, int rc, const struct error *err)
{
    char text[sizeof err->text], names[128];
    if (!rc) {
        ck_assert_msg(hostile_may(r, "ok") || hostile_may(r, "warn"), "%s was accepted", r->file);
        return;
    }
    ck_assert_msg(hostile_may(r, "error"), "%s was refused: %s", r->file, err->text);
    ck_assert_msg(rc == ERROR_FORMAT || rc == ERROR_UNSUPPORTED || rc == ERROR_MISSING, "%s: code %d: %s", r->file, rc,
                  err->text);
    ck_assert_msg(strstr(err->text, path) != NULL, "%s: the file is not named: %s", r->file, err->text);
    without_path(err->text, path, text, sizeof text);
    strcpy(names, r->names);
    for (char *save, *p = strtok_r(names, "|", &save); p; p = strtok_r(NULL, "|", &save))
        if (strstr(text, p))
            return;
    ck_abort_msg("%s: /%s/ is not in: %s", r->file, r->names, err->text);
}
