/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/safetensors.h"
#include "base/util/json.h"
#include "base/util/text.h"
#include "verify/listing.h"
#include "verify/scan.h"

enum { CHUNK = 1 << 20, JSON_DEPTH = 64, JSON_MAX = 1 << 30 };

/* ---- values ---- */

struct worker {
    uint8_t *buf;
};

struct values {
    const struct st_model *m;
    const struct verify *v;
    struct scan *results;
    struct worker *workers;
};

static bool wanted(const struct values *p, const struct st_tensor *t)
{
    return scan_knows(t->dtype) && (!p->v->tensor || !strcmp(p->v->tensor, t->name));
}

static int scan_tensor(const struct values *p, const struct st_tensor *t, struct scan *s, struct worker *w,
                       struct error *err)
{
    uint64_t chunk = CHUNK / (st_dtype_bits(t->dtype) / 8);
    for (uint64_t at = 0; at < t->n_elements; at += chunk) {
        uint64_t n = t->n_elements - at < chunk ? t->n_elements - at : chunk;
        int code = interrupt_check(err);
        if (!code)
            code = st_read(p->m, t, at, n, w->buf, err);
        if (code)
            return code;
        scan_values(t->dtype, w->buf, (size_t)n, at, s);
        progress_add(p->v->progress, 0, n * st_dtype_bits(t->dtype) / 8);
    }
    return 0;
}

static int scan_one(void *ctx, size_t item, unsigned worker, struct error *err)
{
    struct values *p = ctx;
    struct worker *w = &p->workers[worker];

    scan_init(&p->results[item]);
    if (!wanted(p, &p->m->tensors[item]))
        return 0;
    int code = scan_tensor(p, &p->m->tensors[item], &p->results[item], w, err);
    progress_add(p->v->progress, 1, 0);
    return code;
}

static void report_values(const struct values *p, struct report *r)
{
    for (size_t i = 0; i < p->m->n_tensors; i++) {
        const struct scan *s = &p->results[i];
        const char *name = p->m->tensors[i].name;
        if (s->nan || s->inf)
            report_add(r, REPORT_WARNING, 0, name,
                       "%" PRIu64 " NaN and %" PRIu64 " Inf among %" PRIu64 " values, first at element %" PRIu64,
                       s->nan, s->inf, p->m->tensors[i].n_elements, s->first_bad);
        if (s->beyond_f16)
            report_add(r, REPORT_WARNING, 0, name,
                       "%" PRIu64 " of %" PRIu64 " values are beyond the F16 range: an F16 copy "
                       "would overflow",
                       s->beyond_f16, p->m->tensors[i].n_elements);
    }
}

static int check_values(const struct st_model *m, const struct verify *v, struct report *r, struct error *err)
{
    struct values p = { .m = m, .v = v };
    unsigned n_workers = v->pool ? pool_threads(v->pool) : 1;
    uint64_t total = 0, n = 0;
    int code = ERROR_NOMEM;

    p.results = mem_zalloc(m->n_tensors, sizeof *p.results, "tensor results", err);
    p.workers = mem_zalloc(n_workers, sizeof *p.workers, "workers", err);
    if (!p.results || !p.workers)
        goto out;
    for (unsigned i = 0; i < n_workers; i++) {
        if (!(p.workers[i].buf = mem_aligned(CHUNK, 1, "read buffer", err)))
            goto out;
    }
    for (size_t i = 0; i < m->n_tensors; i++) {
        n += wanted(&p, &m->tensors[i]);
        total += wanted(&p, &m->tensors[i]) ? m->tensors[i].bytes : 0;
    }
    progress_phase(v->progress, "checking", n, total);
    code = pool_try(v->pool, m->n_tensors, scan_one, &p, err);
    progress_end(v->progress);
    if (!code)
        report_values(&p, r);
out:
    for (unsigned i = 0; p.workers && i < n_workers; i++)
        mem_free(p.workers[i].buf);
    mem_free(p.workers);
    mem_free(p.results);
    return code;
}

