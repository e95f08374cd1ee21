/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of every kernel, in plain C. */
#include "kernels/ref/scalar.h"

#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "kernels/codec_layout.h"

/* Bit patterns of absolute values order as the values do, infinity and then NaN at the top: one maximum finds all
 * three. */
void scalar_quantize_act(const float *x, int8_t *q, float *a, size_t n)
{
    for (size_t b = 0; b < n / KERNELS_ACT_BLOCK; b++, x += KERNELS_ACT_BLOCK, q += KERNELS_ACT_BLOCK) {
        uint32_t max = 0;
        for (size_t i = 0; i < KERNELS_ACT_BLOCK; i++) {
            uint32_t bits = bytes_f32_bits(x[i]) & 0x7fffffff;
            max = bits > max ? bits : max;
        }
        a[b] = max < 0x7f800000 ? bytes_f32_from_bits(max) / 127.0f : NAN;
        for (size_t i = 0; i < KERNELS_ACT_BLOCK; i++)
            q[i] = a[b] > 0 ? (int8_t)fminf(127.0f, fmaxf(-127.0f, rintf(x[i] / a[b]))) : 0;
    }
}

void scalar_ternary_matmul(uint32_t type, const void *w, size_t row_bytes, size_t n_rows, size_t n_cols,
                           const int8_t *q, const float *a, size_t n_tokens, float *y, size_t y_stride, void *scratch)
{
    const struct codec_layout *l = codec_layout(type);
    size_t n_blocks = n_cols / KERNELS_ACT_BLOCK;
    int8_t *codes = scratch;
    uint16_t *scales = (uint16_t *)(void *)(codes + n_cols);
    for (size_t r = 0; r < n_rows; r++) {
        codec_unpack(type, (const uint8_t *)w + r * row_bytes, codes, scales, n_cols);
        for (size_t t = 0; t < n_tokens; t++) {
            float sum = 0;
            for (size_t b = 0; b < n_blocks; b++) {
                int32_t isum = 0;
                for (size_t i = b * KERNELS_ACT_BLOCK; i < (b + 1) * KERNELS_ACT_BLOCK; i++)
                    isum += codes[i] * q[t * n_cols + i];
                float d = bytes_f32_from_f16(scales[b * KERNELS_ACT_BLOCK / l->weights]) * a[t * n_blocks + b];
                sum += d * (float)isum;
            }
            y[t * y_stride + r] = sum;
        }
    }
}

void scalar_dequantize(uint32_t type, const void *src, float *dst, size_t n)
{
    codec_dequantize(type, src, dst, n);
}

float scalar_dense_dot(uint32_t type, const void *w, const float *x, size_t n)
{
    enum { TILE = 256 }; /* a multiple of every block */
    const struct block_info *info = block_info(type);
    const uint8_t *p = w;
    float v[TILE], sum = 0;
    for (size_t i = 0; i < n; i += TILE) {
        size_t m = n - i < TILE ? n - i : TILE;
        codec_dequantize(type, p + i / info->weights * info->bytes, v, m);
        for (size_t k = 0; k < m; k++)
            sum += v[k] * x[i + k];
    }
    return sum;
}

void scalar_rms_norm(const float *x, const float *w, float eps, float *y, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i] * x[i];
    float r = (float)(1.0 / sqrt(sum / (double)n + (double)eps));
    for (size_t i = 0; i < n; i++)
        y[i] = w ? x[i] * r * w[i] : x[i] * r;
}

/*
 * exp(x) = 2^n * exp(r), n = round(x / ln 2), |r| <= ln(2)/2, with ln 2 in two parts so that r is exact to about 1e-10,
 * and exp(r) = 1 + r + r^2 P(r) with the degree-5 minimax P of Cephes' expf (Moshier, 1984). Relative error below 2e-7
 * on
 * [-87.3, 88.3] (test: check_kernels); smaller arguments give 0, larger ones are clamped. Our own rather than libm's,
 * so that every implementation, vector or not, gives the same bits.
 */
float scalar_exp(float x)
{
    if (!(x >= -87.3f))
        return x < -87.3f ? 0.0f : x; /* NaN stays NaN */
    x = x < 88.3f ? x : 88.3f;
    float n = rintf(x * 1.44269504088896341f);
    float r = fmaf(-n, -2.12194440e-4f, fmaf(-n, 0.693359375f, x));
    float p = fmaf(1.9875691500e-4f, r, 1.3981999507e-3f);
    p = fmaf(p, r, 8.3334519073e-3f);
    p = fmaf(p, r, 4.1665795894e-2f);
    p = fmaf(p, r, 1.6666665459e-1f);
    p = fmaf(p, r, 5.0000001201e-1f);
    p = fmaf(p, r * r, r) + 1.0f;
    return p * bytes_f32_from_bits((uint32_t)((int32_t)n + 127) << 23);
}

void scalar_swiglu(float *g, const float *u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        g[i] = g[i] / (1.0f + scalar_exp(0.0f - g[i])) * u[i];
}

static float max_of(const float *x, size_t n)
{
    float max = -INFINITY;
    for (size_t i = 0; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* Sum of exp(x - max) in double: eight running sums over whole groups of eight, folded 0+4, 1+5, ..., then (0+2)+(1+3),
 * then the rest one by one. The terms go to out when it is not NULL (it may be x). */
static double sum_exp(const float *x, size_t n, float max, float *out)
{
    double lane[8] = { 0 };
    size_t whole = n / 8 * 8;
    for (size_t i = 0; i < whole; i++) {
        float e = scalar_exp(x[i] - max);
        if (out)
            out[i] = e;
        lane[i % 8] += (double)e;
    }
    double sum = ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    for (size_t i = whole; i < n; i++) {
        float e = scalar_exp(x[i] - max);
        if (out)
            out[i] = e;
        sum += (double)e;
    }
    return sum;
}

void scalar_softmax(float *x, size_t n)
{
    float inv = (float)(1.0 / sum_exp(x, n, max_of(x, n), x));
    for (size_t i = 0; i < n; i++)
        x[i] *= inv;
}

double scalar_log_sum_exp(const float *x, size_t n, float *max_out)
{
    float max = max_of(x, n);
    if (max_out)
        *max_out = max;
    return (double)max + log(sum_exp(x, n, max, NULL));
}

void scalar_add_squares(const float *x, size_t n_rows, size_t stride, size_t n, double *acc)
{
    for (size_t r = 0; r < n_rows; r++)
        for (size_t i = 0; i < n; i++)
            acc[i] += (double)x[r * stride + i] * (double)x[r * stride + i];
}

const struct kernels scalar_kernels = {
    .name = "scalar",
    .quantize_act = scalar_quantize_act,
    .ternary_matmul = scalar_ternary_matmul,
    .dense_dot = scalar_dense_dot,
    .dequantize = scalar_dequantize,
    .rms_norm = scalar_rms_norm,
    .swiglu = scalar_swiglu,
    .softmax = scalar_softmax,
    .log_sum_exp = scalar_log_sum_exp,
    .add_squares = scalar_add_squares,
};
