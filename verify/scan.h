/* SPDX-License-Identifier: Apache-2.0 */
/* Values of safetensors float data that are no numbers, and those that a float16 copy could not hold. */
#ifndef TERNPACK_VERIFY_SCAN_H
#define TERNPACK_VERIFY_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/safetensors.h"

struct scan {
    uint64_t nan, inf;
    uint64_t beyond_f16; /* finite, but |x| >= 65520, which rounds to infinity in F16 */
    uint64_t first_bad;  /* element index of the first NaN or infinity, UINT64_MAX: none */
};

void scan_init(struct scan *s);
bool scan_knows(enum st_dtype d); /* F16, BF16, F32, F64 */
/* n elements of a known dtype; base: index of the first one within the tensor. Counts are added. */
void scan_values(enum st_dtype d, const void *bytes, size_t n, uint64_t base, struct scan *s);

#endif
