/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the data of a GGUF file's tensors: digests, codes and values from the same bytes, in chunks of 1 MiB,
 * tensors in parallel. Also looks at the padding after each tensor.
 */
#ifndef TERNPACK_VERIFY_PASS_H
#define TERNPACK_VERIFY_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/util/digest.h"
#include "base/util/error.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "kernels/codec.h"

struct pass_tensor {
    bool wanted;  /* in: look at this tensor; its bytes must lie within the file */
    bool read;    /* out: all bytes were read; what follows is valid */
    bool decoded; /* out: `check` is filled (codec_check knows the type) */
    struct codec_check check;
    struct digest_result digest;
    uint64_t bad_padding; /* file offset of the first byte of padding that is not zero, UINT64_MAX: none */
};

/* results: one for each tensor of g, `wanted` set by the caller. which: DIGEST_* bits, 0 for none. An I/O error (or an
 * interrupt) of the first tensor that has one is returned. */
int pass_run(const struct gguf *g, struct pass_tensor *results, unsigned which, struct pool *pool,
             struct progress *progress, struct error *err);

/* First byte in [from, to) of the file that is not zero: *where, UINT64_MAX when all are. */
int pass_find_nonzero(const struct file *f, uint64_t from, uint64_t to, uint64_t *where, struct error *err);

#endif
