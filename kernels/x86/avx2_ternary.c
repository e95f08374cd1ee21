/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ternary products with 256-bit integers, bit for bit those of ref/scalar.c.
 *
 * With u = code + 1 in 0..3 (an unsigned byte) and q in -127..127, vpmaddubsw gives u0*q0 + u1*q1, at most 3*127*2 =
 * 762 in size: it never saturates. A 64-block adds 16 of them per 16-bit lane in the tile kernel: 12,192 < 32,767, so
 * 16-bit sums are exact; vpmaddwd with ones widens them. The plain sum is recovered as sum(code*q) = sum(u*q) - sum(q),
 * all integers. The FP32 part, (d*a)*isum added in block order, is done lane by lane with separate multiply and add, as
 * the scalar code does it; each (row, token) pair has its own lane.
 *
 * Two shapes. Few tokens: four rows at a time, straight from the packed bytes or (base 3) unpacked in natural order,
 * and each lane sum is folded; every byte is read once. Many tokens: 32 rows are unpacked and interleaved so that one
 * 32-byte vector holds four consecutive codes of eight rows; four bytes of q broadcast against it need no folding, and
 * four tokens share each load.
 */
#include "kernels/x86/avx2.h"

#ifdef TERNPACK_AVX2
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "kernels/codec_layout.h"

enum { TOKENS = 4, FEW_TOKENS = 8, ROWS = 8 };

/* 16 bytes of four 2-bit fields each to 64 codes, lowest field first. */
AVX2_TARGET static inline void unpack_sequential(const uint8_t *p, uint8_t *codes)
{
    const __m128i three = _mm_set1_epi8(3);
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i s0 = _mm_and_si128(v, three), s1 = _mm_and_si128(_mm_srli_epi16(v, 2), three);
    __m128i s2 = _mm_and_si128(_mm_srli_epi16(v, 4), three), s3 = _mm_and_si128(_mm_srli_epi16(v, 6), three);
    __m128i lo01 = _mm_unpacklo_epi8(s0, s1), hi01 = _mm_unpackhi_epi8(s0, s1);
    __m128i lo23 = _mm_unpacklo_epi8(s2, s3), hi23 = _mm_unpackhi_epi8(s2, s3);
    __m128i *out = (__m128i *)(void *)codes;
    _mm_storeu_si128(out, _mm_unpacklo_epi16(lo01, lo23));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(lo01, lo23));
    _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(hi01, hi23));
    _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(hi01, hi23));
}

/* One half of a TQ2_0 block: 32 bytes, field n of byte m is weight 32n + m. */
AVX2_TARGET static inline void unpack_strided(const uint8_t *p, uint8_t *codes)
{
    const __m256i three = _mm256_set1_epi8(3);
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p), *out = (__m256i *)(void *)codes;
    _mm256_storeu_si256(out, _mm256_and_si256(v, three));
    _mm256_storeu_si256(out + 1, _mm256_and_si256(_mm256_srli_epi16(v, 2), three));
    _mm256_storeu_si256(out + 2, _mm256_and_si256(_mm256_srli_epi16(v, 4), three));
    _mm256_storeu_si256(out + 3, _mm256_and_si256(_mm256_srli_epi16(v, 6), three));
}

/*
 * Base 3. Digit n of byte b is floor(3 v / 256), v = b * 3^n mod 256: v runs through its values by v + v + v in bytes
 * that wrap, and the digit is (v >= 86) + (v >= 171), since 3 * 86 and 3 * 171 are the first multiples at or above 256
 * and 512. Compares give -1. Any byte decodes as codec_digit decodes it, canonical or not.
 */
AVX2_TARGET static inline __m256i digits32(__m256i v)
{
    const __m256i one = _mm256_set1_epi8(86), two = _mm256_set1_epi8((char)171);
    __m256i ge1 = _mm256_cmpeq_epi8(_mm256_max_epu8(v, one), v), ge2 = _mm256_cmpeq_epi8(_mm256_max_epu8(v, two), v);
    return _mm256_sub_epi8(_mm256_sub_epi8(_mm256_setzero_si256(), ge1), ge2);
}

