/* SPDX-License-Identifier: Apache-2.0 */
/* The streaming pass: pieces of tensors are read in order, encoded on any thread, and written in order. */
#ifndef TERNPACK_PACK_STREAM_H
#define TERNPACK_PACK_STREAM_H

#include "pack/emit.h"

/* Memory: a few pieces of STREAM_WEIGHTS weights per thread, whatever the model's size. The cut into pieces does not
 * depend on the number of threads. Fills results [plan->n]. */
enum { STREAM_WEIGHTS = 1 << 18 };
int stream_tensors(const struct plan *plan, struct gguf_writer *writer, const struct kernels *k, struct pool *pool,
                   struct progress *progress, struct emit_tensor *results, struct error *err);

#endif
