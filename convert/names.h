/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor names of Hugging Face checkpoints and what each tensor is for. */
#ifndef TERNPACK_CONVERT_NAMES_H
#define TERNPACK_CONVERT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/format/safetensors.h"
#include "base/model/hfnames.h"
#include "base/model/roles.h"
#include "convert/family.h"

enum names_use {
    NAMES_TENSOR,    /* has a role */
    NAMES_DROP,      /* safe to leave out; `why` says why */
    NAMES_QUANTISED, /* a part of a quantised weight; `why` names the quantiser */
    NAMES_UNKNOWN,
};

struct names_match {
    enum names_use use;
    enum role role;
    int layer; /* -1 when not per layer */
    const char *why;
};

/* The common prefix of the checkpoint's names ("model." for most), found by where the embedding is; NULL: no embedding.
 */
const char *names_prefix(const struct st_model *m);
/* `prefix` as above (NULL: the usual one). Q/K norms are known only to families that have them. */
struct names_match names_of(const struct family *f, const char *prefix, const char *name);
/* The known name closest to `name` (same layer number), or NULL when nothing is near. */
const char *names_nearest(const struct family *f, const char *prefix, const char *name, char buf[HFNAMES_MAX]);
/* Has the family this role? */
bool names_has_role(const struct family *f, enum role role);

#endif
