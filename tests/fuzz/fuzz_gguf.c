/* SPDX-License-Identifier: Apache-2.0 */
/* A file in memory, opened as a model and as importance statistics. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/format/stats.h"
#include "base/model/hparams.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_error(int rc, const struct error *err)
{
    if (rc && (!err->text[0] || strchr(err->text, '\n')))
        abort();
}

static void walk(const struct gguf *g)
{
    struct hparams h;
    struct error err = { 0 };
    check_error(hparams_read(&h, g, &err), &err);
    for (size_t i = 0; i < g->n_kv; i++) {
        const struct gguf_kv *kv = &g->kv[i];
        struct gguf_str s;
        uint64_t n = 0;
        if (gguf_find(g, kv->key) != kv)
            abort();
        for (size_t cursor = 0; gguf_next_str(kv, &cursor, &s); n++)
            if (s.n && !memchr(s.s, s.s[s.n - 1], s.n))
                abort();
        if (kv->elem == GGUF_STRING && n != kv->count)
            abort();
        uint32_t u;
        float f;
        check_error(gguf_need_u32(g, kv->key, &u, &err), &err);
        check_error(gguf_need_f32(g, kv->key, &f, &err), &err);
    }
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        if (gguf_tensor(g, t->name) != t || t->offset + t->bytes > g->file.size)
            abort();
        void *row = malloc(t->row_bytes);
        if (!row || gguf_read_rows(g, t, t->n_rows - 1, 1, row, &err))
            abort();
        free(row);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    struct gguf g;
    struct stats s;
    struct error err = { 0 };
    if (fd < 0) {
        fd = memfd_create("fuzz", 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
        abort();
    int rc = gguf_open(&g, path, 0, &err);
    check_error(rc, &err);
    if (!rc)
        walk(&g);
    gguf_close(&g);
    rc = stats_read(&s, path, &err);
    check_error(rc, &err);
    stats_free(&s);
    return 0;
}