AVX2_TARGET static inline __m128i digits16(__m128i v)
{
    const __m128i one = _mm_set1_epi8(86), two = _mm_set1_epi8((char)171);
    __m128i ge1 = _mm_cmpeq_epi8(_mm_max_epu8(v, one), v), ge2 = _mm_cmpeq_epi8(_mm_max_epu8(v, two), v);
    return _mm_sub_epi8(_mm_sub_epi8(_mm_setzero_si128(), ge1), ge2);
}

/* Stages of 32, 16 and 8 bytes with five digits each. */
AVX2_TARGET static inline void unpack_stage32(const uint8_t *p, uint8_t *codes)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    for (unsigned n = 0; n < 5; n++, v = _mm256_add_epi8(v, _mm256_add_epi8(v, v)))
        _mm256_storeu_si256((__m256i *)(void *)(codes + 32 * n), digits32(v));
}

AVX2_TARGET static inline void unpack_stage16(const uint8_t *p, uint8_t *codes)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    for (unsigned n = 0; n < 5; n++, v = _mm_add_epi8(v, _mm_add_epi8(v, v)))
        _mm_storeu_si128((__m128i *)(void *)(codes + 16 * n), digits16(v));
}

AVX2_TARGET static inline void unpack_stage8(const uint8_t *p, uint8_t *codes)
{
    __m128i v = _mm_loadl_epi64((const __m128i *)(const void *)p);
    for (unsigned n = 0; n < 5; n++, v = _mm_add_epi8(v, _mm_add_epi8(v, v)))
        _mm_storel_epi64((__m128i *)(void *)(codes + 8 * n), digits16(v));
}

/* The short stages, four digits each: every digit of every byte at once, in 16-bit lanes. */
AVX2_TARGET static inline void unpack_short4(const uint8_t *p, uint8_t *codes)
{
    const __m256i power = _mm256_setr_epi16(1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27);
    int32_t four;
    memcpy(&four, p, sizeof four);
    __m256i v = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(_mm_set1_epi32(four)), power);
    v = _mm256_and_si256(v, _mm256_set1_epi16(255));
    __m128i packed = _mm_packus_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    _mm_storeu_si128((__m128i *)(void *)codes, digits16(packed));
}

AVX2_TARGET static inline void unpack_short2(const uint8_t *p, uint8_t *codes)
{
    int16_t two;
    memcpy(&two, p, sizeof two);
    __m128i v = _mm_mullo_epi16(_mm_cvtepu8_epi16(_mm_set1_epi16(two)), _mm_setr_epi16(1, 1, 3, 3, 9, 9, 27, 27));
    v = _mm_and_si128(v, _mm_set1_epi16(255));
    _mm_storel_epi64((__m128i *)(void *)codes, digits16(_mm_packus_epi16(v, v)));
}

AVX2_TARGET static inline void unpack_block(uint32_t type, const uint8_t *p, uint8_t *codes)
{
    switch (type) {
    case BLOCK_Q2_0:
        unpack_sequential(p + 2, codes);
        break;
    case BLOCK_PQ2_0:
        unpack_sequential(p + 2, codes);
        unpack_sequential(p + 18, codes + 64);
        break;
    case BLOCK_TQ2_0:
        unpack_strided(p, codes);
        unpack_strided(p + 32, codes + 128);
        break;
    case BLOCK_TQ1_0:
        unpack_stage32(p, codes);
        unpack_stage16(p + 32, codes + 160);
        unpack_short4(p + 48, codes + 240);
        break;
    default: /* PTQ1_0 */
        unpack_stage16(p, codes);
        unpack_stage8(p + 16, codes + 80);
        unpack_short2(p + 24, codes + 120);
    }
}

AVX2_TARGET static inline float scale_f32(const uint8_t *p)
{
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bytes_get_u16(p))));
}

