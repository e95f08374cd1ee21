/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys and values of the positions seen so far, [layer][kv head][position][head_dim], in FP32, FP16 or Q8_0. Rows of
 * one head lie together, so a run of positions is one stretch of memory. Belongs to one context.
 */
#ifndef TERNPACK_RUNTIME_KV_H
#define TERNPACK_RUNTIME_KV_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "kernels/kernels.h"
#include "runtime/model.h"

struct kv {
    enum kv_type type;
    uint32_t block_type; /* enum block_type of the stored rows */
    size_t n_layer, n_head_kv, n_ctx, head_dim;
    size_t row_bytes;
    uint8_t *k, *v;
};

/* ERROR_USAGE when head_dim is not a multiple of Q8_0's 32. */
int kv_open(struct kv *kv, enum kv_type type, size_t n_layer, size_t n_head_kv, size_t n_ctx, size_t head_dim,
            struct error *err);
void kv_close(struct kv *kv); /* accepts a zero struct */
/* Rows that FP16 cannot hold (|x| >= 65520) are stored as infinity; the count is returned so that the caller can
 * refuse. */
size_t kv_store(uint8_t *cache, const struct kv *kv, size_t layer, size_t head, size_t position, const float *row);
/* First byte of a head's row. */
static inline const uint8_t *kv_row(const uint8_t *cache, const struct kv *kv, size_t layer, size_t head,
                                    size_t position)
{
    return cache + ((layer * kv->n_head_kv + head) * kv->n_ctx + position) * kv->row_bytes;
}
/* n rows from `position` as FP32: the cache itself when it holds FP32, else dequantized into buf [n][head_dim]. */
const float *kv_rows(const uint8_t *cache, const struct kv *kv, const struct kernels *kern, size_t layer, size_t head,
                     size_t position, size_t n, float *buf);

#endif
