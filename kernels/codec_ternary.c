/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/codec.h"

#include "base/util/bytes.h"
#include "kernels/codec_layout.h"

static const struct codec_layout layouts[] = {
    { BLOCK_TQ1_0, 256, 54, 52, true, 3, { { 0, 0, 32, 5 }, { 160, 32, 16, 5 }, { 240, 48, 4, 4 } } },
    { BLOCK_TQ2_0, 256, 66, 64, false, 2, { { 0, 0, 32, 4 }, { 128, 32, 32, 4 } } },
    /* Sequential 2-bit types: byte m holds weights 4m..4m+3, which no stage of the form above says; width 0 marks it.
     */
    { BLOCK_Q2_0, 64, 18, 0, false, 1, { { 0, 2, 0, 4 } } },
    { BLOCK_PQ2_0, 128, 34, 0, false, 1, { { 0, 2, 0, 4 } } },
    { BLOCK_PTQ1_0, 128, 28, 26, true, 3, { { 0, 0, 16, 5 }, { 80, 16, 8, 5 }, { 120, 24, 2, 4 } } },
};

const struct codec_layout *codec_layout(uint32_t type)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].type == type)
            return &layouts[i];
    return NULL;
}

/* Eight codes from eight digits 0..3: each byte less one. The top bit, set before and flipped after, stops the borrow.
 */
static void put_codes8(int8_t *codes, uint64_t digits)
{
    const uint64_t top = 0x8080808080808080u;
    bytes_put_u64(codes, ((digits | top) - 0x0101010101010101u) ^ top);
}

/* Digit n of eight bytes at once. Base 3, as codec_digit, in 16-bit lanes of the even and the odd bytes: with v the
 * byte times 3^n mod 256, the digit is 3v >> 8 and the next v is 3v & 255. */
static void unpack8(const uint8_t *p, bool base3, unsigned digits, size_t width, int8_t *codes)
{
    const uint64_t low = 0x00ff00ff00ff00ffu;
    uint64_t v = bytes_get_u64(p), even = v & low, odd = v >> 8 & low;
    for (unsigned n = 0; n < digits; n++, codes += width) {
        if (!base3) {
            put_codes8(codes, v >> (2 * n) & 0x0303030303030303u);
            continue;
        }
        even *= 3;
        odd *= 3;
        put_codes8(codes, (even >> 8 & low) | (odd >> 8 & low) << 8);
        even &= low;
        odd &= low;
    }
}

/* Byte b holds four sequential codes: copies of it, 6 bits apart, bring field k to the bottom of byte k. */
static void unpack_sequential(const uint8_t *p, size_t n_bytes, int8_t *codes)
{
    for (size_t m = 0; m < n_bytes; m += 2, codes += 8) {
        uint64_t a = p[m], b = p[m + 1], v = a | a << 6 | a << 12 | a << 18 | b << 32 | b << 38 | b << 44 | b << 50;
        put_codes8(codes, v & 0x0303030303030303u);
    }
}

static void unpack_stage(const struct codec_layout *l, const struct codec_stage *s, const uint8_t *src, int8_t *codes)
{
    const uint8_t *p = src + s->offset;
    if (!s->width) {
        unpack_sequential(p, l->weights / 4u, codes);
        return;
    }
    codes += s->first;
    unsigned m = 0;
    for (; m + 8 <= s->width; m += 8)
        unpack8(p + m, l->base3, s->digits, s->width, codes + m);
    for (; m < s->width; m++) /* the short stages, base 3 */
        for (unsigned n = 0; n < s->digits; n++)
            codes[s->width * n + m] = (int8_t)((int)codec_digit(p[m], n) - 1);
}

static void pack_stage(const struct codec_layout *l, const struct codec_stage *s, const int8_t *codes, uint8_t *dst)
{
    uint8_t *p = dst + s->offset;
    if (!s->width) {
        for (unsigned m = 0; m < l->weights / 4u; m++)
            p[m] = (uint8_t)((codes[4 * m] + 1) | (codes[4 * m + 1] + 1) << 2 | (codes[4 * m + 2] + 1) << 4 |
                             (codes[4 * m + 3] + 1) << 6);
        return;
    }
    for (unsigned m = 0; m < s->width; m++) {
        unsigned q = 0;
        for (unsigned n = 0; n < s->digits; n++) {
            unsigned digit = (unsigned)(codes[s->first + s->width * n + m] + 1);
            q = l->base3 ? q * 3 + digit : q | digit << (2 * n);
        }
        for (unsigned n = s->digits; l->base3 && n < 5; n++)
            q *= 3; /* spare digits are 0 */
        p[m] = (uint8_t)(l->base3 ? (256 * q + 242) / 243 : q);
    }
}

void codec_unpack(uint32_t type, const void *src, int8_t *codes, uint16_t *scales, size_t n)
{
    const struct codec_layout *l = codec_layout(type);
    const uint8_t *p = src;
    for (size_t b = 0; b < n / l->weights; b++, p += l->bytes, codes += l->weights) {
        for (unsigned i = 0; i < l->n_stages; i++)
            unpack_stage(l, &l->stages[i], p, codes);
        scales[b] = bytes_get_u16(p + l->scale_offset);
    }
}

void codec_pack(uint32_t type, const int8_t *codes, const uint16_t *scales, void *dst, size_t n)
{
    const struct codec_layout *l = codec_layout(type);
    uint8_t *p = dst;
    for (size_t b = 0; b < n / l->weights; b++, p += l->bytes, codes += l->weights) {
        for (unsigned i = 0; i < l->n_stages; i++)
            pack_stage(l, &l->stages[i], codes, p);
        bytes_put_u16(p + l->scale_offset, scales[b]);
    }
}
