/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/emit.h"

#include <inttypes.h>
#include <string.h>

#include "base/util/mem.h"
#include "convert/family.h"

/* Elements of a chunk: 4 MiB of F32. With WINDOW chunks under way, and an input and an output buffer for each, the
 * buffers take at most 8 * WINDOW MiB. */
enum { CHUNK = 1 << 20, WINDOW = 4 };

struct slot {
    uint8_t *in, *out; /* 4 * CHUNK bytes each */
    const struct plan_tensor *tensor;
    size_t index; /* of tensor */
    uint64_t first, n;
    struct cast_counts counts;
};

struct stream {
    struct emit *emit;
    struct gguf_writer *writer; /* NULL: only count */
    size_t next_index;          /* where read() continues */
    uint64_t next_first;
    struct slot slots[WINDOW];
};

static uint32_t source_type(const struct plan_tensor *t)
{
    if (!t->src)
        return BLOCK_F32;
    return t->src->dtype == ST_F32 ? BLOCK_F32 : t->src->dtype == ST_F16 ? BLOCK_F16 : BLOCK_BF16;
}

static uint64_t bytes_of(uint32_t type, uint64_t n)
{
    return n * block_info(type)->bytes;
}

static bool wanted(const struct stream *s, const struct plan_tensor *t)
{
    return s->writer || cast_may_overflow(source_type(t), t->type);
}

/* Elements [first, first+n) in the order of the file. Rows of a permuted matrix are fetched one by one. */
static int fetch(const struct st_model *m, const struct plan_tensor *t, uint64_t first, uint64_t n, uint8_t *out,
                 struct error *err)
{
    uint64_t cols = t->ne[0], width = block_info(source_type(t))->bytes;
    if (!t->src) {
        memcpy(out, t->values + first, n * width);
        return 0;
    }
    if (!t->permute_head)
        return st_read(m, t->src, first, n, out, err);
    while (n) {
        uint64_t row = first / cols, col = first % cols, take = cols - col < n ? cols - col : n;
        int rc = st_read(m, t->src, family_permuted_row(row, t->permute_head) * cols + col, take, out, err);
        if (rc)
            return rc;
        out += take * width;
        first += take;
        n -= take;
    }
    return 0;
}

static int read_chunk(void *ctx, size_t item, size_t slot, struct error *err)
{
    struct stream *s = ctx;
    const struct plan *p = s->emit->plan;
    struct slot *b = &s->slots[slot];
    (void)item;

    int rc = interrupt_check(err);
    if (rc)
        return rc;
    while (!wanted(s, &p->tensors[s->next_index]) || s->next_first == p->tensors[s->next_index].n_elements) {
        s->next_index++;
        s->next_first = 0;
    }
    b->index = s->next_index;
    b->tensor = &p->tensors[b->index];
    b->first = s->next_first;
    b->n = b->tensor->n_elements - b->first < CHUNK ? b->tensor->n_elements - b->first : CHUNK;
    b->counts = (struct cast_counts){ 0 };
    s->next_first += b->n;
    return fetch(s->emit->model, b->tensor, b->first, b->n, b->in, err);
}

static int cast_chunk(void *ctx, size_t item, size_t slot, unsigned worker, struct error *err)
{
    struct stream *s = ctx;
    struct slot *b = &s->slots[slot];
    (void)item, (void)worker, (void)err;
    cast_values(source_type(b->tensor), b->tensor->type, b->in, b->out, b->n, s->emit->clamp, &b->counts);
    return 0;
}

static int write_chunk(void *ctx, size_t item, size_t slot, struct error *err)
{
    struct stream *s = ctx;
    struct slot *b = &s->slots[slot];
    uint64_t bytes = bytes_of(b->tensor->type, b->n);
    (void)item;

    cast_count(&s->emit->counts[b->index], &b->counts);
    progress_add(s->emit->progress, b->first + b->n == b->tensor->n_elements, bytes);
    return s->writer ? gguf_writer_data(s->writer, b->out, bytes, err) : 0;
}

