/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/blas.h"

#include <cblas.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The best kernel set of OpenBLAS since 0.3.0 that this CPU can run; NULL: leave it as it is. */
static const char *wanted(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        return "SkylakeX";
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return "Haswell";
#endif
    return NULL;
}

void blas_choose(char **argv)
{
    static const char *const old[] = {
        "Generic", "Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Sandybridge"
    };
    const char *core = wanted();
    if (!core || getenv("OPENBLAS_CORETYPE"))
        return;
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        if (strcmp(old[i], openblas_get_corename()) || setenv("OPENBLAS_CORETYPE", core, 0))
            continue;
        execv("/proc/self/exe", argv);
        unsetenv("OPENBLAS_CORETYPE");
        return;
    }
}
