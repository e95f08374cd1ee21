/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/stream.h"

#include <string.h>

struct slot {
    void *src, *dst;
    struct encode_piece piece;
    struct encode_sums sums;
};

struct stream {
    const struct plan *plan;
    struct gguf_writer *writer;
    const struct kernels *kernels;
    struct progress *progress;
    struct emit_tensor *results;
    uint64_t *first_item; /* [plan->n + 1]: pieces before tensor i */
    struct slot *slots;
    size_t n_slots;
    struct encode_scratch **scratch; /* one per worker */
    size_t n_workers;
    struct digest *digest;   /* of the tensor being written */
    size_t reading, writing; /* tensors; both only go forward */
};

static uint64_t bytes_of(const struct block_info *type, uint64_t weights)
{
    return weights / type->weights * type->bytes;
}

static int read_piece(void *ctx, size_t item, size_t slot_index, struct error *err)
{
    struct stream *s = ctx;
    struct slot *slot = &s->slots[slot_index];
    while (item >= s->first_item[s->reading + 1])
        s->reading++;
    const struct plan_tensor *t = &s->plan->tensors[s->reading];
    uint64_t first = (item - s->first_item[s->reading]) * STREAM_WEIGHTS;
    uint64_t left = t->src->n_elements - first;
    slot->piece = (struct encode_piece){ .tensor = t,
                                         .first = first,
                                         .n = left < STREAM_WEIGHTS ? left : STREAM_WEIGHTS,
                                         .src = slot->src,
                                         .dst = t->kind == PLAN_COPY ? slot->src : slot->dst };
    int rc = interrupt_check(err);
    if (rc == 0)
        rc = file_read_at(&s->plan->model->file, slot->src, bytes_of(t->src->info, slot->piece.n),
                          t->src->offset + bytes_of(t->src->info, first), err);
    return rc;
}

static int work_piece(void *ctx, size_t item, size_t slot_index, unsigned worker, struct error *err)
{
    struct stream *s = ctx;
    struct slot *slot = &s->slots[slot_index];
    (void)item;
    int rc = encode_piece(&slot->piece, s->scratch[worker], &slot->sums, err);
    return rc == 0 ? 0 : error_prefix(err, "%s", s->plan->model->file.path);
}

static int write_piece(void *ctx, size_t item, size_t slot_index, struct error *err)
{
    struct stream *s = ctx;
    const struct slot *slot = &s->slots[slot_index];
    while (item >= s->first_item[s->writing + 1])
        s->writing++;
    struct emit_tensor *result = &s->results[s->writing];
    uint64_t n = bytes_of(slot->piece.tensor->type, slot->piece.n);
    if (item == s->first_item[s->writing])
        digest_reset(s->digest);
    digest_update(s->digest, slot->piece.dst, n);
    encode_add(&result->sums, &slot->sums);
    int rc = gguf_writer_data(s->writer, slot->piece.dst, n, err);
    bool last = item + 1 == s->first_item[s->writing + 1];
    if (last)
        digest_result(s->digest, &result->digest);
    progress_add(s->progress, last, bytes_of(slot->piece.tensor->src->info, slot->piece.n));
    return rc;
}

static int open_buffers(struct stream *s, struct error *err)
{
    uint64_t src = 0, dst = 0;
    for (size_t i = 0; i < s->plan->n; i++) {
        const struct plan_tensor *t = &s->plan->tensors[i];
        uint64_t n = t->src->n_elements < STREAM_WEIGHTS ? t->src->n_elements : STREAM_WEIGHTS;
        uint64_t in = bytes_of(t->src->info, n), out = bytes_of(t->type, n);
        src = in > src ? in : src;
        dst = t->kind != PLAN_COPY && out > dst ? out : dst;
    }
    for (size_t i = 0; i < s->n_slots; i++) {
        s->slots[i].src = mem_aligned(src, 1, "piece of a tensor", err);
        s->slots[i].dst = mem_aligned(dst, 1, "piece of a tensor", err);
        if (!s->slots[i].src || !s->slots[i].dst)
            return ERROR_NOMEM;
    }
    int rc = 0;
    for (size_t i = 0; i < s->n_workers && rc == 0; i++)
        rc = encode_scratch_open(&s->scratch[i], s->kernels, err);
    return rc;
}

static int open_stream(struct stream *s, struct error *err)
{
    s->first_item = mem_zalloc(s->plan->n + 1, sizeof *s->first_item, "list of pieces", err);
    s->slots = mem_zalloc(s->n_slots, sizeof *s->slots, "list of pieces", err);
    s->scratch = mem_zalloc(s->n_workers, sizeof *s->scratch, "scratch", err);
    if (!s->first_item || !s->slots || !s->scratch)
        return ERROR_NOMEM;
    for (size_t i = 0; i < s->plan->n; i++) {
        uint64_t n = s->plan->tensors[i].src->n_elements;
        s->first_item[i + 1] = s->first_item[i] + n / STREAM_WEIGHTS + (n % STREAM_WEIGHTS != 0);
    }
    int rc = digest_open(&s->digest, DIGEST_SHA256 | DIGEST_XXH3, err);
    return rc == 0 ? open_buffers(s, err) : rc;
}

static void close_stream(struct stream *s)
{
    for (size_t i = 0; s->slots && i < s->n_slots; i++) {
        mem_free(s->slots[i].src);
        mem_free(s->slots[i].dst);
    }
    for (size_t i = 0; s->scratch && i < s->n_workers; i++)
        encode_scratch_close(s->scratch[i]);
    mem_free(s->slots);
    mem_free(s->scratch);
    mem_free(s->first_item);
    digest_close(s->digest);
}

int stream_tensors(const struct plan *plan, struct gguf_writer *writer, const struct kernels *k, struct pool *pool,
                   struct progress *progress, struct emit_tensor *results, struct error *err)
{
    size_t threads = pool ? pool_threads(pool) : 1;
    struct stream s = { .plan = plan,
                        .writer = writer,
                        .kernels = k,
                        .progress = progress,
                        .results = results,
                        .n_slots = threads + 2,
                        .n_workers = threads };
    const struct pool_pipe pipe = { .read = read_piece, .work = work_piece, .write = write_piece, .ctx = &s };
    uint64_t source_bytes = 0;
    int rc = open_stream(&s, err);
    for (size_t i = 0; i < plan->n; i++)
        source_bytes += plan->tensors[i].src->bytes;
    progress_phase(progress, "pack", plan->n, source_bytes);
    if (rc == 0)
        rc = pool_pipe(pool, s.first_item[plan->n], s.n_slots, &pipe, err);
    progress_end(progress);
    close_stream(&s);
    return rc;
}
