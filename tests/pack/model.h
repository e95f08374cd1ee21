/* SPDX-License-Identifier: Apache-2.0 */
/* Toy models for the tests of tern-pack: a few tensors with canonical names, filled by a seeded generator. */
#ifndef TERNPACK_TESTS_PACK_MODEL_H
#define TERNPACK_TESTS_PACK_MODEL_H

#include <stdint.h>

#include "base/util/error.h"

enum model_values {
    MODEL_GAUSSIAN,
    MODEL_TERNARY, /* {-s, 0, +s}, one s per `group` weights, an fp16 value */
    MODEL_ZERO,
    MODEL_TINY, /* normal, about 1e-10 */
};
struct model_tensor {
    const char *name;        /* NULL ends a list */
    uint32_t type;           /* BLOCK_F32, BLOCK_F16 or BLOCK_BF16 */
    uint64_t n_cols, n_rows; /* n_rows 0: a vector */
    enum model_values values;
    uint64_t group;
    double poison; /* when not 0: the value of one weight, at row n_rows - 1, column 1 */
};

/* Write a GGUF with general.architecture, general.file_type 1, two more keys, and these tensors. `extra_key` (a string
 * key) may be NULL. */
int model_write(const char *path, const struct model_tensor *tensors, const char *extra_key, uint64_t seed,
                struct error *err);

#endif
