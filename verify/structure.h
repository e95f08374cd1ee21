/* SPDX-License-Identifier: Apache-2.0 */
/* A GGUF file: what its header says, where its tensors lie, who can open it; then the pass over the data. */
#ifndef TERNPACK_VERIFY_STRUCTURE_H
#define TERNPACK_VERIFY_STRUCTURE_H

#include "verify/report.h"
#include "verify/verify.h"

/* Everything that can be said about a GGUF file goes into the report; a returned code means the check itself stopped
 * (interrupt, memory). Statistics files (general.type "imatrix") are recognised. */
int structure_check(const char *path, const struct verify *v, struct report *r, struct error *err);

#endif
