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

static void unpack_stage(const struct codec_layout *l, const struct codec_stage *s, const uint8_t *src, int8_t *codes)
{
    const uint8_t *p = src + s->offset;
    if (!s->width) {
        for (unsigned w = 0; w < l->weights; w++)
            codes[w] = (int8_t)((p[w / 4] >> (w % 4 * 2) & 3) - 1);
        return;
    }
    for (unsigned n = 0; n < s->digits; n++)
        for (unsigned m = 0; m < s->width; m++) {
            unsigned digit = l->base3 ? codec_digit(p[m], n) : p[m] >> (2 * n) & 3u;
            codes[s->first + s->width * n + m] = (int8_t)((int)digit - 1);
        }
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