AVX2_TARGET void avx2_unpack(uint32_t type, const void *src, uint8_t *codes, float *scales, size_t n)
{
    const struct codec_layout *l = codec_layout(type);
    const uint8_t *p = src;
    for (size_t i = 0; i < n; i += l->weights, p += l->bytes) {
        unpack_block(type, p, codes + i);
        float d = scale_f32(p + l->scale_offset);
        for (unsigned k = 0; k < l->weights / KERNELS_ACT_BLOCK; k++)
            scales[i / KERNELS_ACT_BLOCK + k] = d;
    }
}

AVX2_TARGET static inline uint32_t fold_max(__m256i v)
{
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

AVX2_TARGET void avx2_quantize_act(const float *x, int8_t *q, float *a, size_t n)
{
    const __m256i no_sign = _mm256_set1_epi32(0x7fffffff);
    const __m256 top = _mm256_set1_ps(127.0f), bottom = _mm256_set1_ps(-127.0f);
    for (size_t b = 0; b < n / KERNELS_ACT_BLOCK; b++, x += KERNELS_ACT_BLOCK, q += KERNELS_ACT_BLOCK) {
        __m256i bits = _mm256_setzero_si256();
        for (size_t i = 0; i < KERNELS_ACT_BLOCK; i += 8)
            bits = _mm256_max_epi32(bits, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + i)), no_sign));
        uint32_t max = fold_max(bits);
        a[b] = max < 0x7f800000 ? bytes_f32_from_bits(max) / 127.0f : NAN;
        if (!(a[b] > 0)) {
            memset(q, 0, KERNELS_ACT_BLOCK);
            continue;
        }
        const __m256 scale = _mm256_set1_ps(a[b]);
        for (size_t i = 0; i < KERNELS_ACT_BLOCK; i += 8) {
            __m256 v = _mm256_div_ps(_mm256_loadu_ps(x + i), scale);
            v = _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
            __m256i w = _mm256_cvtps_epi32(_mm256_min_ps(top, _mm256_max_ps(bottom, v)));
            __m128i h = _mm_packs_epi32(_mm256_castsi256_si128(w), _mm256_extracti128_si256(w, 1));
            _mm_storel_epi64((__m128i *)(void *)(q + i), _mm_packs_epi16(h, h));
        }
    }
}

AVX2_TARGET static inline int32_t fold(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

/* Sums of q over each 64-block of one token. */
AVX2_TARGET static void block_sums(const int8_t *q, size_t n_blocks, int32_t *sums)
{
    const __m256i one8 = _mm256_set1_epi8(1), one16 = _mm256_set1_epi16(1);
    for (size_t b = 0; b < n_blocks; b++) {
        const __m256i *v = (const __m256i *)(const void *)(q + b * KERNELS_ACT_BLOCK);
        __m256i s = _mm256_add_epi16(_mm256_maddubs_epi16(one8, _mm256_loadu_si256(v)),
                                     _mm256_maddubs_epi16(one8, _mm256_loadu_si256(v + 1)));
        sums[b] = fold(_mm256_madd_epi16(s, one16));
    }
}

/* One 64-block of one row against one token, in 8 lanes still to be folded. */
AVX2_TARGET static inline __m256i row_block(const uint8_t *codes, __m256i q0, __m256i q1)
{
    const __m256i *u = (const __m256i *)(const void *)codes;
    __m256i s = _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_loadu_si256(u), q0),
                                 _mm256_maddubs_epi16(_mm256_loadu_si256(u + 1), q1));
    return _mm256_madd_epi16(s, _mm256_set1_epi16(1));
}

