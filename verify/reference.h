/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where --against reads its weights: a GGUF file, or the safetensors of a Hugging Face folder under GGUF names and in
 * GGUF row order. Immutable after opening; several threads may read.
 */
#ifndef TERNPACK_VERIFY_REFERENCE_H
#define TERNPACK_VERIFY_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/format/safetensors.h"
#include "base/util/error.h"

enum { REFERENCE_CHUNK = 65536 }; /* elements at most in one read; a multiple of every block */

struct reference {
    bool folder;
    const char *prefix; /* folder: of its tensor names */
    struct gguf gguf;
    struct st_model model;
    uint32_t n_head, n_head_kv; /* folder: heads whose Q and K rows are interleaved, 0: none */
};

/* One tensor of the reference. */
struct reference_tensor {
    const struct gguf_tensor *gguf; /* one of the two */
    const struct st_tensor *st;
    uint64_t ne[4], n_elements; /* as in GGUF: fastest first */
    uint32_t heads;             /* rows are interleaved within each of so many heads; 0: as they are */
};

/* like: the file under test; its keys tell whether Q and K rows were reordered. */
int reference_open(struct reference *r, const char *path, const struct gguf *like, struct error *err);
void reference_close(struct reference *r);

/* By GGUF name. False when there is none. ERROR_UNSUPPORTED for types that cannot be decoded comes from reference_read.
 */
bool reference_find(const struct reference *r, const char *name, struct reference_tensor *out);
bool reference_decodes(const struct reference_tensor *t);
/* GGUF name of tensor i of the reference, in file order; NULL for names of a folder that map to nothing. */
const char *reference_name(const struct reference *r, size_t i, char buf[64]);
size_t reference_count(const struct reference *r);

/* Elements [first, first + n) in GGUF order as floats, n <= REFERENCE_CHUNK, both multiples of the block (or to the
 * end). raw: scratch of 8 * REFERENCE_CHUNK bytes. */
int reference_read(const struct reference *r, const struct reference_tensor *t, uint64_t first, uint64_t n, void *raw,
                   float *out, struct error *err);

#endif
