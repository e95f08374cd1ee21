/* SPDX-License-Identifier: Apache-2.0 */
/* What the codes, scales and values of one tensor say: codec_check's counts as problems with names and places. */
#ifndef TERNPACK_VERIFY_CODES_H
#define TERNPACK_VERIFY_CODES_H

#include <stdbool.h>

#include "base/format/gguf.h"
#include "kernels/codec.h"
#include "verify/report.h"

/* Errors: code 3, base-3 bytes no packer writes, scales or values that are NaN or infinite. Warning: negative scales of
 * ternary types (legal, but no packer writes them). Spare digits that are set decode alike: an error in files that
 * record digests (docs/format.md section 2.2 forbids them there), a note in others. */
void codes_report(const struct gguf_tensor *t, const struct codec_check *c, bool recorded, struct report *r);

#endif
