/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/scan.h"

#include <string.h>

#include "base/util/bytes.h"

/* The magnitude bits of an IEEE float order like its value: above `inf` is NaN, and a limit is one comparison. */
struct layout {
    uint64_t magnitude, inf, f16_limit;
};

static const struct layout f16 = { 0x7fff, 0x7c00, UINT64_MAX };
static const struct layout bf16 = { 0x7fff, 0x7f80, 0x4780 }; /* 65536: 65520 lies between two BF16 values */
static const struct layout f32 = { 0x7fffffff, 0x7f800000, 0x477ff000 };
static const struct layout f64 = { 0x7fffffffffffffff, 0x7ff0000000000000, 0x40effe0000000000 };

void scan_init(struct scan *s)
{
    memset(s, 0, sizeof *s);
    s->first_bad = UINT64_MAX;
}

bool scan_knows(enum st_dtype d)
{
    return d == ST_F16 || d == ST_BF16 || d == ST_F32 || d == ST_F64;
}

static void count(const struct layout *l, uint64_t bits, uint64_t index, struct scan *s)
{
    uint64_t a = bits & l->magnitude;
    if (a < l->f16_limit && a < l->inf)
        return;
    if (a < l->inf) {
        s->beyond_f16++;
        return;
    }
    *(a > l->inf ? &s->nan : &s->inf) += 1;
    if (index < s->first_bad)
        s->first_bad = index;
}

void scan_values(enum st_dtype d, const void *bytes, size_t n, uint64_t base, struct scan *s)
{
    const uint8_t *p = bytes;

    if (d == ST_F16 || d == ST_BF16) {
        const struct layout *l = d == ST_F16 ? &f16 : &bf16;
        for (size_t i = 0; i < n; i++)
            count(l, bytes_get_u16(p + 2 * i), base + i, s);
    } else if (d == ST_F32) {
        for (size_t i = 0; i < n; i++)
            count(&f32, bytes_get_u32(p + 4 * i), base + i, s);
    } else if (d == ST_F64) {
        for (size_t i = 0; i < n; i++)
            count(&f64, bytes_get_u64(p + 8 * i), base + i, s);
    }
}