/* Four rows in natural order (codes [4][n_cols], scales [4][n_blocks]) against one token. */
AVX2_TARGET static void four_rows(const uint8_t *codes, const float *scales, size_t n_cols, const int8_t *q,
                                  const float *a, const int32_t *sums, float out[4])
{
    size_t n_blocks = n_cols / KERNELS_ACT_BLOCK;
    __m128 sum = _mm_setzero_ps();
    for (size_t b = 0; b < n_blocks; b++) {
        size_t i = b * KERNELS_ACT_BLOCK;
        __m256i q0 = _mm256_loadu_si256((const __m256i *)(const void *)(q + i));
        __m256i q1 = _mm256_loadu_si256((const __m256i *)(const void *)(q + i + 32));
        __m256i r01 = _mm256_hadd_epi32(row_block(codes + i, q0, q1), row_block(codes + n_cols + i, q0, q1));
        __m256i r23 =
            _mm256_hadd_epi32(row_block(codes + 2 * n_cols + i, q0, q1), row_block(codes + 3 * n_cols + i, q0, q1));
        __m256i r = _mm256_hadd_epi32(r01, r23);
        __m128i isum = _mm_add_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
        isum = _mm_sub_epi32(isum, _mm_set1_epi32(sums[b]));
        __m128 d = _mm_set_ps(scales[3 * n_blocks + b], scales[2 * n_blocks + b], scales[n_blocks + b], scales[b]);
        d = _mm_mul_ps(d, _mm_set1_ps(a[b]));
        sum = _mm_add_ps(sum, _mm_mul_ps(d, _mm_cvtepi32_ps(isum)));
    }
    _mm_storeu_ps(out, sum);
}

/*
 * The two-bit types need no unpacking to memory: a field of all bytes of a 64-block is got by one shift and one mask.
 * In TQ2_0 two fields of 32 bytes are 64 weights in natural order. In Q2_0 and PQ2_0 field k of byte m is weight 4m +
 * k, so it is the activations that are put into that order, once per token: q'[16k + m] = q[4m + k]. A sum of integers
 * has no order.
 */
AVX2_TARGET static void reorder(const int8_t *q, size_t n, int8_t *out)
{
    const __m128i pick = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (size_t i = 0; i < n; i += KERNELS_ACT_BLOCK) {
        const __m128i *in = (const __m128i *)(const void *)(q + i);
        __m128i v0 = _mm_shuffle_epi8(_mm_loadu_si128(in), pick), v1 = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), pick);
        __m128i v2 = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), pick),
                v3 = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), pick);
        __m128i lo01 = _mm_unpacklo_epi32(v0, v1), hi01 = _mm_unpackhi_epi32(v0, v1);
        __m128i lo23 = _mm_unpacklo_epi32(v2, v3), hi23 = _mm_unpackhi_epi32(v2, v3);
        __m128i *o = (__m128i *)(void *)(out + i);
        _mm_storeu_si128(o, _mm_unpacklo_epi64(lo01, lo23));
        _mm_storeu_si128(o + 1, _mm_unpackhi_epi64(lo01, lo23));
        _mm_storeu_si128(o + 2, _mm_unpacklo_epi64(hi01, hi23));
        _mm_storeu_si128(o + 3, _mm_unpackhi_epi64(hi01, hi23));
    }
}

/* 64-block `part` of the packed block p, two-bit types, against 64 activations in the order above; 8 lanes to be
 * folded. */
AVX2_TARGET static inline __m256i packed_block(uint32_t type, const uint8_t *p, unsigned part, __m256i q0, __m256i q1)
{
    const __m256i three = _mm256_set1_epi8(3);
    __m256i u0, u1;
    if (type == BLOCK_TQ2_0) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(p + part / 2 * 32));
        v = part % 2 ? _mm256_srli_epi16(v, 4) : v;
        u0 = _mm256_and_si256(v, three);
        u1 = _mm256_and_si256(_mm256_srli_epi16(v, 2), three);
    } else {
        __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)(p + 2 + 16 * part)));
        u0 = _mm256_and_si256(_mm256_srlv_epi64(v, _mm256_setr_epi64x(0, 0, 2, 2)), three);
        u1 = _mm256_and_si256(_mm256_srlv_epi64(v, _mm256_setr_epi64x(4, 4, 6, 6)), three);
    }
    __m256i s = _mm256_add_epi16(_mm256_maddubs_epi16(u0, q0), _mm256_maddubs_epi16(u1, q1));
    return _mm256_madd_epi16(s, _mm256_set1_epi16(1));
}

