/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Importance statistics: an importance-matrix GGUF that llama-quantize reads, plus our own keys under
 * `ternpack.stats.` (docs/format.md, section 7). Legacy .dat files of llama-imatrix are read too (recognised by
 * content). For each weight name: in_sum2[n_mat][n_in] = sum over tokens of x^2, counts[n_mat] = tokens seen.
 */
#ifndef TERNPACK_BASE_FORMAT_STATS_H
#define TERNPACK_BASE_FORMAT_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/mem.h"

struct stats_entry {
    char *name; /* weight tensor, e.g. "blk.0.attn_q.weight" */
    uint64_t n_in, n_mat;
    float *sum2;   /* [n_mat][n_in] */
    float *counts; /* [n_mat] */
};
struct stats {
    struct stats_entry *entries; /* sorted by name */
    size_t n, cap;
    uint32_t chunk_count, chunk_size;
    char *dataset;       /* file name(s), ", "-joined; NULL: unknown */
    char *corpus_sha256; /* hex, NULL: unknown */
    char *model_sha256;  /* hex digest of the model file the statistics come from, NULL: unknown */
    uint64_t n_tokens;   /* 0: unknown */
    int add_bos;         /* 0, 1, -1 unknown */
};

/* Refuses NaN, infinite or negative entries (name and index in the text), counts that are not whole numbers
 * >= 0, a name with only one of its two tensors, missing imatrix.* keys. */
int stats_read(struct stats *s, const char *path, struct error *err);
void stats_free(struct stats *s);
const struct stats_entry *stats_find(const struct stats *s, const char *name);
/* Add an entry, zeroed; keeps the order by name. *out is good until the next stats_add. ERROR_INTERNAL for a repeated
 * name. A struct that was not read starts as { .add_bos = -1 }. */
int stats_add(struct stats *s, const char *name, uint64_t n_in, uint64_t n_mat, struct stats_entry **out,
              struct error *err);
int stats_write(const struct stats *s, const char *path, bool force, struct error *err);

#endif
