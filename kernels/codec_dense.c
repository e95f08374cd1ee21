/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/codec.h"

#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "kernels/codec_layout.h"

static void dequantize_ternary(const struct codec_layout *l, const uint8_t *p, float *dst, size_t n)
{
    int8_t codes[256];
    uint16_t scale;
    for (size_t b = 0; b < n / l->weights; b++, p += l->bytes, dst += l->weights) {
        codec_unpack(l->type, p, codes, &scale, l->weights);
        float d = bytes_f32_from_f16(scale);
        for (unsigned w = 0; w < l->weights; w++)
            dst[w] = (float)codes[w] * d;
    }
}

bool codec_dequantize(uint32_t type, const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;
    const struct codec_layout *l = codec_layout(type);
    if (l) {
        dequantize_ternary(l, p, dst, n);
        return true;
    }
    switch (type) {
    case BLOCK_F32:
        for (size_t i = 0; i < n; i++)
            dst[i] = bytes_get_f32(p + 4 * i);
        return true;
    case BLOCK_F16:
        for (size_t i = 0; i < n; i++)
            dst[i] = bytes_f32_from_f16(bytes_get_u16(p + 2 * i));
        return true;
    case BLOCK_BF16:
        for (size_t i = 0; i < n; i++)
            dst[i] = bytes_f32_from_bf16(bytes_get_u16(p + 2 * i));
        return true;
    case BLOCK_Q8_0: /* 32 weights: fp16 scale, 32 int8 */
        for (size_t b = 0; b < n / 32; b++, p += 34) {
            float d = bytes_f32_from_f16(bytes_get_u16(p));
            for (unsigned i = 0; i < 32; i++)
                *dst++ = (float)(int8_t)p[2 + i] * d;
        }
        return true;
    case BLOCK_Q4_0: /* 32 weights: fp16 scale, byte i holds weight i (low nibble) and i+16 (high), offset 8 */
        for (size_t b = 0; b < n / 32; b++, p += 18, dst += 32) {
            float d = bytes_f32_from_f16(bytes_get_u16(p));
            for (unsigned i = 0; i < 16; i++) {
                dst[i] = (float)((p[2 + i] & 15) - 8) * d;
                dst[i + 16] = (float)((p[2 + i] >> 4) - 8) * d;
            }
        }
        return true;
    default:
        return false;
    }
}

size_t codec_quantize_q8_0(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;
    size_t overflow = 0;
    for (size_t b = 0; b < n / 32; b++, p += 34, src += 32) {
        float max = 0;
        for (unsigned i = 0; i < 32; i++)
            max = fmaxf(max, fabsf(src[i]));
        float d = max / 127.0f, id = d != 0 ? 1.0f / d : 0.0f;
        uint16_t half = bytes_f16_from_f32(d);
        overflow += (half & 0x7c00) == 0x7c00;
        bytes_put_u16(p, half);
        for (unsigned i = 0; i < 32; i++)
            p[2 + i] = (uint8_t)(int8_t)roundf(src[i] * id);
    }
    return overflow;
}

size_t codec_to_f16(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;
    size_t overflow = 0;
    for (size_t i = 0; i < n; i++) {
        uint16_t h = bytes_f16_from_f32(src[i]);
        overflow += (h & 0x7fff) == 0x7c00 && isfinite(src[i]);
        bytes_put_u16(p + 2 * i, h);
    }
    return overflow;
}

void codec_to_bf16(const float *src, void *dst, size_t n)
{
    uint8_t *p = dst;
    for (size_t i = 0; i < n; i++)
        bytes_put_u16(p + 2 * i, bytes_bf16_from_f32(src[i]));
}
