/* SPDX-License-Identifier: Apache-2.0 */
/* Importance statistics in memory, and both file forms: importance-matrix GGUF and the older .dat. */
#include "base/format/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/util/bytes.h"
#include "base/util/text.h"

enum { STATS_VERSION = 1, ALIGNMENT = 32, MAX_DAT_ENTRIES = 16384 /* each is put in its place by moving others */ };
static const uint64_t max_dat = (uint64_t)1 << 30;
static const char sum_suffix[] = ".in_sum2", count_suffix[] = ".counts";

/* First entry that does not sort before name. */
static size_t lower_bound(const struct stats *s, const char *name)
{
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(s->entries[mid].name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const struct stats_entry *stats_find(const struct stats *s, const char *name)
{
    size_t i = lower_bound(s, name);
    return i < s->n && !strcmp(s->entries[i].name, name) ? &s->entries[i] : NULL;
}

static void entry_free(struct stats_entry *e)
{
    mem_free(e->name);
    mem_free(e->sum2);
    mem_free(e->counts);
}

int stats_add(struct stats *s, const char *name, uint64_t n_in, uint64_t n_mat, struct stats_entry **out,
              struct error *err)
{
    size_t at = lower_bound(s, name);
    uint64_t values;
    struct stats_entry e = { .n_in = n_in, .n_mat = n_mat };
    *out = NULL;
    if (at < s->n && !strcmp(s->entries[at].name, name))
        return error_set(err, ERROR_INTERNAL, "statistics of %s twice", name);
    if (!n_in || !n_mat || !mem_mul(n_in, n_mat, &values))
        return error_set(err, ERROR_INTERNAL, "statistics of %s: %" PRIu64 " x %" PRIu64 " values", name, n_in, n_mat);
    int rc = mem_reserve((void **)&s->entries, &s->cap, s->n + 1, sizeof e, "statistics", err);
    if (rc)
        return rc;
    e.name = mem_strdup(name, err);
    e.sum2 = mem_zalloc(values, sizeof *e.sum2, "statistics", err);
    e.counts = mem_zalloc(n_mat, sizeof *e.counts, "statistics", err);
    if (!e.name || !e.sum2 || !e.counts) {
        entry_free(&e);
        return ERROR_NOMEM;
    }
    memmove(&s->entries[at + 1], &s->entries[at], (s->n - at) * sizeof e);
    s->entries[at] = e;
    s->n++;
    *out = &s->entries[at];
    return 0;
}

void stats_free(struct stats *s)
{
    for (size_t i = 0; i < s->n; i++)
        entry_free(&s->entries[i]);
    mem_free(s->entries);
    mem_free(s->dataset);
    mem_free(s->corpus_sha256);
    mem_free(s->model_sha256);
    *s = (struct stats){ .add_bos = -1 };
}

/* Little-endian floats in place, and no value that a sum of squares or a count cannot have. */
static int check_values(float *v, uint64_t n, bool whole, const char *path, const char *name, const char *what,
                        struct error *err)
{
    for (uint64_t i = 0; i < n; i++) {
        v[i] = bytes_get_f32(&v[i]);
        if (!isfinite(v[i]) || v[i] < 0 || (whole && v[i] != floorf(v[i])))
            return error_set(err, ERROR_FORMAT, "%s: %s of %s: value %" PRIu64 " is %g, expected a %s of at least 0%s",
                             path, what, name, i, (double)v[i], whole ? "whole number" : "finite number",
                             isnan(v[i])   ? " (NaN)"
                             : isinf(v[i]) ? " (Inf)"
                                           : "");
    }
    return 0;
}

struct pair { /* a weight with statistics in a file being read */
    const struct gguf_tensor *sum;
    size_t stem; /* bytes of the name before the suffix */
};

static int by_stem(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    size_t n = x->stem < y->stem ? x->stem : y->stem;
    int c = memcmp(x->sum->name, y->sum->name, n);
    return c ? c : (x->stem > y->stem) - (x->stem < y->stem);
}

static int read_pair(struct stats *s, const struct gguf *g, const struct pair *p, const char *path, struct error *err)
{
    char name[GGUF_MAX_NAME + 1], counts_name[GGUF_MAX_NAME + 16];
    struct stats_entry *e;
    memcpy(name, p->sum->name, p->stem);
    name[p->stem] = 0;
    strcpy(counts_name, name);
    strcat(counts_name, count_suffix);
    const struct gguf_tensor *counts = gguf_tensor(g, counts_name);
    if (!counts)
        return error_set(err, ERROR_FORMAT, "%s: %s has in_sum2 but no counts", path, name);
    if (p->sum->type != BLOCK_F32 || counts->type != BLOCK_F32)
        return error_set(err, ERROR_FORMAT, "%s: statistics of %s are %s and %s, expected F32", path, name,
                         p->sum->info->name, counts->info->name);
    if (counts->n_elements != p->sum->n_rows)
        return error_set(err, ERROR_FORMAT, "%s: %s has %" PRIu64 " counts for %" PRIu64 " matrices", path, name,
                         counts->n_elements, p->sum->n_rows);
    int rc = stats_add(s, name, p->sum->ne[0], p->sum->n_rows, &e, err);
    if (!rc)
        rc = gguf_read_rows(g, p->sum, 0, p->sum->n_rows, e->sum2, err);
    if (!rc)
        rc = gguf_read_rows(g, counts, 0, counts->n_rows, e->counts, err);
    if (!rc)
        rc = check_values(e->sum2, p->sum->n_elements, false, path, name, "in_sum2", err);
    if (!rc)
        rc = check_values(e->counts, counts->n_elements, true, path, name, "counts", err);
    return rc;
}

static int read_pairs(struct stats *s, const struct gguf *g, const char *path, struct error *err)
{
    size_t n_pairs = 0, n_counts = 0, n_other = 0;
    int rc = 0;
    struct pair *pairs = mem_zalloc(g->n_tensors, sizeof *pairs, "statistics", err);
    if (!pairs)
        return ERROR_NOMEM;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        size_t n = strlen(t->name);
        if (text_ends(t->name, sum_suffix) && n > strlen(sum_suffix))
            pairs[n_pairs++] = (struct pair){ .sum = t, .stem = n - strlen(sum_suffix) };
        else if (text_ends(t->name, count_suffix) && n > strlen(count_suffix))
            n_counts++;
        else
            n_other++;
    }
    if (!n_pairs)
        rc = error_set(err, ERROR_FORMAT, "%s: no statistics in it", path);
    else if (n_other)
        rc = error_set(err, ERROR_FORMAT, "%s: %zu tensors are neither in_sum2 nor counts", path, n_other);
    qsort(pairs, n_pairs, sizeof *pairs, by_stem);
    for (size_t i = 0; i < n_pairs && !rc; i++)
        rc = read_pair(s, g, &pairs[i], path, err);
    if (!rc && n_counts != n_pairs)
        rc = error_set(err, ERROR_FORMAT, "%s: %zu names have counts, %zu have in_sum2", path, n_counts, n_pairs);
    mem_free(pairs);
    return rc;
}

static int opt_string(const struct gguf *g, const char *key, char **out, struct error *err)
{
    struct gguf_str v = { NULL, 0 };
    int rc = gguf_opt_str(g, key, &v, err);
    if (!rc && v.s && !(*out = mem_strndup(v.s, v.n, err)))
        rc = ERROR_NOMEM;
    return rc;
}

static int read_keys(struct stats *s, const struct gguf *g, const char *path, struct error *err)
{
    struct gguf_str type, name;
    const struct gguf_kv *datasets;
    struct buffer joined = { 0 };
    size_t cursor = 0;
    char q[96];
    int rc = gguf_need_str(g, "general.type", &type, err);
    if (!rc && (type.n != 7 || memcmp(type.s, "imatrix", 7)))
        rc = error_set(err, ERROR_FORMAT, "%s: general.type is '%s', expected imatrix", path,
                       text_quote(q, sizeof q, type.s, type.n));
    if (!rc)
        rc = gguf_need_array(g, "imatrix.datasets", GGUF_STRING, &datasets, err);
    if (!rc)
        rc = gguf_need_u32(g, "imatrix.chunk_count", &s->chunk_count, err);
    if (!rc)
        rc = gguf_need_u32(g, "imatrix.chunk_size", &s->chunk_size, err);
    while (!rc && gguf_next_str(datasets, &cursor, &name)) {
        rc = joined.len ? buffer_append(&joined, ", ", 2, err) : 0;
        if (!rc)
            rc = buffer_append(&joined, name.s, name.n, err);
    }
    if (!rc && joined.len && !(s->dataset = mem_strndup(joined.data, joined.len, err)))
        rc = ERROR_NOMEM;
    buffer_free(&joined);
    return rc;
}

static int read_own_keys(struct stats *s, const struct gguf *g, const char *path, struct error *err)
{
    uint32_t version = 0;
    bool bos;
    const struct gguf_kv *tokens = gguf_find(g, "ternpack.stats.n_tokens");
    int rc = gguf_opt_u32(g, "ternpack.stats.version", &version, err);
    if (rc)
        return rc;
    if (version > STATS_VERSION)
        return error_set(err, ERROR_UNSUPPORTED, "%s: ternpack.stats.version is %" PRIu32 ", this program knows %d",
                         path, version, STATS_VERSION);
    if (tokens && tokens->type != GGUF_U64)
        return error_set(err, ERROR_FORMAT, "%s: ternpack.stats.n_tokens: expected u64, found %s", path,
                         gguf_type_name(tokens->type));
    if (tokens)
        s->n_tokens = bytes_get_u64(tokens->value);
    if (gguf_find(g, "ternpack.stats.add_bos")) {
        if ((rc = gguf_opt_bool(g, "ternpack.stats.add_bos", &bos, err)))
            return rc;
        s->add_bos = bos;
    }
    if (!(rc = opt_string(g, "ternpack.stats.corpus_sha256", &s->corpus_sha256, err)))
        rc = opt_string(g, "ternpack.stats.model_sha256", &s->model_sha256, err);
    return rc;
}

static int read_gguf(struct stats *s, const char *path, const char *shown, struct error *err)
{
    struct gguf g;
    int rc = gguf_open(&g, path, 0, err);
    if (!rc)
        rc = read_keys(s, &g, shown, err);
    if (!rc)
        rc = read_own_keys(s, &g, shown, err);
    if (!rc)
        rc = read_pairs(s, &g, shown, err);
    gguf_close(&g);
    return rc;
}

struct dat { /* reading position in a legacy file */
    const char *p;
    size_t left;
    const char *path;
    size_t size;
    struct error *err;
};

static int dat_truncated(const struct dat *d, const char *what)
{
    return error_set(d->err, ERROR_FORMAT, "%s: truncated, or no importance matrix: %s at offset %zu", d->path, what,
                     d->size - d->left);
}

/* A count of things that take `unit` bytes each, of which there must be enough left. */
static int dat_count(struct dat *d, uint32_t unit, uint32_t min, uint32_t *out, const char *what)
{
    if (d->left < 4)
        return dat_truncated(d, what);
    *out = bytes_get_u32(d->p);
    d->p += 4, d->left -= 4;
    if (*out < min || *out > INT32_MAX || (unit && *out > d->left / unit))
        return error_set(d->err, ERROR_FORMAT,
                         "%s: %s is %" PRIi32 " at offset %zu: no importance matrix, or truncated", d->path, what,
                         (int32_t)*out, d->size - d->left - 4);
    return 0;
}

static int dat_entry(struct stats *s, struct dat *d)
{
    struct stats_entry *e;
    uint32_t n, calls, values;
    int rc = dat_count(d, 1, 1, &n, "a name length");
    if (rc)
        return rc;
    if (memchr(d->p, 0, n) || text_utf8_check(d->p, n) != n)
        return dat_truncated(d, "a name that is no text");
    char *name = mem_strndup(d->p, n, d->err);
    if (!name)
        return ERROR_NOMEM;
    d->p += n, d->left -= n;
    if ((rc = dat_count(d, 0, 0, &calls, "a call count")) || (rc = dat_count(d, 4, 1, &values, "a value count")))
        goto out;
    if (stats_find(s, name)) {
        rc = error_set(d->err, ERROR_FORMAT, "%s: duplicate entry %s", d->path, name);
        goto out;
    }
    if ((rc = stats_add(s, name, values, 1, &e, d->err)))
        goto out;
    memcpy(e->sum2, d->p, (size_t)values * 4);
    d->p += (size_t)values * 4, d->left -= (size_t)values * 4;
    e->counts[0] = (float)calls;
    rc = check_values(e->sum2, values, false, d->path, name, "values", d->err);
out:
    mem_free(name);
    return rc;
}

/* i32 entries; per entry: i32 length, name, i32 calls, i32 values, f32 each (mean times calls); then, in newer files,
 * i32 chunks, i32 length, data set name. */
static int read_dat(struct stats *s, const char *path, const char *shown, struct error *err)
{
    char *text = NULL;
    size_t n;
    uint32_t entries, len;
    int rc = file_read_all(path, max_dat, &text, &n, err);
    struct dat d = { .p = text, .left = n, .size = n, .path = shown, .err = err };
    if (rc)
        return rc;
    rc = dat_count(&d, 13, 1, &entries, "the entry count");
    if (!rc && entries > MAX_DAT_ENTRIES)
        rc = error_set(err, ERROR_UNSUPPORTED, "%s: %" PRIu32 " entries, at most %d are supported", shown, entries,
                       MAX_DAT_ENTRIES);
    for (uint32_t i = 0; !rc && i < entries; i++)
        rc = dat_entry(s, &d);
    if (!rc && d.left) {
        if (!(rc = dat_count(&d, 0, 0, &s->chunk_count, "the chunk count")))
            rc = dat_count(&d, 1, 0, &len, "the data set's name length");
        if (!rc && d.left != len)
            rc = error_set(err, ERROR_FORMAT, "%s: %zu trailing bytes", shown, d.left - len);
        if (!rc && len && !(s->dataset = mem_strndup(d.p, len, err)))
            rc = ERROR_NOMEM;
    }
    mem_free(text);
    return rc;
}

int stats_read(struct stats *s, const char *path, struct error *err)
{
    struct file f = FILE_INIT;
    char magic[4] = "", shown[512];
    *s = (struct stats){ .add_bos = -1 };
    text_quote(shown, sizeof shown, path, strlen(path));
    int rc = file_open(&f, path, 0, err);
    if (rc)
        return rc;
    if (!f.size)
        rc = error_set(err, ERROR_FORMAT, "%s: empty file", shown);
    else if (f.size >= 4)
        rc = file_read_at(&f, magic, 4, 0, err);
    file_close(&f);
    if (!rc)
        rc = memcmp(magic, "GGUF", 4) ? read_dat(s, path, shown, err) : read_gguf(s, path, shown, err);
    if (rc)
        stats_free(s);
    return rc;
}

static int put_keys(const struct stats *s, struct gguf_writer *w, struct error *err)
{
    struct gguf_str dataset = { s->dataset ? s->dataset : "", s->dataset ? strlen(s->dataset) : 0 };
    int rc;
    if ((rc = gguf_put_str(w, "general.type", "imatrix", 7, err)) ||
        (rc = gguf_put_strs(w, "imatrix.datasets", &dataset, s->dataset ? 1 : 0, err)) ||
        (rc = gguf_put_u32(w, "imatrix.chunk_count", s->chunk_count, err)) ||
        (rc = gguf_put_u32(w, "imatrix.chunk_size", s->chunk_size, err)) ||
        (rc = gguf_put_u32(w, "ternpack.stats.version", STATS_VERSION, err)))
        return rc;
    if (s->corpus_sha256)
        rc = gguf_put_str(w, "ternpack.stats.corpus_sha256", s->corpus_sha256, strlen(s->corpus_sha256), err);
    if (!rc && s->model_sha256)
        rc = gguf_put_str(w, "ternpack.stats.model_sha256", s->model_sha256, strlen(s->model_sha256), err);
    if (!rc && s->n_tokens)
        rc = gguf_put_u64(w, "ternpack.stats.n_tokens", s->n_tokens, err);
    if (!rc && s->add_bos >= 0)
        rc = gguf_put_bool(w, "ternpack.stats.add_bos", s->add_bos, err);
    return rc;
}

static int put_floats(struct gguf_writer *w, const float *v, uint64_t n, struct error *err)
{
    uint8_t bytes[4096];
    int rc = 0;
    for (uint64_t i = 0; i < n && !rc;) {
        size_t m = 0;
        for (; m < sizeof bytes / 4 && i < n; m++, i++)
            bytes_put_f32(bytes + 4 * m, v[i]);
        rc = gguf_writer_data(w, bytes, 4 * m, err);
    }
    return rc;
}

int stats_write(const struct stats *s, const char *path, bool force, struct error *err)
{
    struct gguf_writer *w = NULL;
    char name[GGUF_MAX_NAME + 1];
    int rc = gguf_writer_new(&w, ALIGNMENT, err);
    if (!rc)
        rc = put_keys(s, w, err);
    for (size_t i = 0; i < s->n && !rc; i++) {
        const struct stats_entry *e = &s->entries[i];
        if (strlen(e->name) + strlen(sum_suffix) > GGUF_MAX_NAME) {
            rc = error_set(err, ERROR_FORMAT, "%s: the name is too long for %s", e->name, sum_suffix);
            break;
        }
        strcat(strcpy(name, e->name), sum_suffix);
        rc = gguf_put_tensor(w, name, BLOCK_F32, 2, (uint64_t[]){ e->n_in, e->n_mat }, err);
        strcat(strcpy(name, e->name), count_suffix);
        if (!rc)
            rc = gguf_put_tensor(w, name, BLOCK_F32, 2, (uint64_t[]){ 1, e->n_mat }, err);
    }
    if (!rc)
        rc = gguf_writer_begin(w, path, force, err);
    for (size_t i = 0; i < s->n && !rc; i++) {
        rc = put_floats(w, s->entries[i].sum2, s->entries[i].n_in * s->entries[i].n_mat, err);
        if (!rc)
            rc = put_floats(w, s->entries[i].counts, s->entries[i].n_mat, err);
    }
    if (!rc)
        rc = gguf_writer_commit(w, err);
    gguf_writer_free(w);
    return rc;
}
