/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: which tensor of the checkpoint becomes which tensor of the file, in what type and shape. Made from headers
 * alone (except for the comparison of a stored output head with the tied embedding), before anything is written;
 * writing follows it literally. The order is the roles' order, so single and sharded checkpoints give the same file.
 */
#ifndef TERNPACK_CONVERT_PLAN_H
#define TERNPACK_CONVERT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/safetensors.h"
#include "base/model/roles.h"
#include "convert/config.h"
#include "convert/extras.h"
#include "convert/notes.h"
#include "convert/options.h"

struct plan_tensor {
    enum role role;
    char name[64];               /* in the file */
    const struct st_tensor *src; /* NULL: computed, see `values` */
    const float *values;         /* n_elements; owned by the plan */
    uint32_t type;               /* BLOCK_F32, BLOCK_F16 or BLOCK_BF16 */
    uint32_t n_dims;
    uint64_t ne[2]; /* fastest first */
    uint64_t n_elements;
    uint32_t permute_head; /* rows are regrouped within heads of this many rows; 0: rows as they are */
};

struct plan_dropped {
    const char *name, *why; /* borrowed from the checkpoint; constant */
};

struct plan {
    struct plan_tensor *tensors;
    size_t n_tensors;
    struct plan_dropped *dropped;
    size_t n_dropped;
    uint64_t n_params, data_bytes; /* data_bytes: without padding */
    uint32_t file_type;            /* general.file_type: the type most matrix elements have */
    bool tied;                     /* no output.weight */
    float *rope_freqs;
};

/* ERROR_MISMATCH, ERROR_MISSING, ERROR_UNSUPPORTED, ERROR_FORMAT: one line that names the tensor. On failure *p is
 * freed. */
int plan_make(struct plan *p, const struct config *c, const struct st_model *m, const struct convert_options *o,
              struct extras *extras, struct notes *notes, struct error *err);
/* Plan of a file without tensors (--vocab-only). */
void plan_make_empty(struct plan *p, const struct config *c, const struct convert_options *o);
void plan_free(struct plan *p); /* accepts a zero struct */

#endif