/* four_rows from the packed bytes. type, weights and bytes of a block and the scale's place are constants at each call.
 */
AVX2_TARGET static inline __attribute__((always_inline)) void
four_packed(uint32_t type, unsigned weights, unsigned bytes, unsigned scale_at, const uint8_t *const w[4],
            size_t n_cols, const int8_t *q, const float *a, const int32_t *sums, float out[4])
{
    __m128 sum = _mm_setzero_ps();
    for (size_t i = 0, at = 0; i < n_cols; i += weights, at += bytes) {
        __m128i half = _mm_cvtsi32_si128(bytes_get_u16(w[0] + at + scale_at));
        half = _mm_insert_epi16(half, bytes_get_u16(w[1] + at + scale_at), 1);
        half = _mm_insert_epi16(half, bytes_get_u16(w[2] + at + scale_at), 2);
        half = _mm_insert_epi16(half, bytes_get_u16(w[3] + at + scale_at), 3);
        const __m128 d = _mm_cvtph_ps(half);
        for (unsigned part = 0; part < weights / KERNELS_ACT_BLOCK; part++) {
            const __m256i *v = (const __m256i *)(const void *)(q + i + part * KERNELS_ACT_BLOCK);
            __m256i q0 = _mm256_loadu_si256(v), q1 = _mm256_loadu_si256(v + 1);
            __m256i r01 = _mm256_hadd_epi32(packed_block(type, w[0] + at, part, q0, q1),
                                            packed_block(type, w[1] + at, part, q0, q1));
            __m256i r23 = _mm256_hadd_epi32(packed_block(type, w[2] + at, part, q0, q1),
                                            packed_block(type, w[3] + at, part, q0, q1));
            __m256i r = _mm256_hadd_epi32(r01, r23);
            __m128i isum = _mm_add_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
            size_t b = i / KERNELS_ACT_BLOCK + part;
            isum = _mm_sub_epi32(isum, _mm_set1_epi32(sums[b]));
            sum = _mm_add_ps(sum, _mm_mul_ps(_mm_mul_ps(d, _mm_set1_ps(a[b])), _mm_cvtepi32_ps(isum)));
        }
    }
    _mm_storeu_ps(out, sum);
}

/* Weights of up to four rows (a short group repeats its last row), as few_tokens holds them. */
struct group {
    const uint8_t *w[4];
    uint8_t *codes; /* [4][n_cols], base-3 types */
    float *scales;  /* [4][n_blocks] */
};

AVX2_TARGET static void group_product(uint32_t type, const struct group *g, size_t n_cols, const int8_t *q,
                                      const float *a, const int32_t *sums, float out[4])
{
    switch (type) {
    case BLOCK_TQ2_0:
        four_packed(BLOCK_TQ2_0, 256, 66, 64, g->w, n_cols, q, a, sums, out);
        break;
    case BLOCK_Q2_0:
        four_packed(BLOCK_Q2_0, 64, 18, 0, g->w, n_cols, q, a, sums, out);
        break;
    case BLOCK_PQ2_0:
        four_packed(BLOCK_PQ2_0, 128, 34, 0, g->w, n_cols, q, a, sums, out);
        break;
    default:
        four_rows(g->codes, g->scales, n_cols, q, a, sums, out);
    }
}

