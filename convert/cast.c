/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/cast.h"

#include <string.h>

#include "base/util/bytes.h"

void cast_count(struct cast_counts *sum, const struct cast_counts *c)
{
    sum->nan += c->nan;
    sum->inf += c->inf;
    sum->overflow += c->overflow;
    sum->underflow += c->underflow;
}

bool cast_may_overflow(uint32_t from, uint32_t to)
{
    return from != to && from != BLOCK_F16 && to != BLOCK_F32;
}

/* Values of 16 bits whose magnitude reaches `limit`, the bit pattern of infinity: NaN above it, infinity at it. */
static void count_special16(const uint8_t *in, size_t n, uint16_t limit, struct cast_counts *c)
{
    size_t special = 0;
    for (size_t i = 0; i < n; i++)
        special += (bytes_get_u16(in + 2 * i) & 0x7fff) >= limit;
    if (!special)
        return;
    for (size_t i = 0; i < n; i++) {
        uint16_t magnitude = bytes_get_u16(in + 2 * i) & 0x7fff;
        c->nan += magnitude > limit;
        c->inf += magnitude == limit;
    }
}

static void count_special32(const uint8_t *in, size_t n, struct cast_counts *c)
{
    size_t special = 0;
    for (size_t i = 0; i < n; i++)
        special += (bytes_get_u32(in + 4 * i) & 0x7fffffff) >= 0x7f800000;
    if (!special)
        return;
    for (size_t i = 0; i < n; i++) {
        uint32_t magnitude = bytes_get_u32(in + 4 * i) & 0x7fffffff;
        c->nan += magnitude > 0x7f800000;
        c->inf += magnitude == 0x7f800000;
    }
}

static void count_special(uint32_t from, const uint8_t *in, size_t n, struct cast_counts *c)
{
    if (from == BLOCK_F32)
        count_special32(in, n, c);
    else
        count_special16(in, n, from == BLOCK_F16 ? 0x7c00 : 0x7f80, c);
}

static float load(uint32_t type, const uint8_t *in, size_t i)
{
    switch (type) {
    case BLOCK_F16:
        return bytes_f32_from_f16(bytes_get_u16(in + 2 * i));
    case BLOCK_BF16:
        return bytes_f32_from_bf16(bytes_get_u16(in + 2 * i));
    default:
        return bytes_get_f32(in + 4 * i);
    }
}

/* Narrow to a 16-bit type whose infinity is the bit pattern `inf`; the pattern below it is the largest finite value. */
static void narrow(uint32_t from, uint32_t to, const uint8_t *in, uint8_t *out, size_t n, bool clamp,
                   struct cast_counts *c)
{
    uint16_t inf = to == BLOCK_F16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < n; i++) {
        float v = load(from, in, i);
        uint32_t magnitude = bytes_f32_bits(v) & 0x7fffffff;
        uint16_t h = to == BLOCK_F16 ? bytes_f16_from_f32(v) : bytes_bf16_from_f32(v);
        if ((h & 0x7fff) == inf && magnitude < 0x7f800000) {
            c->overflow++;
            if (clamp)
                h = (uint16_t)((h & 0x8000) | (inf - 1));
        }
        c->underflow += magnitude && !(h & 0x7fff);
        bytes_put_u16(out + 2 * i, h);
    }
}

void cast_values(uint32_t from, uint32_t to, const void *in, void *out, size_t n, bool clamp,
                 struct cast_counts *counts)
{
    count_special(from, in, n, counts);
    if (from == to) {
        memcpy(out, in, n * (from == BLOCK_F32 ? 4 : 2));
    } else if (to == BLOCK_F32) {
        for (size_t i = 0; i < n; i++)
            bytes_put_f32((uint8_t *)out + 4 * i, load(from, in, i));
    } else {
        narrow(from, to, in, out, n, clamp, counts);
    }
}
