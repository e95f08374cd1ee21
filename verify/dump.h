/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a GGUF or safetensors file (or of a folder's shards) as text. */
#ifndef TERNPACK_VERIFY_DUMP_H
#define TERNPACK_VERIFY_DUMP_H

#include "base/util/error.h"
#include "base/util/mem.h"

/* Keys with types and values (long strings and arrays shortened), tensors with type, shape, offset and bytes. `tensor`
 * not NULL: only that tensor's line; ERROR_MISSING when there is none of that name. */
int dump_path(const char *path, const char *tensor, struct buffer *out, struct error *err);

#endif
