/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llama-perplexity's log-probability file, little-endian: "_logits_", i32 n_ctx, n_vocab, n_chunk, the
 * tokens i32 [n_chunk][n_ctx], then for each chunk n_ctx - 1 - n_ctx/2 records of u16 [2 * ceil(n_vocab/2) + 4]: f32
 * scale, f32 min_log_prob, n_vocab codes, a zero when n_vocab is odd. log p ~ scale * code + min_log_prob; log p <= -16
 * below the largest logit is cut.
 */
#ifndef TERNPACK_RUNTIME_KLBASE_H
#define TERNPACK_RUNTIME_KLBASE_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/file.h"
#include "kernels/kernels.h"

size_t klbase_record_bytes(size_t n_vocab);
size_t klbase_records(size_t n_ctx); /* per chunk */
/* Bytes of a whole file; UINT64_MAX on overflow. */
uint64_t klbase_bytes(uint64_t n_ctx, uint64_t n_vocab, uint64_t n_chunks);

/* One record of a row of logits. Pure. */
void klbase_encode(const struct kernels *k, const float *logits, size_t n_vocab, uint8_t *record);
/* log p of every token, as stored. false when scale or minimum are not finite or the scale is negative. */
bool klbase_decode(const uint8_t *record, size_t n_vocab, float *log_p);

struct klbase {
    struct file file;
    uint32_t n_ctx, n_vocab, n_chunks;
    int32_t *tokens; /* [n_chunks][n_ctx] */
};
/* The header is checked against the file's size and the tokens against n_vocab. */
int klbase_open(struct klbase *b, const char *path, struct error *err);
void klbase_close(struct klbase *b);
/* Records [row, row + n) of a chunk. */
int klbase_read(const struct klbase *b, size_t chunk, size_t row, size_t n, uint8_t *records, struct error *err);

/* Writing: free space is checked first; records are appended with writer_write, then writer_commit. */
int klbase_create(struct writer *w, const char *path, size_t n_ctx, size_t n_vocab, size_t n_chunks,
                  const int32_t *tokens, bool force, struct error *err);

#endif
