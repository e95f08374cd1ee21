/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one piece of a tensor: source bytes in, target bytes out, and what there is to tell about them. */
#ifndef TERNPACK_PACK_ENCODE_H
#define TERNPACK_PACK_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "kernels/kernels.h"
#include "pack/plan.h"
#include "pack/scale.h"

/* Sums over weights; those of pieces are added in order, so that they do not depend on the number of threads. */
struct encode_sums {
    double source2, diff2;                     /* sum w^2, sum (w - what)^2 */
    double weighted_source2, weighted_diff2;   /* the same times importance; 0 without */
    uint64_t weights, source_nonzero, nonzero; /* nonzero: of the target */
    uint64_t negative_zeros;                   /* -0 in an exact tensor: becomes +0 */
    uint64_t uniform_groups;                   /* groups whose importances were all zero */
    struct scale_counts scales;
};
void encode_add(struct encode_sums *to, const struct encode_sums *piece);

struct encode_scratch; /* for one thread; some 40 KiB */
int encode_scratch_open(struct encode_scratch **s, const struct kernels *k, struct error *err);
void encode_scratch_close(struct encode_scratch *s);

/* Rows follow each other without gaps and are whole blocks, so a tensor is one run of blocks and may be cut between any
 * two. */
struct encode_piece {
    const struct plan_tensor *tensor;
    uint64_t first; /* element of the tensor, a multiple of ENCODE_SPAN */
    uint64_t n;     /* elements: a multiple of ENCODE_SPAN, or all that are left */
    const void *src;
    void *dst; /* may equal src when the tensor is copied */
};
enum { ENCODE_SPAN = 4096 };

/* ERROR_FORMAT for NaN or infinity in the source and for values or scales beyond the target's range: tensor and row in
 * the text. ERROR_INTERNAL when decoding the target bytes does not give the values they were made from. *sums is set.
 */
int encode_piece(const struct encode_piece *piece, struct encode_scratch *scratch, struct encode_sums *sums,
                 struct error *err);

#endif
