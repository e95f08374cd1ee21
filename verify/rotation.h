/* SPDX-License-Identifier: Apache-2.0 */
/* Rotated weights: the prism.hadamard.* keys. */
#ifndef TERNPACK_VERIFY_ROTATION_H
#define TERNPACK_VERIFY_ROTATION_H

#include <stdbool.h>

#include "base/format/gguf.h"
#include "verify/report.h"

/* True when the file has any prism.hadamard.* key. The keys are checked: version, transform, axis, sign mode, block
 * size against every listed tensor, sign vectors for every width. Problems are errors in the report. */
bool rotation_check(const struct gguf *g, struct report *r);

#endif
