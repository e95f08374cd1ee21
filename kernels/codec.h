/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Block codecs: between bytes of a row and floats, or codes and scales. Pure functions, thread-safe, any alignment of
 * the byte pointer. n is a whole number of blocks; callers have checked it. Codes are -1, 0, +1 (code 3 of the 2-bit
 * types reads as +2). Scales are fp16 bit patterns, one per block of the type (64, 128 or 256 weights).
 */
#ifndef TERNPACK_KERNELS_CODEC_H
#define TERNPACK_KERNELS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/block.h"

/* Dequantize n weights of any type whose block_info.decodes is set: F32, F16, BF16, Q8_0, Q4_0, Q2_0, TQ1_0, TQ2_0,
 * PQ2_0, PTQ1_0 (value = (code-1)*d in fp32, exactly as ggml computes it). False for other types. */
bool codec_dequantize(uint32_t type, const void *src, float *dst, size_t n);

/* Ternary types only. unpack: codes[n] and scales[n / block]. pack: the inverse; codes must be in {-1, 0, 1}. Canonical
 * bytes (docs/format.md 2; spare digits 0). */
void codec_unpack(uint32_t type, const void *src, int8_t *codes, uint16_t *scales, size_t n);
void codec_pack(uint32_t type, const int8_t *codes, const uint16_t *scales, void *dst, size_t n);

/* Quantize floats: Q8_0 as ggml's reference does (d = max|x|/127, codes by roundf of x * (1/d), halves away from zero),
 * F16 by bytes_f16_from_f32, BF16. Returns how many values overflowed to infinity (F16) or scales that did. */
size_t codec_quantize_q8_0(const float *src, void *dst, size_t n);
size_t codec_to_f16(const float *src, void *dst, size_t n);
void codec_to_bf16(const float *src, void *dst, size_t n);

/* What a checker wants to know about n weights of packed bytes. Counts are added to *c. */
struct codec_check {
    uint64_t illegal_codes;       /* 2-bit pattern 11 */
    uint64_t first_illegal;       /* weight index of the first one, UINT64_MAX: none */
    uint64_t non_canonical;       /* base-3 bytes no canonical packer writes, or spare digits set */
    uint64_t first_non_canonical; /* byte index, UINT64_MAX: none */
    uint64_t spare_digits;        /* of the non-canonical bytes, those with no other fault than a set spare digit */
    uint64_t scale_nan, scale_inf, scale_zero, scale_subnormal, blocks;
    uint64_t scale_negative;    /* -0 too */
    uint64_t first_bad_scale;   /* block index of the first NaN or infinity, UINT64_MAX: none */
    uint64_t zeros, weights;    /* zero codes (or dequantized zeros) */
    uint64_t nan, inf;          /* F32/F16/BF16 values */
    uint64_t first_bad_value;   /* element index, UINT64_MAX: none */
    float scale_min, scale_max; /* of finite scales; start at +inf, -inf */
};
void codec_check_init(struct codec_check *c);
/* base: index of src's first weight within the tensor (a multiple of the block). False for types it cannot look into.
 */
bool codec_check(uint32_t type, const void *src, size_t n, uint64_t base, struct codec_check *c);

#endif
