/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kv.h"

#include <string.h>

#include "base/util/mem.h"

int kv_open(struct kv *kv, enum kv_type type, size_t n_layer, size_t n_head_kv, size_t n_ctx, size_t head_dim,
            struct error *err)
{
    static const uint32_t block_types[] = { [KV_F32] = BLOCK_F32, [KV_F16] = BLOCK_F16, [KV_Q8_0] = BLOCK_Q8_0 };
    *kv = (struct kv){ .type = type,
                       .block_type = block_types[type],
                       .n_layer = n_layer,
                       .n_head_kv = n_head_kv,
                       .n_ctx = n_ctx,
                       .head_dim = head_dim };
    uint64_t row, n;
    if (!block_row_bytes(block_info(kv->block_type), head_dim, &row))
        return error_set(err, ERROR_USAGE, "the key/value cache cannot be q8_0: heads of %zu are no multiple of 32",
                         head_dim);
    kv->row_bytes = (size_t)row;
    if (!mem_mul(n_layer, n_head_kv, &n) || !mem_mul(n, n_ctx, &n))
        n = UINT64_MAX;
    kv->k = mem_aligned(n, kv->row_bytes, "key cache", err);
    kv->v = kv->k ? mem_aligned(n, kv->row_bytes, "value cache", err) : NULL;
    if (kv->v)
        return 0;
    kv_close(kv);
    return ERROR_NOMEM;
}

void kv_close(struct kv *kv)
{
    mem_free(kv->k);
    mem_free(kv->v);
    *kv = (struct kv){ 0 };
}

size_t kv_store(uint8_t *cache, const struct kv *kv, size_t layer, size_t head, size_t position, const float *row)
{
    uint8_t *dst = cache + (kv_row(cache, kv, layer, head, position) - cache);
    switch (kv->type) {
    case KV_F16:
        return codec_to_f16(row, dst, kv->head_dim);
    case KV_Q8_0:
        return codec_quantize_q8_0(row, dst, kv->head_dim);
    case KV_F32:
        break;
    }
    memcpy(dst, row, kv->head_dim * sizeof *row);
    return 0;
}

const float *kv_rows(const uint8_t *cache, const struct kv *kv, const struct kernels *kern, size_t layer, size_t head,
                     size_t position, size_t n, float *buf)
{
    const uint8_t *src = kv_row(cache, kv, layer, head, position);
    if (kv->type == KV_F32)
        return (const float *)(const void *)src;
    kern->dequantize(kv->block_type, src, buf, n * kv->head_dim);
    return buf;
}
