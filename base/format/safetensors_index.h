/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the safetensors reader, shared by its two files. */
#ifndef TERNPACK_BASE_FORMAT_SAFETENSORS_INDEX_H
#define TERNPACK_BASE_FORMAT_SAFETENSORS_INDEX_H

#include "base/format/names.h"
#include "base/format/safetensors.h"

struct st_index {
    struct names names;    /* to positions in st_model.tensors */
    size_t cap, shard_cap; /* room in tensors and shards */
};

int st_index_init(struct st_model *m, struct error *err);
/* Open one more file and add its tensors; a name that an earlier file holds is ERROR_FORMAT. */
int st_add_shard(struct st_model *m, const char *path, struct error *err);

#endif
