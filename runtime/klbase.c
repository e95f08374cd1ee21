/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/klbase.h"

#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/mem.h"
#include "base/util/text.h"

static const char magic[8] = { '_', 'l', 'o', 'g', 'i', 't', 's', '_' };

enum { HEADER = 20, MIN_CTX = 4 };

size_t klbase_record_bytes(size_t n_vocab)
{
    return 8 + (n_vocab + n_vocab % 2) * 2;
}

size_t klbase_records(size_t n_ctx)
{
    return n_ctx - 1 - n_ctx / 2;
}

uint64_t klbase_bytes(uint64_t n_ctx, uint64_t n_vocab, uint64_t n_chunks)
{
    uint64_t records, tokens, total;
    if (mem_mul(n_chunks, klbase_records(n_ctx), &records) &&
        mem_mul(records, klbase_record_bytes(n_vocab), &records) && mem_mul(n_chunks, n_ctx * 4, &tokens) &&
        mem_add(records, tokens, &total) && mem_add(total, HEADER, &total))
        return total;
    return UINT64_MAX;
}

void klbase_encode(const struct kernels *k, const float *logits, size_t n_vocab, uint8_t *record)
{
    float max, min = logits[0];
    float log_sum = (float)(k->log_sum_exp(logits, n_vocab, &max) - max); /* ln sum exp(l - max) */
    for (size_t i = 1; i < n_vocab; i++)
        min = logits[i] < min ? logits[i] : min;
    min = min < max - 16 ? max - 16 : min;
    float scale = (max - min) / 65535.0f, inverse = scale > 0 ? 1 / scale : 0;
    bytes_put_f32(record, scale);
    bytes_put_f32(record + 4, min - max - log_sum);
    for (size_t i = 0; i < n_vocab; i++) {
        float code = logits[i] > min ? rintf(inverse * (logits[i] - min)) : 0; /* rintf: ties to even */
        /* logits that are not finite, or too close for `inverse`, make a code that no u16 holds */
        bytes_put_u16(record + 8 + 2 * i, code <= 65535 ? (uint16_t)code : 65535);
    }
    if (n_vocab % 2)
        bytes_put_u16(record + 8 + 2 * n_vocab, 0);
}

bool klbase_decode(const uint8_t *record, size_t n_vocab, float *log_p)
{
    float scale = bytes_get_f32(record), min = bytes_get_f32(record + 4);
    if (!isfinite(scale) || !isfinite(min) || scale < 0)
        return false;
    for (size_t i = 0; i < n_vocab; i++)
        log_p[i] = scale * bytes_get_u16(record + 8 + 2 * i) + min;
    return true;
}

static int read_header(struct klbase *b, struct error *err)
{
    const char *path = b->file.path;
    uint8_t head[HEADER];
    char found[64];
    int rc = file_read_at(&b->file, head, sizeof head, 0, err);
    if (rc)
        return rc;
    if (memcmp(head, magic, sizeof magic))
        return error_set(err, ERROR_FORMAT,
                         "%s: no log-probability file: expected \"_logits_\" at offset 0, found \"%s\"", path,
                         text_quote(found, sizeof found, (const char *)head, sizeof magic));
    b->n_ctx = bytes_get_u32(head + 8);
    b->n_vocab = bytes_get_u32(head + 12);
    b->n_chunks = bytes_get_u32(head + 16);
    if (b->n_ctx < MIN_CTX || b->n_ctx > INT32_MAX || !b->n_vocab || b->n_vocab > INT32_MAX || !b->n_chunks ||
        b->n_chunks > INT32_MAX)
        return error_set(err, ERROR_FORMAT, "%s: offset 8: senseless header: n_ctx %u, n_vocab %u, n_chunk %u", path,
                         b->n_ctx, b->n_vocab, b->n_chunks);
    uint64_t expected = klbase_bytes(b->n_ctx, b->n_vocab, b->n_chunks);
    if (expected != b->file.size)
        return error_set(
            err, ERROR_FORMAT, "%s: %u chunks of %u tokens over a vocabulary of %u make %llu bytes, the file has %llu",
            path, b->n_chunks, b->n_ctx, b->n_vocab, (unsigned long long)expected, (unsigned long long)b->file.size);
    return 0;
}

static int read_tokens(struct klbase *b, struct error *err)
{
    size_t n = (size_t)b->n_chunks * b->n_ctx; /* its bytes are part of the file */
    b->tokens = mem_zalloc(n, sizeof *b->tokens, "token ids", err);
    if (!b->tokens)
        return ERROR_NOMEM;
    int rc = file_read_at(&b->file, b->tokens, n * sizeof *b->tokens, HEADER, err);
    for (size_t i = 0; i < n && !rc; i++) {
        b->tokens[i] = (int32_t)bytes_get_u32(&b->tokens[i]);
        if (b->tokens[i] < 0 || (uint32_t)b->tokens[i] >= b->n_vocab)
            rc = error_set(err, ERROR_FORMAT, "%s: offset %zu: token %d is outside the vocabulary of %u", b->file.path,
                           HEADER + 4 * i, b->tokens[i], b->n_vocab);
    }
    return rc;
}

int klbase_open(struct klbase *b, const char *path, struct error *err)
{
    *b = (struct klbase){ .file = FILE_INIT };
    int rc = file_open(&b->file, path, 0, err);
    if (!rc)
        rc = read_header(b, err);
    if (!rc)
        rc = read_tokens(b, err);
    if (rc)
        klbase_close(b);
    return rc;
}

void klbase_close(struct klbase *b)
{
    mem_free(b->tokens);
    file_close(&b->file);
    *b = (struct klbase){ .file = FILE_INIT };
}

int klbase_read(const struct klbase *b, size_t chunk, size_t row, size_t n, uint8_t *records, struct error *err)
{
    size_t bytes = klbase_record_bytes(b->n_vocab);
    uint64_t first = HEADER + (uint64_t)b->n_chunks * b->n_ctx * 4;
    return file_read_at(&b->file, records, n * bytes,
                        first + ((uint64_t)chunk * klbase_records(b->n_ctx) + row) * bytes, err);
}

int klbase_create(struct writer *w, const char *path, size_t n_ctx, size_t n_vocab, size_t n_chunks,
                  const int32_t *tokens, bool force, struct error *err)
{
    uint8_t head[HEADER], id[4];
    memcpy(head, magic, sizeof magic);
    bytes_put_u32(head + 8, (uint32_t)n_ctx);
    bytes_put_u32(head + 12, (uint32_t)n_vocab);
    bytes_put_u32(head + 16, (uint32_t)n_chunks);
    int rc = file_check_output(path, klbase_bytes(n_ctx, n_vocab, n_chunks), force, err);
    if (rc || (rc = writer_open(w, path, force, err)) || (rc = writer_write(w, head, sizeof head, err)))
        return rc;
    for (size_t i = 0; i < n_chunks * n_ctx && !rc; i++) {
        bytes_put_u32(id, (uint32_t)tokens[i]);
        rc = writer_write(w, id, sizeof id, err);
    }
    return rc;
}
