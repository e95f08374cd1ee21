/* SPDX-License-Identifier: Apache-2.0 */
/* From plan to file: header, data in one streaming pass, digests, the check of what was written, OUT.sha256.
 * docs/format.md. */
#ifndef TERNPACK_PACK_EMIT_H
#define TERNPACK_PACK_EMIT_H

#include <stdint.h>

#include "base/format/gguf.h"
#include "base/util/digest.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "kernels/kernels.h"
#include "pack/encode.h"
#include "pack/plan.h"

struct emit_tensor {
    struct encode_sums sums;
    struct digest_result digest;
};

struct emit {
    const struct plan *plan;
    struct gguf_writer *writer;
    struct emit_tensor *tensors; /* as many as the plan has; filled by emit_run */
    uint64_t file_bytes;         /* planned, and then written */
    uint8_t sha256[32];          /* of the file; set by emit_run */
    bool done;
};

/* Header and sizes, nothing on disk yet. The digests of source and statistics come from the plan. */
int emit_open(struct emit *e, const struct plan *plan, struct error *err);
void emit_close(struct emit *e); /* an unfinished file is removed; accepts a zero struct */

/* Refusals that need no work: output equal to an input, folder not writable, too little space for `bytes`, output there
 * without --force. Touches nothing. */
int emit_check_output(const struct pack_options *o, uint64_t bytes, struct error *err);

/* Write OUT and then OUT.sha256. A failure before OUT is complete and checked changes neither. */
int emit_run(struct emit *e, const struct kernels *k, struct pool *pool, struct progress *progress, struct error *err);

#endif
