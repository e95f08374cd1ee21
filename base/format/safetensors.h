/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors, one file or an indexed folder. Stricter than the reference library: duplicate names,
 * holes, overlaps, trailing bytes, a header that does not begin with '{' are refused.
 * Only headers are held in memory. Immutable after opening; several threads may read.
 */
#ifndef TERNPACK_BASE_FORMAT_SAFETENSORS_H
#define TERNPACK_BASE_FORMAT_SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/file.h"
#include "base/util/mem.h"

enum st_dtype { /* in the reference's order */
                ST_BOOL,
                ST_F4,
                ST_F6_E2M3,
                ST_F6_E3M2,
                ST_U8,
                ST_I8,
                ST_F8_E5M2,
                ST_F8_E4M3,
                ST_F8_E8M0,
                ST_F8_E4M3FNUZ,
                ST_F8_E5M2FNUZ,
                ST_I16,
                ST_U16,
                ST_F16,
                ST_BF16,
                ST_I32,
                ST_U32,
                ST_F32,
                ST_C64,
                ST_F64,
                ST_I64,
                ST_U64,
};
const char *st_dtype_name(enum st_dtype d);
unsigned st_dtype_bits(enum st_dtype d);

enum { ST_MAX_DIMS = 8 };

struct st_tensor {
    const char *name; /* NUL-terminated; holds no NUL */
    enum st_dtype dtype;
    uint32_t n_dims;
    uint64_t shape[ST_MAX_DIMS]; /* row-major: slowest first */
    uint64_t n_elements, bytes;
    uint64_t offset; /* absolute in its file */
    uint32_t shard;  /* index into st_model.shards */
};

struct st_shard {
    struct file file;
    size_t n_tensors;
};

struct st_model {
    struct st_shard *shards;
    size_t n_shards;
    struct st_tensor *tensors; /* sorted by shard, then offset */
    size_t n_tensors;
    const char **absent; /* listed by the index, held by no shard, left out (see st_open_dir_except) */
    size_t n_absent;
    struct st_index *index; /* private */
    struct arena arena;
};

/* One file. Recognises LFS pointers, HTML pages, zip/pickle files and says so. */
int st_open_file(struct st_model *m, const char *path, struct error *err);
/* A Hugging Face folder: model.safetensors, or model.safetensors.index.json and its shards. The index and the shards
 * must agree exactly; shard names are plain names inside the folder. ERROR_MISSING names every absent shard; a folder
 * with only pytorch_model.bin says to re-save as safetensors. */
int st_open_dir(struct st_model *m, const char *dir, struct error *err);
/* The same, but the index and the shards may differ in tensors whose names leave_out() accepts, and shards that should
 * hold nothing else may be absent. Such tensors are in *m when a shard holds them. NULL: as st_open_dir. */
typedef bool st_leave_out(void *ctx, const char *tensor);
int st_open_dir_except(struct st_model *m, const char *dir, st_leave_out *leave_out, void *ctx, struct error *err);
void st_close(struct st_model *m);
const struct st_tensor *st_find(const struct st_model *m, const char *name); /* O(1) */
/* n elements starting at `first` (byte-aligned dtypes only), raw bytes. */
int st_read(const struct st_model *m, const struct st_tensor *t, uint64_t first, uint64_t n, void *buf,
            struct error *err);

/* Header parser alone, for fuzzing: the JSON text and the size of the data that follows. `name` starts error texts. */
int st_parse_header(struct st_model *m, const char *json, size_t n, uint64_t data_bytes, uint64_t data_offset,
                    const char *name, struct error *err);

#endif
