/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/exact.h"

#include "base/util/bytes.h"

enum { MIXED = -1 }; /* as a magnitude's bits: all ones, a NaN, so never the bits of a weight */

void exact_init(struct exact_scan *x, uint64_t n_cols)
{
    *x = (struct exact_scan){ .n_cols = n_cols, .scales_fp16 = true };
    for (int i = EXACT_32; i <= EXACT_256; i++)
        x->fits[i] = n_cols % (32u << i) == 0;
    x->fits[EXACT_ROW] = x->fits[EXACT_TENSOR] = true;
}

/* The one non-zero magnitude of n weights (0 when all are zero), or MIXED. */
static uint32_t run_magnitude(const float *w, size_t n)
{
    uint32_t mag = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t m = bytes_f32_bits(w[i]) & 0x7fffffff;
        if (m && mag && m != mag)
            return (uint32_t)MIXED;
        mag |= m; /* m is 0 or equal, or mag was 0 */
    }
    return mag;
}

static uint32_t merge(uint32_t a, uint32_t b)
{
    return a == 0 || a == b ? b : b == 0 ? a : (uint32_t)MIXED;
}

static void note_scale(struct exact_scan *x, uint32_t mag)
{
    if (mag == 0 || mag == (uint32_t)MIXED)
        return;
    float s = bytes_f32_from_bits(mag);
    uint16_t h = bytes_f16_from_f32(s);
    if (h >= 0x7c00 || bytes_f32_from_f16(h) != s)
        x->scales_fp16 = false;
}

/* A row in runs of 32; runs are merged into wider groups like a binary counter, one open group per size. */
static void scan_row(struct exact_scan *x, const float *w)
{
    uint32_t open[EXACT_256 + 1] = { 0 }, row = 0;
    size_t step = x->fits[EXACT_32] ? 32 : x->n_cols;
    for (size_t i = 0; i < x->n_cols; i += step) {
        uint32_t mag = run_magnitude(w + i, step);
        note_scale(x, mag);
        row = merge(row, mag);
        for (int size = EXACT_32; size <= EXACT_256; size++) {
            size_t width = (size_t)32 << size;
            open[size] = i % width == 0 ? mag : merge(open[size], mag);
            if (open[size] == (uint32_t)MIXED)
                x->fits[size] = false;
        }
    }
    if (row == (uint32_t)MIXED)
        x->fits[EXACT_ROW] = false;
    x->tensor_mag = merge(x->tensor_mag, row);
    if (x->tensor_mag == (uint32_t)MIXED)
        x->fits[EXACT_TENSOR] = false;
}

bool exact_rows(struct exact_scan *x, const float *w, size_t n_rows)
{
    for (size_t r = 0; r < n_rows; r++) {
        scan_row(x, w + r * x->n_cols);
        /* what fits a wider group fits the narrower ones that divide the row, so these two stand for all */
        if (!x->fits[EXACT_32] && !x->fits[EXACT_ROW])
            return false;
    }
    return true;
}

bool exact_holds(const struct exact_scan *x, unsigned block)
{
    int size = block == 64 ? EXACT_64 : block == 128 ? EXACT_128 : EXACT_256;
    return x->scales_fp16 && x->fits[size];
}

const char *exact_source_group(const struct exact_scan *x)
{
    static const char *const names[EXACT_SIZES] = { "32", "64", "128", "256", "row", "tensor" };
    for (int size = EXACT_SIZES; size-- > 0;)
        if (x->fits[size])
            return names[size];
    return NULL;
}
