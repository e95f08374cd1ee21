/* SPDX-License-Identifier: Apache-2.0 */
/* FP32 kernels with 256-bit vectors. Sums that are published are kept in double, as ref/scalar.c keeps them. */
#include "kernels/x86/avx2.h"

#ifdef TERNPACK_AVX2
#include <immintrin.h>
#include <math.h>

#include "base/util/bytes.h"
#include "kernels/codec_layout.h"
#include "kernels/ref/scalar.h"

AVX2_TARGET static inline float fold_ps(__m256 v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

AVX2_TARGET static inline double fold_pd(__m256d v)
{
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}

/* Eight weights of a dense type at index i of a row, as FP32. Q8_0: i is a multiple of 8. */
AVX2_TARGET static inline __m256 load_f16(const uint8_t *p, size_t i)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(p + 2 * i)));
}

AVX2_TARGET static inline __m256 load_bf16(const uint8_t *p, size_t i)
{
    __m128i h = _mm_loadu_si128((const __m128i *)(const void *)(p + 2 * i));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}

AVX2_TARGET static inline __m256 load_q8(const uint8_t *block, size_t i)
{
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(block + 2 + i))));
}

/* Four running sums, since one multiply-add waits four cycles for the one before it. */
#define DOT(load)                                                                                                      \
    for (; i + 32 <= n; i += 32) {                                                                                     \
        s0 = _mm256_fmadd_ps(load(p, i), _mm256_loadu_ps(x + i), s0);                                                  \
        s1 = _mm256_fmadd_ps(load(p, i + 8), _mm256_loadu_ps(x + i + 8), s1);                                          \
        s2 = _mm256_fmadd_ps(load(p, i + 16), _mm256_loadu_ps(x + i + 16), s2);                                        \
        s3 = _mm256_fmadd_ps(load(p, i + 24), _mm256_loadu_ps(x + i + 24), s3);                                        \
    }

AVX2_TARGET static inline __m256 load_f32(const uint8_t *p, size_t i)
{
    return _mm256_loadu_ps((const float *)(const void *)(p + 4 * i));
}

AVX2_TARGET static inline __m256 q8_scale(const uint8_t *block)
{
    return _mm256_cvtph_ps(_mm_set1_epi16((short)bytes_get_u16(block)));
}

AVX2_TARGET static inline __m256 q8_block(const uint8_t *block, const float *x)
{
    __m256 s = _mm256_mul_ps(load_q8(block, 0), _mm256_loadu_ps(x));
    __m256 t = _mm256_mul_ps(load_q8(block, 8), _mm256_loadu_ps(x + 8));
    s = _mm256_fmadd_ps(load_q8(block, 16), _mm256_loadu_ps(x + 16), s);
    t = _mm256_fmadd_ps(load_q8(block, 24), _mm256_loadu_ps(x + 24), t);
    return _mm256_add_ps(s, t);
}

AVX2_TARGET static float dot_q8(const uint8_t *p, const float *x, size_t n)
{
    __m256 even = _mm256_setzero_ps(), odd = even;
    size_t b = n / 32;
    for (; b >= 2; b -= 2, p += 68, x += 64) {
        even = _mm256_fmadd_ps(q8_block(p, x), q8_scale(p), even);
        odd = _mm256_fmadd_ps(q8_block(p + 34, x + 32), q8_scale(p + 34), odd);
    }
    if (b)
        even = _mm256_fmadd_ps(q8_block(p, x), q8_scale(p), even);
    return fold_ps(_mm256_add_ps(even, odd));
}

AVX2_TARGET static float dot_tiles(uint32_t type, const uint8_t *p, const float *x, size_t n)
{
    enum { TILE = 256 };
    const struct block_info *info = block_info(type);
    float v[TILE];
    __m256 sum = _mm256_setzero_ps();
    float rest = 0;
    for (size_t i = 0; i < n; i += TILE) {
        size_t m = n - i < TILE ? n - i : TILE, k = 0;
        avx2_dequantize(type, p + i / info->weights * info->bytes, v, m);
        for (; k + 8 <= m; k += 8)
            sum = _mm256_fmadd_ps(_mm256_loadu_ps(v + k), _mm256_loadu_ps(x + i + k), sum);
        for (; k < m; k++)
            rest += v[k] * x[i + k];
    }
    return fold_ps(sum) + rest;
}

AVX2_TARGET float avx2_dense_dot(uint32_t type, const void *w, const float *x, size_t n)
{
    const uint8_t *p = w;
    __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0;
    size_t i = 0;
    switch (type) {
    case BLOCK_F32:
        DOT(load_f32)
        break;
    case BLOCK_F16:
        DOT(load_f16)
        break;
    case BLOCK_BF16:
        DOT(load_bf16)
        break;
    case BLOCK_Q8_0:
        return dot_q8(p, x, n);
    default:
        return dot_tiles(type, p, x, n);
    }
    float sum = fold_ps(_mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3))), v;
    for (size_t size = type == BLOCK_F32 ? 4 : 2; i < n; i++) {
        codec_dequantize(type, p + i * size, &v, 1);
        sum += v * x[i];
    }
    return sum;
}

AVX2_TARGET static void dequantize_ternary(const struct codec_layout *l, const uint8_t *p, float *dst, size_t n)
{
    uint8_t codes[256];
    float scales[4];
    for (size_t b = 0; b < n / l->weights; b++, p += l->bytes, dst += l->weights) {
        avx2_unpack(l->type, p, codes, scales, l->weights);
        const __m256 d = _mm256_set1_ps(scales[0]);
        for (size_t i = 0; i < l->weights; i += 8) {
            __m256i c = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(codes + i)));
            __m256 f = _mm256_cvtepi32_ps(_mm256_sub_epi32(c, _mm256_set1_epi32(1)));
            _mm256_storeu_ps(dst + i, _mm256_mul_ps(f, d));
        }
    }
}