static int run(struct emit *e, struct gguf_writer *w, const char *phase, struct error *err)
{
    struct stream s = { .emit = e, .writer = w };
    struct pool_pipe pipe = { read_chunk, cast_chunk, write_chunk, &s };
    uint64_t chunks = 0, tensors = 0, bytes = 0;
    int rc = 0;

    memset(e->counts, 0, e->plan->n_tensors * sizeof *e->counts);
    for (size_t i = 0; i < e->plan->n_tensors; i++) {
        const struct plan_tensor *t = &e->plan->tensors[i];
        if (!wanted(&s, t))
            continue;
        chunks += (t->n_elements + CHUNK - 1) / CHUNK;
        bytes += bytes_of(t->type, t->n_elements);
        tensors++;
    }
    for (size_t i = 0; !rc && i < WINDOW && i < chunks; i++) {
        s.slots[i].in = mem_aligned(CHUNK, 4, "a chunk of a tensor", err);
        s.slots[i].out = mem_aligned(CHUNK, 4, "a chunk of a tensor", err);
        if (!s.slots[i].in || !s.slots[i].out)
            rc = ERROR_NOMEM;
    }
    if (!rc) {
        progress_phase(e->progress, phase, tensors, bytes);
        rc = pool_pipe(e->pool, chunks, WINDOW, &pipe, err);
        progress_end(e->progress);
    }
    for (size_t i = 0; i < WINDOW; i++) {
        mem_free(s.slots[i].in);
        mem_free(s.slots[i].out);
    }
    return rc;
}

int emit_open(struct emit *e, const struct plan *plan, const struct st_model *model, bool clamp, unsigned threads,
              enum progress_mode progress, struct error *err)
{
    *e = (struct emit){ .plan = plan, .model = model, .clamp = clamp };
    e->counts = mem_zalloc(plan->n_tensors, sizeof *e->counts, "value counts", err);
    int rc = e->counts ? pool_open(&e->pool, threads, err) : ERROR_NOMEM;
    if (!rc)
        rc = progress_open(&e->progress, progress, 2, err);
    if (rc)
        emit_close(e);
    return rc;
}

void emit_close(struct emit *e)
{
    progress_close(e->progress);
    pool_close(e->pool);
    mem_free(e->counts);
    *e = (struct emit){ 0 };
}

bool emit_needs_scan(const struct emit *e)
{
    for (size_t i = 0; i < e->plan->n_tensors; i++)
        if (cast_may_overflow(source_type(&e->plan->tensors[i]), e->plan->tensors[i].type))
            return !e->clamp;
    return false;
}

int emit_scan(struct emit *e, struct error *err)
{
    int rc = run(e, NULL, "scan", err);
    const struct plan_tensor *first = NULL;
    uint64_t values = 0, in_first = 0;
    size_t tensors = 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < e->plan->n_tensors; i++) {
        if (!e->counts[i].overflow)
            continue;
        values += e->counts[i].overflow;
        if (!tensors++) {
            first = &e->plan->tensors[i];
            in_first = e->counts[i].overflow;
        }
    }
    if (!tensors)
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "%" PRIu64 " value%s in %zu tensor%s overflow %s, first %s with %" PRIu64 "; keep the range with "
                     "--dtype=%s, or change the values with --clamp",
                     values, values == 1 ? "" : "s", tensors, tensors == 1 ? "" : "s", block_info(first->type)->name,
                     first->src->name, in_first, first->type == BLOCK_F16 ? "bf16" : "f32");
}

int emit_data(struct emit *e, struct gguf_writer *w, struct error *err)
{
    return run(e, w, "convert", err);
}

int emit_notes(const struct emit *e, struct notes *notes, struct error *err)
{
    enum { MANY = 10 };
    struct cast_counts sum = { 0 };
    size_t told = 0, tensors = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < e->plan->n_tensors; i++) {
        const struct cast_counts *c = &e->counts[i];
        const struct plan_tensor *t = &e->plan->tensors[i];
        const char *name = t->src ? t->src->name : t->name, *type = block_info(t->type)->name;
        cast_count(&sum, c);
        if (!c->nan && !c->inf && !c->overflow)
            continue;
        tensors++;
        if (told++ >= MANY)
            continue;
        if (c->nan || c->inf)
            rc = notes_add(notes, true, err, "%s: %" PRIu64 " NaN and %" PRIu64 " Inf values", name, c->nan, c->inf);
        if (!rc && c->overflow)
            rc =
                notes_add(notes, true, err, "%s: %" PRIu64 " values that overflow %s clamped", name, c->overflow, type);
    }
    if (!rc && tensors > MANY)
        rc = notes_add(notes, true, err,
                       "in %zu more tensors as well; in all %" PRIu64 " NaN, %" PRIu64 " Inf, %" PRIu64 " clamped",
                       tensors - MANY, sum.nan, sum.inf, sum.overflow);
    if (!rc && sum.underflow)
        rc = notes_add(notes, false, err, "%" PRIu64 " values too small for their new type became zero", sum.underflow);
    return rc;
}
