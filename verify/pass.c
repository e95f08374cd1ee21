/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/pass.h"

#include <string.h>

#include "base/util/mem.h"

enum { CHUNK = 1 << 20 };

struct worker {
    struct digest *digest;
    uint8_t *buf; /* CHUNK bytes */
};

struct pass {
    const struct gguf *g;
    struct pass_tensor *results;
    unsigned which;
    struct progress *progress;
    struct worker *workers;
};

int pass_find_nonzero(const struct file *f, uint64_t from, uint64_t to, uint64_t *where, struct error *err)
{
    uint8_t buf[4096];

    *where = UINT64_MAX;
    while (from < to) {
        size_t n = to - from < sizeof buf ? (size_t)(to - from) : sizeof buf;
        int code = file_read_at(f, buf, n, from, err);
        if (code)
            return code;
        for (size_t i = 0; i < n; i++) {
            if (buf[i]) {
                *where = from + i;
                return 0;
            }
        }
        from += n;
    }
    return 0;
}

/* End of the padding after a tensor: the next multiple of the alignment, or the end of the file. */
static uint64_t padding_end(const struct gguf *g, const struct gguf_tensor *t)
{
    uint64_t end;
    if (!mem_align_up(t->offset - g->data_offset + t->bytes, g->alignment, &end) ||
        !mem_add(end, g->data_offset, &end) || end > g->file.size)
        return g->file.size;
    return end;
}

static int read_tensor(const struct pass *p, const struct gguf_tensor *t, struct pass_tensor *r, struct worker *w,
                       struct error *err)
{
    size_t chunk = CHUNK / t->info->bytes * t->info->bytes;
    uint64_t base = 0;

    codec_check_init(&r->check);
    if (p->which)
        digest_reset(w->digest);
    r->decoded = true;
    for (uint64_t at = 0; at < t->bytes;) {
        size_t n = t->bytes - at < chunk ? (size_t)(t->bytes - at) : chunk;
        size_t weights = n / t->info->bytes * t->info->weights;
        int code = interrupt_check(err);
        if (!code)
            code = file_read_at(&p->g->file, w->buf, n, t->offset + at, err);
        if (code)
            return code;
        if (p->which)
            digest_update(w->digest, w->buf, n);
        if (r->decoded)
            r->decoded = codec_check(t->type, w->buf, weights, base, &r->check);
        base += weights;
        at += n;
        progress_add(p->progress, 0, n);
    }
    if (p->which)
        digest_result(w->digest, &r->digest);
    return pass_find_nonzero(&p->g->file, t->offset + t->bytes, padding_end(p->g, t), &r->bad_padding, err);
}

static int run_one(void *ctx, size_t item, unsigned worker, struct error *err)
{
    struct pass *p = ctx;
    struct worker *w = &p->workers[worker];
    struct pass_tensor *r = &p->results[item];

    if (!r->wanted)
        return 0;
    int code = read_tensor(p, &p->g->tensors[item], r, w, err);
    r->read = !code;
    progress_add(p->progress, 1, 0);
    return code;
}

int pass_run(const struct gguf *g, struct pass_tensor *results, unsigned which, struct pool *pool,
             struct progress *progress, struct error *err)
{
    struct pass p = { .g = g, .results = results, .which = which, .progress = progress };
    unsigned n_workers = pool ? pool_threads(pool) : 1;
    uint64_t total = 0, n = 0;
    int code = 0;

    p.workers = mem_zalloc(n_workers, sizeof *p.workers, "workers", err);
    if (!p.workers)
        return ERROR_NOMEM;
    for (unsigned i = 0; i < n_workers && !code; i++) {
        if (!(p.workers[i].buf = mem_aligned(CHUNK, 1, "read buffer", err)))
            code = ERROR_NOMEM;
        else if (which)
            code = digest_open(&p.workers[i].digest, which, err);
    }
    if (code)
        goto out;
    for (size_t i = 0; i < g->n_tensors; i++) {
        results[i].bad_padding = UINT64_MAX;
        n += results[i].wanted;
        total += results[i].wanted ? g->tensors[i].bytes : 0;
    }
    progress_phase(progress, "checking", n, total);
    code = pool_try(pool, g->n_tensors, run_one, &p, err);
    progress_end(progress);
out:
    for (unsigned i = 0; i < n_workers; i++) {
        mem_free(p.workers[i].buf);
        digest_close(p.workers[i].digest);
    }
    mem_free(p.workers);
    return code;
}
