/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of squares of the inputs of every linear weight of the layers, over chunks of tokens. Chunk after chunk, token
 * after token, in double: the sums do not depend on the number of threads.
 */
#ifndef TERNPACK_CALIB_COLLECT_H
#define TERNPACK_CALIB_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/format/stats.h"
#include "base/util/error.h"
#include "kernels/kernels.h"
#include "runtime/model.h"

struct collect_slot { /* one weight */
    const char *name; /* borrowed from the model */
    uint64_t n_in;
    double *sum2; /* [n_in] */
    uint64_t count;
};
struct collect {
    const struct kernels *kernels;
    struct context *context;
    struct model_tap tap;
    struct collect_slot *slots; /* [n_layer][linear roles], see slot_of */
    size_t n_slots, n_layer;
};

/* n_ctx: tokens of a chunk. */
int collect_open(struct collect *c, const struct model *m, const struct kernels *k, size_t n_ctx, struct error *err);
void collect_close(struct collect *c); /* accepts a zero struct */
/* Evaluate n <= n_ctx tokens from an empty context. NaN or infinity is ERROR_FORMAT naming the weight or layer. */
int collect_chunk(struct collect *c, const int32_t *ids, size_t n, struct error *err);
/* Entries of every weight; one that saw no token is ERROR_INTERNAL. */
int collect_stats(const struct collect *c, struct stats *s, struct error *err);

#endif