AVX2_TARGET static void few_tokens(uint32_t type, const uint8_t *w, size_t row_bytes, size_t n_rows, size_t n_cols,
                                   const int8_t *q, const float *a, size_t n_tokens, float *y, size_t y_stride,
                                   unsigned char *scratch)
{
    size_t n_blocks = n_cols / KERNELS_ACT_BLOCK;
    struct group g = { .codes = scratch, .scales = (float *)(void *)(scratch + 4 * n_cols) };
    int32_t *sums = (int32_t *)(void *)(g.scales + 4 * n_blocks); /* [n_tokens][n_blocks], n_tokens < FEW_TOKENS */
    int8_t *ordered = (int8_t *)(sums + FEW_TOKENS * n_blocks);   /* [n_tokens][n_cols], Q2_0 and PQ2_0 */
    for (size_t t = 0; t < n_tokens; t++)
        block_sums(q + t * n_cols, n_blocks, sums + t * n_blocks);
    if (type == BLOCK_Q2_0 || type == BLOCK_PQ2_0) {
        reorder(q, n_tokens * n_cols, ordered);
        q = ordered;
    }
    for (size_t r = 0; r < n_rows; r += 4) {
        size_t m = n_rows - r < 4 ? n_rows - r : 4;
        for (size_t k = 0; k < 4; k++) {
            g.w[k] = w + (r + (k < m ? k : m - 1)) * row_bytes;
            if (type == BLOCK_TQ1_0 || type == BLOCK_PTQ1_0)
                avx2_unpack(type, g.w[k], g.codes + k * n_cols, g.scales + k * n_blocks, n_cols);
        }
        for (size_t t = 0; t < n_tokens; t++) {
            float out[4];
            group_product(type, &g, n_cols, q + t * n_cols, a + t * n_blocks, sums + t * n_blocks, out);
            memcpy(y + t * y_stride + r, out, m * sizeof *out);
        }
    }
}

AVX2_TARGET static inline __m256i mac4(__m256i sum, __m256i u, const int8_t *q)
{
    int32_t four;
    memcpy(&four, q, sizeof four);
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(u, _mm256_set1_epi32(four)));
}

/* sum + (d * a) * (isum - block_sum), rounded as the scalar code rounds */
AVX2_TARGET static inline __m256 add_block(__m256 sum, __m256i s, __m256 d, float a, int32_t block_sum)
{
    __m256i isum = _mm256_sub_epi32(_mm256_madd_epi16(s, _mm256_set1_epi16(1)), _mm256_set1_epi32(block_sum));
    return _mm256_add_ps(sum, _mm256_mul_ps(_mm256_mul_ps(d, _mm256_set1_ps(a)), _mm256_cvtepi32_ps(isum)));
}

/* Interleaved tile of eight rows (codes [n_cols/4][8][4], scales [n_blocks][8]) against four tokens. Everything is
 * spelled out so that the four sums stay in registers. */
AVX2_TARGET static void eight_rows(const uint8_t *codes, const float *scales, size_t n_cols, const int8_t *q,
                                   const float *a, const int32_t *sums, float out[TOKENS][ROWS])
{
    size_t n_blocks = n_cols / KERNELS_ACT_BLOCK;
    const int8_t *q1 = q + n_cols, *q2 = q1 + n_cols, *q3 = q2 + n_cols;
    __m256 f0 = _mm256_setzero_ps(), f1 = f0, f2 = f0, f3 = f0;
    for (size_t b = 0; b < n_blocks; b++) {
        __m256i s0 = _mm256_setzero_si256(), s1 = s0, s2 = s0, s3 = s0;
        for (size_t i = b * KERNELS_ACT_BLOCK; i < (b + 1) * KERNELS_ACT_BLOCK; i += 4) {
            __m256i u = _mm256_loadu_si256((const __m256i *)(const void *)(codes + i * ROWS));
            s0 = mac4(s0, u, q + i);
            s1 = mac4(s1, u, q1 + i);
            s2 = mac4(s2, u, q2 + i);
            s3 = mac4(s3, u, q3 + i);
        }
        const __m256 d = _mm256_loadu_ps(scales + b * ROWS);
        f0 = add_block(f0, s0, d, a[b], sums[b]);
        f1 = add_block(f1, s1, d, a[n_blocks + b], sums[n_blocks + b]);
        f2 = add_block(f2, s2, d, a[2 * n_blocks + b], sums[2 * n_blocks + b]);
        f3 = add_block(f3, s3, d, a[3 * n_blocks + b], sums[3 * n_blocks + b]);
    }
    _mm256_storeu_ps(out[0], f0);
    _mm256_storeu_ps(out[1], f1);
    _mm256_storeu_ps(out[2], f2);
    _mm256_storeu_ps(out[3], f3);
}

