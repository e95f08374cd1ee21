/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where products of weights and activations are computed. One implementation: the CPU. A backend owns its scratch
 * memory and belongs to one context. Work is cut into tiles of weight rows whose size depends on the shapes only, so
 * results do not depend on the number of threads.
 */
#ifndef TERNPACK_RUNTIME_BACKEND_H
#define TERNPACK_RUNTIME_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/parallel.h"
#include "kernels/kernels.h"

/* A matrix in the model file: n_out rows of n_in weights. */
struct weight {
    const char *name;
    const uint8_t *data; /* borrowed: mapped or read, any alignment */
    uint32_t type;
    bool ternary;
    size_t n_in, n_out, row_bytes;
};

/* y[t * y_stride + r] = w[r] . x[t] */
struct product {
    const struct weight *w;
    float *y;
    size_t y_stride;
};

struct backend;

/* max_tokens, max_in: largest input of one backend_products. exact: ternary weights are dequantized and multiplied in
 * FP32. */
int backend_open(struct backend **out, const struct kernels *k, struct pool *pool, bool exact, size_t max_tokens,
                 size_t max_in, struct error *err);
void backend_close(struct backend *b); /* NULL is fine */

/* Up to 4 products of the same input x [n_tokens][n_in]; ternary weights share one quantization of it. */
void backend_products(struct backend *b, const float *x, size_t n_tokens, const struct product *p, size_t n_products);

#endif
