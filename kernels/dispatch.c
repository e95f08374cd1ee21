/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

#include <string.h>

#include "kernels/ref/scalar.h"
#include "kernels/x86/avx2.h"

#ifdef TERNPACK_AVX2
#include <cpuid.h>
#endif

#ifdef TERNPACK_AVX2
static bool has_avx2(void)
{
    unsigned a, b, c, d;
    __builtin_cpu_init(); /* the feature bits it reports include the operating system's consent */
    /* clang's builtin does not know f16c; its registers are AVX's, so the consent above covers it */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) &&
           (c & bit_F16C);
}
#endif

const struct kernels *kernels_at(unsigned i)
{
#ifdef TERNPACK_AVX2
    if (i == 1 && has_avx2())
        return &avx2_kernels;
#endif
    return i == 0 ? &scalar_kernels : NULL;
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
    /* avx2, many tokens: 32 rows of codes and one more (33 n), scales of 33 rows and sums of 4 tokens (37 * 4 bytes a
     * 64-block); few tokens: 4 rows, 4 scales, 8 sums and 8 reordered tokens (13 n). Both lie below 36 n. */
    return 36 * n_cols + 256;
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