/* Unpack m <= 8 rows and interleave them; missing rows repeat the last one. */
AVX2_TARGET static void interleave(uint32_t type, const uint8_t *w, size_t row_bytes, size_t m, size_t n_cols,
                                   uint8_t *codes, float *scales, uint8_t *row, float *row_scales)
{
    size_t n_blocks = n_cols / KERNELS_ACT_BLOCK;
    for (size_t r = 0; r < ROWS; r++) {
        if (r < m)
            avx2_unpack(type, w + r * row_bytes, row, row_scales, n_cols);
        for (size_t i = 0; i < n_cols; i += 4)
            memcpy(codes + i * ROWS + 4 * r, row + i, 4);
        for (size_t b = 0; b < n_blocks; b++)
            scales[b * ROWS + r] = row_scales[b];
    }
}

AVX2_TARGET static void many_tokens(uint32_t type, const uint8_t *w, size_t row_bytes, size_t n_rows, size_t n_cols,
                                    const int8_t *q, const float *a, size_t n_tokens, float *y, size_t y_stride,
                                    unsigned char *scratch)
{
    size_t n_blocks = n_cols / KERNELS_ACT_BLOCK;
    uint8_t *codes = scratch, *row = codes + AVX2_ROWS * n_cols;
    float *scales = (float *)(void *)(row + n_cols), *row_scales = scales + AVX2_ROWS * n_blocks;
    int32_t *sums = (int32_t *)(void *)(row_scales + n_blocks);
    for (size_t r = 0; r < n_rows; r += AVX2_ROWS) {
        size_t m = n_rows - r < AVX2_ROWS ? n_rows - r : AVX2_ROWS, groups = (m + ROWS - 1) / ROWS;
        for (size_t g = 0; g < groups; g++)
            interleave(type, w + (r + g * ROWS) * row_bytes, row_bytes, m - g * ROWS < ROWS ? m - g * ROWS : ROWS,
                       n_cols, codes + g * ROWS * n_cols, scales + g * ROWS * n_blocks, row, row_scales);
        for (size_t t = 0; t < n_tokens; t += TOKENS) {
            /* the last group of tokens steps back so that it is full: those lanes are computed twice, to the same bits
             */
            size_t t0 = n_tokens - t < TOKENS ? n_tokens - TOKENS : t;
            for (size_t k = 0; k < TOKENS; k++)
                block_sums(q + (t0 + k) * n_cols, n_blocks, sums + k * n_blocks);
            for (size_t g = 0; g < groups; g++) {
                float out[TOKENS][ROWS];
                size_t rows = m - g * ROWS < ROWS ? m - g * ROWS : ROWS;
                eight_rows(codes + g * ROWS * n_cols, scales + g * ROWS * n_blocks, n_cols, q + t0 * n_cols,
                           a + t0 * n_blocks, sums, out);
                for (size_t k = 0; k < TOKENS; k++)
                    memcpy(y + (t0 + k) * y_stride + r + g * ROWS, out[k], rows * sizeof(float));
            }
        }
    }
}

void avx2_ternary_matmul(uint32_t type, const void *w, size_t row_bytes, size_t n_rows, size_t n_cols, const int8_t *q,
                         const float *a, size_t n_tokens, float *y, size_t y_stride, void *scratch)
{
    if (n_tokens < FEW_TOKENS)
        few_tokens(type, w, row_bytes, n_rows, n_cols, q, a, n_tokens, y, y_stride, scratch);
    else
        many_tokens(type, w, row_bytes, n_rows, n_cols, q, a, n_tokens, y, y_stride, scratch);
}
#endif
