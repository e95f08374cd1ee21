/* SPDX-License-Identifier: Apache-2.0 */
/* Where the codes of the ternary blocks lie (docs/format.md 2): shared by packing, unpacking and checking. Private to
 * kernels/. */
#ifndef TERNPACK_KERNELS_CODEC_LAYOUT_H
#define TERNPACK_KERNELS_CODEC_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/block.h"

/* A run of bytes; digit n (0 first) of byte m holds weight first + width*n + m. */
struct codec_stage {
    uint16_t first, offset, width, digits;
};

struct codec_layout {
    uint32_t type;
    uint16_t weights, bytes, scale_offset;
    bool base3; /* digits are base 3, most significant first, scaled by 256/243; else 2-bit fields, lowest first */
    uint8_t n_stages;
    struct codec_stage stages[3];
};

/* NULL for types that are not ternary. */
const struct codec_layout *codec_layout(uint32_t type);

/* Digit n of a base-3 byte: b = ceil(256 q / 243), so floor(3 * ((b * 3^n) mod 256) / 256) is digit n of q. */
static inline unsigned codec_digit(uint8_t byte, unsigned n)
{
    static const uint8_t power[5] = { 1, 3, 9, 27, 81 };
    return (unsigned)((uint8_t)(byte * power[n]) * 3) >> 8;
}

#endif