/* Equal bits to codec_dequantize, but that a signalling NaN of F16 comes out quiet. */
AVX2_TARGET void avx2_dequantize(uint32_t type, const void *src, float *dst, size_t n)
{
    const uint8_t *p = src;
    const struct codec_layout *l = codec_layout(type);
    size_t i = 0;
    if (l) {
        dequantize_ternary(l, p, dst, n);
    } else if (type == BLOCK_F16 || type == BLOCK_BF16) {
        for (; i + 8 <= n; i += 8)
            _mm256_storeu_ps(dst + i, type == BLOCK_F16 ? load_f16(p, i) : load_bf16(p, i));
        codec_dequantize(type, p + 2 * i, dst + i, n - i);
    } else if (type == BLOCK_Q8_0) {
        for (size_t b = 0; b < n / 32; b++, p += 34, dst += 32)
            for (i = 0; i < 32; i += 8)
                _mm256_storeu_ps(dst + i, _mm256_mul_ps(load_q8(p, i), q8_scale(p)));
    } else {
        codec_dequantize(type, src, dst, n);
    }
}

/* scalar_exp in eight lanes: the same operations in the same order, so the same bits. */
AVX2_TARGET static inline __m256 exp_ps(__m256 x)
{
    const __m256 low = _mm256_set1_ps(-87.3f);
    __m256 tiny = _mm256_cmp_ps(x, low, _CMP_LT_OQ);
    x = _mm256_min_ps(_mm256_set1_ps(88.3f), _mm256_max_ps(low, x));
    __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504088896341f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
    r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
    __m256 p = _mm256_set1_ps(1.9875691500e-4f);
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1f));
    p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1f));
    p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0f));
    __m256i e = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_andnot_ps(tiny, _mm256_mul_ps(p, _mm256_castsi256_ps(e)));
}

AVX2_TARGET void avx2_swiglu(float *g, const float *u, size_t n)
{
    const __m256 one = _mm256_set1_ps(1.0f), zero = _mm256_setzero_ps();
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(g + i);
        __m256 s = _mm256_div_ps(v, _mm256_add_ps(one, exp_ps(_mm256_sub_ps(zero, v))));
        _mm256_storeu_ps(g + i, _mm256_mul_ps(s, _mm256_loadu_ps(u + i)));
    }
    scalar_swiglu(g + i, u + i, n - i);
}

AVX2_TARGET static float max_of(const float *x, size_t n)
{
    __m256 m = _mm256_set1_ps(-INFINITY);
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        m = _mm256_max_ps(_mm256_loadu_ps(x + i), m); /* x > m ? x : m, so that NaN is passed over */
    float lanes[8], max = -INFINITY;
    _mm256_storeu_ps(lanes, m);
    for (unsigned k = 0; k < 8; k++)
        max = lanes[k] > max ? lanes[k] : max;
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* Sum of exp(x - max) in double; the terms are stored to out when it is not NULL. */
AVX2_TARGET static double sum_exp(const float *x, size_t n, float max, float *out)
{
    const __m256 m = _mm256_set1_ps(max);
    __m256d s0 = _mm256_setzero_pd(), s1 = s0;
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 e = exp_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), m));
        if (out)
            _mm256_storeu_ps(out + i, e);
        s0 = _mm256_add_pd(s0, _mm256_cvtps_pd(_mm256_castps256_ps128(e)));
        s1 = _mm256_add_pd(s1, _mm256_cvtps_pd(_mm256_extractf128_ps(e, 1)));
    }
    double sum = fold_pd(_mm256_add_pd(s0, s1));
    for (; i < n; i++) {
        float e = scalar_exp(x[i] - max);
        if (out)
            out[i] = e;
        sum += (double)e;
    }
    return sum;
}

AVX2_TARGET void avx2_softmax(float *x, size_t n)
{
    double sum = sum_exp(x, n, max_of(x, n), x);
    const __m256 inv = _mm256_set1_ps((float)(1.0 / sum));
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_loadu_ps(x + i), inv));
    for (; i < n; i++)
        x[i] *= (float)(1.0 / sum);
}

AVX2_TARGET double avx2_log_sum_exp(const float *x, size_t n, float *max_out)
{
    float max = max_of(x, n);
    if (max_out)
        *max_out = max;
    return (double)max + log(sum_exp(x, n, max, NULL));
}

/* Squares and sums in double, element by element in row order: the bits of the scalar code. */
AVX2_TARGET void avx2_add_squares(const float *x, size_t n_rows, size_t stride, size_t n, double *acc)
{
    for (size_t r = 0; r < n_rows; r++) {
        const float *row = x + r * stride;
        size_t i = 0;
        for (; i + 4 <= n; i += 4) {
            __m256d v = _mm256_cvtps_pd(_mm_loadu_ps(row + i));
            _mm256_storeu_pd(acc + i, _mm256_add_pd(_mm256_loadu_pd(acc + i), _mm256_mul_pd(v, v)));
        }
        for (; i < n; i++)
            acc[i] += (double)row[i] * (double)row[i];
    }
}

const struct kernels avx2_kernels = {
    .name = "avx2",
    .quantize_act = avx2_quantize_act,
    .ternary_matmul = avx2_ternary_matmul,
    .dense_dot = avx2_dense_dot,
    .dequantize = avx2_dequantize,
    .rms_norm = scalar_rms_norm,
    .swiglu = avx2_swiglu,
    .softmax = avx2_softmax,
    .log_sum_exp = avx2_log_sum_exp,
    .add_squares = avx2_add_squares,
};
#endif
