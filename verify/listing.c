/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/format/manifest.h"
#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/text.h"

enum outcome { OUTCOME_OK, OUTCOME_DIFFERS, OUTCOME_UNREADABLE, OUTCOME_MISSING };

struct slot {
    enum outcome outcome;
    uint8_t found[32];
    struct error err; /* why it could not be read */
};

struct walk {
    const struct manifest *m;
    const char *dir; /* names are relative to it; NULL: the current folder */
    struct progress *progress;
    struct slot *slots;
    size_t window;
    int (*each)(void *ctx, const struct manifest_entry *e, const struct slot *s, struct error *err);
    void *ctx;
};

/* ---- hashing the files of a list, in parallel, told in order ---- */

static int walk_read(void *ctx, size_t item, size_t slot, struct error *err)
{
    (void)ctx, (void)item, (void)slot;
    return interrupt_check(err);
}

static int walk_work(void *ctx, size_t item, size_t slot, unsigned worker, struct error *err)
{
    struct walk *w = ctx;
    struct slot *s = &w->slots[slot];
    const char *name = w->m->entries[item].name;
    char *joined = w->dir ? file_join(w->dir, name, err) : NULL;
    struct digest_result found;
    int code;

    (void)worker;
    if (w->dir && !joined)
        return ERROR_NOMEM;
    memset(&s->err, 0, sizeof s->err);
    code = digest_file(DIGEST_SHA256, joined ? joined : name, &found, &s->err);
    mem_free(joined);
    if (code == ERROR_INTERRUPTED || code == ERROR_NOMEM) {
        if (err)
            *err = s->err;
        return code;
    }
    memcpy(s->found, found.sha256, 32);
    if (code)
        s->outcome = code == ERROR_MISSING ? OUTCOME_MISSING : OUTCOME_UNREADABLE;
    else
        s->outcome = memcmp(found.sha256, w->m->entries[item].sha256, 32) ? OUTCOME_DIFFERS : OUTCOME_OK;
    progress_add(w->progress, 1, 0);
    return 0;
}

static int walk_write(void *ctx, size_t item, size_t slot, struct error *err)
{
    struct walk *w = ctx;
    return w->each(w->ctx, &w->m->entries[item], &w->slots[slot], err);
}

static int walk_run(struct walk *w, struct pool *pool, struct error *err)
{
    struct pool_pipe pipe = { walk_read, walk_work, walk_write, w };
    int code;

    w->window = 2 * (pool ? pool_threads(pool) : 1);
    w->slots = mem_zalloc(w->window, sizeof *w->slots, "checksum slots", err);
    if (!w->slots)
        return ERROR_NOMEM;
    progress_phase(w->progress, "hashing", w->m->n, 0);
    code = pool_pipe(pool, w->m->n, w->window, &pipe, err);
    progress_end(w->progress);
    mem_free(w->slots);
    return code;
}

/* ---- -c MANIFEST ---- */

struct check {
    const struct listing_options *o;
    struct listing_result *res;
    size_t n_ok, n_differ, n_unreadable, n_missing;
};

static const char *const words[] = { "OK", "FAILED", "FAILED open or read", "FAILED open or read" };
static const char *const json_words[] = { "ok", "failed", "unreadable", "missing" };

static int json_line(struct check *c, const struct manifest_entry *e, const struct slot *s, struct error *err)
{
    size_t n = c->n_ok + c->n_differ + c->n_unreadable + c->n_missing;
    struct buffer *b = &c->res->out;
    char want[65], found[65];
    int code = buffer_printf(b, err, "%s{\"name\":", n > 1 ? "," : "");

    digest_hex(e->sha256, 32, want);
    digest_hex(s->found, 32, found);
    if (!code)
        code = json_put_str(b, e->name, strlen(e->name), err);
    if (!code)
        code = buffer_printf(b, err, ",\"result\":\"%s\",\"expected\":\"%s\"", json_words[s->outcome], want);
    if (!code && s->outcome <= OUTCOME_DIFFERS)
        code = buffer_printf(b, err, ",\"found\":\"%s\"", found);
    return code ? code : buffer_append(b, "}", 1, err);
}

