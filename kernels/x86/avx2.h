/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERNPACK_KERNELS_X86_AVX2_H
#define TERNPACK_KERNELS_X86_AVX2_H

#include "kernels/kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define TERNPACK_AVX2 1
#define AVX2_TARGET __attribute__((target("avx2,fma,f16c")))

extern const struct kernels avx2_kernels; /* usable only when the processor has AVX2, FMA and F16C */

enum { AVX2_ROWS = 32 }; /* rows of one interleaved tile */

/* Codes plus one (0..3, unsigned bytes, natural order) and FP32 scales of n weights; a block's scale is written once
 * per 64 weights. */
void avx2_unpack(uint32_t type, const void *src, uint8_t *codes, float *scales, size_t n);

void avx2_quantize_act(const float *x, int8_t *q, float *a, size_t n);
void avx2_ternary_matmul(uint32_t type, const void *w, size_t row_bytes, size_t n_rows, size_t n_cols, const int8_t *q,
                         const float *a, size_t n_tokens, float *y, size_t y_stride, void *scratch);
float avx2_dense_dot(uint32_t type, const void *w, const float *x, size_t n);
void avx2_dequantize(uint32_t type, const void *src, float *dst, size_t n);
void avx2_swiglu(float *g, const float *u, size_t n);
void avx2_softmax(float *x, size_t n);
double avx2_log_sum_exp(const float *x, size_t n, float *max_out);
void avx2_add_squares(const float *x, size_t n_rows, size_t stride, size_t n, double *acc);
#endif

#endif
