/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian loads and stores at any alignment, and the 16-bit float formats.
 * bytes_f16_from_f32 rounds to nearest even, with subnormals; |x| >= 65520 becomes infinity, NaN keeps its sign and
 * becomes 0x7e00. bytes_bf16_from_f32 rounds to nearest even, NaN stays NaN.
 */
#ifndef TERNPACK_BASE_UTIL_BYTES_H
#define TERNPACK_BASE_UTIL_BYTES_H

#include <stdint.h>
#include <string.h>

static inline uint16_t bytes_get_u16(const void *p)
{
    const uint8_t *b = p;
    return (uint16_t)(b[0] | b[1] << 8);
}

static inline uint32_t bytes_get_u32(const void *p)
{
    const uint8_t *b = p;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t bytes_get_u64(const void *p)
{
    return bytes_get_u32(p) | (uint64_t)bytes_get_u32((const uint8_t *)p + 4) << 32;
}

static inline void bytes_put_u16(void *p, uint16_t v)
{
    uint8_t *b = p;
    b[0] = (uint8_t)v;
    b[1] = (uint8_t)(v >> 8);
}

static inline void bytes_put_u32(void *p, uint32_t v)
{
    bytes_put_u16(p, (uint16_t)v);
    bytes_put_u16((uint8_t *)p + 2, (uint16_t)(v >> 16));
}

static inline void bytes_put_u64(void *p, uint64_t v)
{
    bytes_put_u32(p, (uint32_t)v);
    bytes_put_u32((uint8_t *)p + 4, (uint32_t)(v >> 32));
}

static inline float bytes_f32_from_bits(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t bytes_f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float bytes_get_f32(const void *p)
{
    return bytes_f32_from_bits(bytes_get_u32(p));
}

static inline void bytes_put_f32(void *p, float f)
{
    bytes_put_u32(p, bytes_f32_bits(f));
}

static inline float bytes_f32_from_bf16(uint16_t h)
{
    return bytes_f32_from_bits((uint32_t)h << 16);
}

static inline uint16_t bytes_bf16_from_f32(float f)
{
    uint32_t u = bytes_f32_bits(f);
    if ((u & 0x7fffffff) > 0x7f800000)
        return (uint16_t)((u >> 16) | 64); /* quiet NaN */
    return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

static inline float bytes_f32_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = (h >> 10) & 31, man = h & 0x3ff;
    if (exp == 31)
        return bytes_f32_from_bits(sign | 0x7f800000 | man << 13);
    if (exp)
        return bytes_f32_from_bits(sign | (exp + 112) << 23 | man << 13);
    /* zero or subnormal: man * 2^-24 is exact in f32 */
    float v = (float)man * 0x1p-24f;
    return sign ? -v : v;
}

static inline uint16_t bytes_f16_from_f32(float f)
{
    uint32_t u = bytes_f32_bits(f), sign = (u >> 16) & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (a >= 0x477ff000) /* >= 65520 */
        return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) { /* below 2^-14: round |f| * 2^24 to an integer, ties to even, by adding 2^23 */
        float t = bytes_f32_from_bits(a) * 0x1p24f + 0x1p23f;
        return (uint16_t)(sign | (bytes_f32_bits(t) - 0x4b000000));
    }
    return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + ((a >> 13) & 1)) >> 13));
}

#endif
