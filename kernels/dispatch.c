/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

#include <string.h>

#include "kernels/ref/scalar.h"

static const struct kernels *const table[] = { &scalar_kernels };

const struct kernels *kernels_at(unsigned i)
{
    return i < sizeof table / sizeof *table ? table[i] : NULL;
}

int kernels_select(const struct kernels **out, const char *name, struct error *err)
{
    const struct kernels *best = NULL, *k;
    char names[128] = "";
    *out = NULL;
    for (unsigned i = 0; (k = kernels_at(i)); i++) {
        if (name && !strcmp(name, k->name)) {
            *out = k;
            return 0;
        }
        best = k;
        strncat(names, i ? ", " : "", sizeof names - strlen(names) - 1);
        strncat(names, k->name, sizeof names - strlen(names) - 1);
    }
    if (name && *name)
        return error_set(err, ERROR_USAGE, "TERNPACK_KERNELS=%s: this build and processor have: %s", name, names);
    *out = best;
    return 0;
}

size_t kernels_scratch(size_t n_cols)
{
    /* codes (int8) and up to one scale (u16) per 64 weights, for a tile of 4 rows */
    return 4 * (n_cols + n_cols / 64 * sizeof(uint16_t)) + 256;
}

void kernels_rope(float *x, const float *cos_t, const float *sin_t, size_t n_rot, bool neox)
{
    size_t half = n_rot / 2;
    for (size_t i = 0; i < half; i++) {
        float *p = neox ? x + i : x + 2 * i, *q = neox ? x + i + half : x + 2 * i + 1;
        float a = *p, b = *q;
        *p = a * cos_t[i] - b * sin_t[i];
        *q = a * sin_t[i] + b * cos_t[i];
    }
}
