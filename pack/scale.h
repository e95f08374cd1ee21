/* SPDX-License-Identifier: Apache-2.0 */
/* Scales as they are stored: fp16, never NaN, infinite or negative. */
#ifndef TERNPACK_PACK_SCALE_H
#define TERNPACK_PACK_SCALE_H

#include <stdbool.h>
#include <stdint.h>

struct scale_counts {
    uint64_t flushed;   /* scale > 0 that became 0: the group is emptied */
    uint64_t subnormal; /* stored scale below 2^-14: fewer than 11 bits */
};

/* Round s >= 0 to fp16. False when it becomes infinite. */
bool scale_store(double s, uint16_t *bits, struct scale_counts *c);

#endif
