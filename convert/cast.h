/* SPDX-License-Identifier: Apache-2.0 */
/* Between the three float types of checkpoints and full-precision files, counting what does not survive. */
#ifndef TERNPACK_CONVERT_CAST_H
#define TERNPACK_CONVERT_CAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/block.h"

struct cast_counts {
    uint64_t nan, inf;  /* in the source */
    uint64_t overflow;  /* finite in the source, beyond the largest finite value of the result */
    uint64_t underflow; /* not zero in the source, zero in the result */
};

void cast_count(struct cast_counts *sum, const struct cast_counts *c);

/* n little-endian values of type `from` to type `to` (BLOCK_F32, BLOCK_F16 or BLOCK_BF16; the same type copies bits),
 * adding to *counts. Overflow becomes infinity, or with `clamp` the largest finite value of that sign. Buffers need no
 * alignment and may not overlap. Rounding: to nearest, ties to even. */
void cast_values(uint32_t from, uint32_t to, const void *in, void *out, size_t n, bool clamp,
                 struct cast_counts *counts);

/* Can a finite value of `from` overflow `to`? */
bool cast_may_overflow(uint32_t from, uint32_t to);

#endif