static int check_each(void *ctx, const struct manifest_entry *e, const struct slot *s, struct error *err)
{
    struct check *c = ctx;
    struct listing_result *res = c->res;
    bool passed_over = s->outcome == OUTCOME_MISSING && c->o->ignore_missing;
    int code = 0;

    c->n_ok += s->outcome == OUTCOME_OK;
    c->n_differ += s->outcome == OUTCOME_DIFFERS;
    c->n_unreadable += s->outcome == OUTCOME_UNREADABLE;
    c->n_missing += s->outcome == OUTCOME_MISSING;
    if (c->o->json)
        return json_line(c, e, s, err);
    if (passed_over || (s->outcome == OUTCOME_OK && c->o->quiet))
        return 0;
    if (s->outcome >= OUTCOME_UNREADABLE)
        code = buffer_printf(&res->talk, err, "tern-verify: %s\n", s->err.text);
    if (!code)
        code = report_path(e->name, &res->out, err);
    return code ? code : buffer_printf(&res->out, err, ": %s\n", words[s->outcome]);
}

static int warn_count(struct listing_result *res, size_t n, const char *one, const char *many, struct error *err)
{
    return n ? buffer_printf(&res->talk, err, "tern-verify: WARNING: %zu %s\n", n, n == 1 ? one : many) : 0;
}

static int conclude(struct check *c, const char *manifest, const struct manifest *m, struct error *err)
{
    struct listing_result *res = c->res;
    size_t n_lost = c->n_unreadable + (c->o->ignore_missing ? 0 : c->n_missing);
    int code;

    res->failed = c->n_differ || n_lost || !c->n_ok || (c->o->strict && m->n_malformed);
    if (c->o->status)
        return 0;
    if ((code =
             warn_count(res, m->n_malformed, "line is improperly formatted", "lines are improperly formatted", err)) ||
        (code = warn_count(res, n_lost, "listed file could not be read", "listed files could not be read", err)) ||
        (code =
             warn_count(res, c->n_differ, "computed checksum did NOT match", "computed checksums did NOT match", err)))
        return code;
    if (c->o->ignore_missing && !c->n_ok) {
        if ((code = buffer_printf(&res->talk, err, "tern-verify: ")) || (code = report_path(manifest, &res->talk, err)))
            return code;
        code = buffer_printf(&res->talk, err, ": no file was verified\n");
    }
    if (!code && c->o->json)
        code = buffer_printf(&res->out, err,
                             "],\"ok\":%zu,\"failed\":%zu,\"unreadable\":%zu,\"missing\":%zu,\"malformed\":%zu,"
                             "\"result\":\"%s\"}",
                             c->n_ok, c->n_differ, c->n_unreadable, c->n_missing, m->n_malformed,
                             res->failed ? "failed" : "ok");
    return code;
}

int listing_check(const char *manifest, const struct listing_options *o, struct pool *pool, struct progress *progress,
                  struct listing_result *res, struct error *err)
{
    struct manifest m = { 0 };
    struct check c = { .o = o, .res = res };
    struct walk w = { .m = &m, .progress = progress, .each = check_each, .ctx = &c };
    int code;

    memset(res, 0, sizeof *res);
    if ((code = manifest_read(&m, manifest, err)))
        goto out;
    if (o->json) {
        if ((code = buffer_printf(&res->out, err, "{\"path\":")) ||
            (code = json_put_str(&res->out, manifest, strlen(manifest), err)) ||
            (code = buffer_printf(&res->out, err, ",\"files\":[")))
            goto out;
    }
    if (!(code = walk_run(&w, pool, err)))
        code = conclude(&c, manifest, &m, err);
out:
    manifest_free(&m);
    return code;
}

void listing_free(struct listing_result *res)
{
    buffer_free(&res->out);
    buffer_free(&res->talk);
}

/* ---- a folder's own list ---- */

