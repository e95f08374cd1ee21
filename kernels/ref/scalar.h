/* SPDX-License-Identifier: Apache-2.0 */
/* The scalar kernels one by one, so that other tables can take those they do not speed up. Contracts:
 * kernels/kernels.h. */
#ifndef TERNPACK_KERNELS_REF_SCALAR_H
#define TERNPACK_KERNELS_REF_SCALAR_H

#include "kernels/kernels.h"

void scalar_quantize_act(const float *x, int8_t *q, float *a, size_t n);
void scalar_ternary_matmul(uint32_t type, const void *w, size_t row_bytes, size_t n_rows, size_t n_cols,
                           const int8_t *q, const float *a, size_t n_tokens, float *y, size_t y_stride, void *scratch);
float scalar_dense_dot(uint32_t type, const void *w, const float *x, size_t n);
void scalar_dequantize(uint32_t type, const void *src, float *dst, size_t n);
void scalar_rms_norm(const float *x, const float *w, float eps, float *y, size_t n);
float scalar_exp(float x);
void scalar_swiglu(float *g, const float *u, size_t n);
void scalar_softmax(float *x, size_t n);
double scalar_log_sum_exp(const float *x, size_t n, float *max_out);
void scalar_add_squares(const float *x, size_t n_rows, size_t stride, size_t n, double *acc);

extern const struct kernels scalar_kernels;

#endif