static int check_model(const struct st_model *m, const struct verify *v, struct report *r, struct error *err)
{
    uint64_t bytes = 0;
    char size[32];
    size_t n_blind = 0;

    if (v->tensor && !st_find(m, v->tensor)) {
        report_add(r, REPORT_ERROR, ERROR_MISSING, v->tensor, "there is no such tensor");
        return 0;
    }
    for (size_t i = 0; i < m->n_shards; i++)
        bytes += m->shards[i].file.size;
    for (size_t i = 0; i < m->n_tensors; i++)
        n_blind += !scan_knows(m->tensors[i].dtype);
    report_add(r, REPORT_NOTE, 0, NULL, "%zu tensors in %zu file%s, %s", m->n_tensors, m->n_shards,
               m->n_shards == 1 ? "" : "s", text_bytes(size, sizeof size, bytes));
    if (n_blind)
        report_add(r, REPORT_NOTE, 0, NULL,
                   "values of %zu tensors are not F16, BF16, F32 or F64 and were not looked into", n_blind);
    if (v->facts && buffer_printf(&r->facts, err, ",\"n_tensors\":%zu,\"bytes\":%" PRIu64, m->n_tensors, bytes))
        return ERROR_NOMEM;
    return v->plan_only ? 0 : check_values(m, v, r, err);
}

int folder_check_file(const char *path, const struct verify *v, struct report *r, struct error *err)
{
    struct st_model m = { 0 };
    struct error bad = { 0 };
    int code;

    r->kind = "safetensors";
    code = st_open_file(&m, path, &bad);
    if (!code)
        code = check_model(&m, v, r, &bad);
    st_close(&m);
    return report_settle(r, code, &bad, err);
}

/* ---- the folder ---- */

static const char lfs_mark[] = "version https://git-lfs.github.com/spec/";

/* A JSON file of the folder. need: absence is an error. */
static int check_json(const char *dir, const char *name, bool need, bool object, struct report *r, struct error *err)
{
    struct json_doc *doc = NULL;
    struct error bad = { 0 };
    char *path = file_join(dir, name, err), *text = NULL;
    size_t n = 0;
    int code = 0;

    if (!path)
        return ERROR_NOMEM;
    if (!file_exists(path)) {
        if (need)
            report_add(r, REPORT_ERROR, ERROR_MISSING, name, "is missing");
        goto out;
    }
    code = file_read_all(path, JSON_MAX, &text, &n, &bad);
    if (!code && text_starts(text, lfs_mark))
        code = error_set(&bad, ERROR_FORMAT,
                         "%s: is a git-LFS pointer, the real file was never fetched (run git lfs pull)", name);
    else if (!code)
        code = json_parse(&doc, text, n, name, JSON_DEPTH, JSON_BOM, &bad);
    if (!code && object && json_kind(json_root(doc)) != JSON_OBJECT)
        code = error_set(&bad, ERROR_FORMAT, "%s: expected an object, found %s", name, json_kind_name(json_root(doc)));
    code = report_settle(r, code, &bad, err);
out:
    json_free(doc);
    mem_free(text);
    mem_free(path);
    return code;
}

static bool has(const char *dir, const char *name)
{
    char *path = file_join(dir, name, NULL);
    bool yes = path && file_exists(path);
    mem_free(path);
    return yes;
}

static int check_weights(const char *dir, const struct verify *v, struct report *r, struct error *err)
{
    struct st_model m = { 0 };
    struct error bad = { 0 };
    int code = st_open_dir(&m, dir, &bad);

    if (!code)
        code = check_model(&m, v, r, &bad);
    st_close(&m);
    return report_settle(r, code, &bad, err);
}

int folder_check(const char *dir, const struct verify *v, struct report *r, struct error *err)
{
    /* A SentencePiece model or a vocabulary with merges stands in for tokenizer.json. */
    bool other_tokenizer = has(dir, "tokenizer.model") || has(dir, "vocab.json");
    int code;

    r->kind = "folder";
    if ((code = check_json(dir, "config.json", true, true, r, err)) || (code = check_weights(dir, v, r, err)) ||
        (code = check_json(dir, "tokenizer.json", !other_tokenizer, true, r, err)) ||
        (code = check_json(dir, "tokenizer_config.json", false, true, r, err)) ||
        (code = check_json(dir, "generation_config.json", false, true, r, err)))
        return code;
    if (has(dir, "SHA256SUMS") && !v->plan_only)
        code = listing_check_folder(dir, v, r, err);
    return code;
}
