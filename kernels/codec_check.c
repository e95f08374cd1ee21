/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/codec.h"

#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "kernels/codec_layout.h"

void codec_check_init(struct codec_check *c)
{
    memset(c, 0, sizeof *c);
    c->first_illegal = c->first_non_canonical = c->first_bad_scale = c->first_bad_value = UINT64_MAX;
    c->scale_min = INFINITY;
    c->scale_max = -INFINITY;
}

static void note_first(uint64_t *first, uint64_t at)
{
    if (*first > at)
        *first = at;
}

static void check_scale(struct codec_check *c, uint16_t half, uint64_t block)
{
    unsigned exp = half >> 10 & 31, man = half & 0x3ff;
    c->blocks++;
    if (exp == 31) {
        *(man ? &c->scale_nan : &c->scale_inf) += 1;
        note_first(&c->first_bad_scale, block);
        return;
    }
    float d = bytes_f32_from_f16(half);
    c->scale_min = fminf(c->scale_min, d);
    c->scale_max = fmaxf(c->scale_max, d);
    c->scale_negative += half >> 15;
    c->scale_zero += d == 0;
    c->scale_subnormal += !exp && man;
}

/* A canonical byte is ceil(256 q / 243) of the q it decodes to, and its spare digits are 0. */
static void check_base3(struct codec_check *c, const struct codec_layout *l, const uint8_t *p, uint64_t byte_base)
{
    for (unsigned i = 0; i < l->n_stages; i++) {
        const struct codec_stage *s = &l->stages[i];
        for (unsigned m = 0; m < s->width; m++) {
            unsigned b = p[s->offset + m], q = b * 243 / 256;
            bool rounded = (256 * q + 242) / 243 == b, spare = false;
            for (unsigned n = s->digits; n < 5; n++)
                spare = spare || codec_digit((uint8_t)b, n) != 0;
            c->spare_digits += rounded && spare;
            if (!rounded || spare) {
                c->non_canonical++;
                note_first(&c->first_non_canonical, byte_base + s->offset + m);
            }
        }
    }
}

static unsigned sum_bytes(uint64_t v)
{
    const uint64_t low = 0x00ff00ff00ff00ffu;
    return (unsigned)(((v & low) + (v >> 8 & low)) * 0x0001000100010001u >> 48);
}

/* Codes are bytes ff, 00, 01, 02, eight in a word: bits 0 and 1 tell them apart. n <= 256 is 32 words, so that the
 * counts of each byte stay below 256. */
static void count_codes(struct codec_check *c, const int8_t *codes, unsigned n, uint64_t first)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t other = 0, illegal = 0;
    for (unsigned w = 0; w < n; w += 8) {
        uint64_t v = bytes_get_u64(codes + w);
        other += (v | v >> 1) & ones;
        illegal += ~v & v >> 1 & ones;
    }
    c->zeros += n - sum_bytes(other);
    c->illegal_codes += sum_bytes(illegal);
    for (unsigned w = 0; illegal && w < n; w++)
        if (codes[w] == 2)
            note_first(&c->first_illegal, first + w);
}

static void check_ternary(struct codec_check *c, const struct codec_layout *l, const uint8_t *p, size_t n,
                          uint64_t base)
{
    int8_t codes[256];
    uint16_t scale;
    for (size_t b = 0; b < n / l->weights; b++, p += l->bytes) {
        uint64_t block = base / l->weights + b;
        codec_unpack(l->type, p, codes, &scale, l->weights);
        check_scale(c, scale, block);
        count_codes(c, codes, l->weights, block * l->weights);
        if (l->base3)
            check_base3(c, l, p, block * l->bytes);
    }
}

static void check_values(struct codec_check *c, uint32_t type, const uint8_t *p, size_t n, uint64_t base)
{
    for (size_t i = 0; i < n; i++) {
        float v = type == BLOCK_F32   ? bytes_get_f32(p + 4 * i)
                  : type == BLOCK_F16 ? bytes_f32_from_f16(bytes_get_u16(p + 2 * i))
                                      : bytes_f32_from_bf16(bytes_get_u16(p + 2 * i));
        c->zeros += v == 0;
        if (isfinite(v))
            continue;
        *(isnan(v) ? &c->nan : &c->inf) += 1;
        note_first(&c->first_bad_value, base + i);
    }
}

/* Zeros as they are dequantized: of a zero scale all weights, of one that is not finite none. */
static void check_q8_0(struct codec_check *c, const uint8_t *p, size_t n, uint64_t base)
{
    for (size_t b = 0; b < n / 32; b++, p += 34) {
        uint16_t scale = bytes_get_u16(p);
        unsigned zeros = 0;
        check_scale(c, scale, base / 32 + b);
        for (unsigned i = 0; i < 32; i++)
            zeros += p[2 + i] == 0;
        c->zeros += (scale & 0x7c00) == 0x7c00 ? 0 : scale & 0x7fff ? zeros : 32;
    }
}

bool codec_check(uint32_t type, const void *src, size_t n, uint64_t base, struct codec_check *c)
{
    const struct codec_layout *l = codec_layout(type);
    const uint8_t *p = src;
    if (l) {
        check_ternary(c, l, p, n, base);
    } else if (type == BLOCK_F32 || type == BLOCK_F16 || type == BLOCK_BF16) {
        check_values(c, type, p, n, base);
    } else if (type == BLOCK_Q8_0) {
        check_q8_0(c, p, n, base);
    } else if (type == BLOCK_Q4_0) {
        const struct block_info *info = block_info(type);
        float v[32];
        for (size_t b = 0; b < n / 32; b++, p += info->bytes) {
            check_scale(c, bytes_get_u16(p), base / 32 + b);
            codec_dequantize(type, p, v, 32);
            for (unsigned i = 0; i < 32; i++)
                c->zeros += v[i] == 0;
        }
    } else {
        return false;
    }
    c->weights += n;
    return true;
}
