/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a tensor ternary already? Its groups are then exactly {-s, 0, +s} with s an fp16 value, and packing must give the
 * source's values back. All group sizes are tried at once, in one pass over the rows.
 */
#ifndef TERNPACK_PACK_EXACT_H
#define TERNPACK_PACK_EXACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum exact_size { EXACT_32, EXACT_64, EXACT_128, EXACT_256, EXACT_ROW, EXACT_TENSOR, EXACT_SIZES };

struct exact_scan {
    uint64_t n_cols;
    bool fits[EXACT_SIZES]; /* every group of this size so far has one magnitude; false when the size does not divide a
                               row */
    bool scales_fp16;       /* every magnitude so far is an fp16 value */
    uint32_t tensor_mag;    /* bits of the one magnitude so far, 0: only zeros */
};

void exact_init(struct exact_scan *x, uint64_t n_cols);
/* n_rows more rows [n_rows][n_cols] of finite values. False when nothing fits any more and the rest need not be read.
 */
bool exact_rows(struct exact_scan *x, const float *w, size_t n_rows);
/* Blocks of `block` weights (64, 128 or 256) hold the tensor exactly. */
bool exact_holds(const struct exact_scan *x, unsigned block);
/* The largest size that fits: "32".."256", "row", "tensor", or NULL for a tensor that is not ternary. A tensor that is
 * ternary only with scales beyond fp16 has a size here and is not exact. */
const char *exact_source_group(const struct exact_scan *x);

#endif