static int folder_each(void *ctx, const struct manifest_entry *e, const struct slot *s, struct error *err)
{
    struct report *r = ctx;
    char want[65], found[65];

    (void)err;
    digest_hex(e->sha256, 32, want);
    digest_hex(s->found, 32, found);
    if (s->outcome == OUTCOME_DIFFERS)
        report_add(r, REPORT_ERROR, ERROR_MISMATCH, e->name, "SHA-256 differs from SHA256SUMS: expected %s, found %s",
                   want, found);
    else if (s->outcome == OUTCOME_MISSING)
        report_add(r, REPORT_ERROR, ERROR_MISSING, e->name, "missing, although SHA256SUMS names it");
    else if (s->outcome == OUTCOME_UNREADABLE)
        report_add(r, REPORT_ERROR, s->err.code, e->name, "%s", s->err.text);
    return 0;
}

/* Names that leave the folder are not opened. */
static bool inside(const char *name)
{
    if (*name == '/')
        return false;
    for (const char *p = name; *p; p += strcspn(p, "/") + !!p[strcspn(p, "/")])
        if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
            return false;
    return true;
}

static bool listed(const struct manifest *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++) {
        const char *have = m->entries[i].name;
        while (!strncmp(have, "./", 2))
            have += 2;
        if (!strcmp(have, name))
            return true;
    }
    return false;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* A real folder: links to folders are not followed, so there are no cycles. */
static bool is_real_dir(const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISDIR(st.st_mode);
}

/* Files below dir/sub that the list does not name, in the order of their bytes; `sub` is "" or ends in '/'. */
static int find_extra(const char *dir, const char *sub, const struct manifest *m, bool strict, struct report *r,
                      struct error *err)
{
    char *path = file_join(dir, *sub ? sub : ".", err);
    struct dirent **names = NULL;
    int n = path ? scandir(path, &names, not_hidden, by_bytes) : 0;
    int code = !path ? ERROR_NOMEM : n < 0 ? error_errno(err, ERROR_IO, errno, "%s", path) : 0;

    for (int i = 0; i < n; i++) {
        struct buffer name = { 0 };
        char *full = NULL;
        if (!code)
            code = buffer_printf(&name, err, "%s%s", sub, names[i]->d_name);
        if (!code && !(full = file_join(dir, name.data, err)))
            code = ERROR_NOMEM;
        if (!code && is_real_dir(full)) {
            code = buffer_append(&name, "/", 1, err);
            if (!code)
                code = find_extra(dir, name.data, m, strict, r, err);
        } else if (!code && strcmp(name.data, "SHA256SUMS") && !listed(m, name.data)) {
            report_add(r, strict ? REPORT_ERROR : REPORT_WARNING, ERROR_MISMATCH, name.data,
                       "extra: SHA256SUMS does not name it");
        }
        mem_free(full);
        buffer_free(&name);
        free(names[i]);
    }
    free(names);
    mem_free(path);
    return code;
}

/* Every name must lie within the folder before any file is opened. */
static bool names_inside(const struct manifest *m, struct report *r)
{
    for (size_t i = 0; i < m->n; i++) {
        if (inside(m->entries[i].name))
            continue;
        report_add(r, REPORT_ERROR, ERROR_FORMAT, "SHA256SUMS", "line %zu names a path outside the folder",
                   m->entries[i].line);
        return false;
    }
    return true;
}

int listing_check_folder(const char *dir, const struct verify *v, struct report *r, struct error *err)
{
    struct manifest m = { 0 };
    struct error bad = { 0 };
    struct walk w = { .m = &m, .dir = dir, .progress = v->progress, .each = folder_each, .ctx = r };
    char *path = file_join(dir, "SHA256SUMS", err);
    size_t before = r->n_errors;
    int code;

    if (!path)
        return ERROR_NOMEM;
    if ((code = manifest_read(&m, path, &bad)) || !names_inside(&m, r))
        goto out;
    if (m.n_malformed)
        report_add(r, v->strict ? REPORT_ERROR : REPORT_WARNING, ERROR_FORMAT, "SHA256SUMS",
                   "%zu line%s improperly formatted", m.n_malformed, m.n_malformed == 1 ? " is" : "s are");
    if (!(code = walk_run(&w, v->pool, &bad)))
        code = find_extra(dir, "", &m, v->strict, r, &bad);
    if (!code && r->n_errors == before)
        report_add(r, REPORT_NOTE, 0, NULL, "SHA256SUMS: %zu files agree", m.n);
out:
    manifest_free(&m);
    mem_free(path);
    return report_settle(r, code, &bad, err);
}
