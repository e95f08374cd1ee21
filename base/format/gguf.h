/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GGUF v3 (v2 is read): the one container of all model files.
 *
 * Reading checks everything before use: counts against the bytes that remain, products and sums for overflow, names and
 * keys unique and non-empty, lengths capped, UTF-8 of strings, offsets equal to the running sum of padded sizes, last
 * tensor within the file. Every failure is ERROR_FORMAT (ERROR_UNSUPPORTED for a known id that is retired or unknown
 * types: the text says "type N") with file name, key or tensor, and byte offset. Nothing is allocated before its size
 * was checked. Only the header is held in memory; tensor data is read by the caller through `file`. A struct gguf is
 * immutable after gguf_open and may be read by several threads.
 */
#ifndef TERNPACK_BASE_FORMAT_GGUF_H
#define TERNPACK_BASE_FORMAT_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/block.h"
#include "base/util/error.h"
#include "base/util/file.h"
#include "base/util/mem.h"

enum gguf_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
};
const char *gguf_type_name(enum gguf_type t); /* "u32", "string", ... */

enum { GGUF_MAX_DIMS = 4, GGUF_MAX_NAME = 63 };

struct gguf_str {
    const char *s; /* borrowed, not NUL-terminated */
    size_t n;
};

struct gguf_kv {
    const char *key; /* NUL-terminated copy; never holds a NUL itself */
    enum gguf_type type;
    enum gguf_type elem; /* of an array; the type itself otherwise */
    uint64_t count;      /* array elements; 1 for scalars */
    const uint8_t
        *value;         /* packed little-endian bytes of the scalar, the string's length field, or the first element */
    size_t value_bytes; /* bytes from `value` to the end of this value */
    uint64_t offset;    /* file offset of `value` */
};

struct gguf_tensor {
    const char *name; /* NUL-terminated */
    uint32_t n_dims;
    uint64_t ne[GGUF_MAX_DIMS]; /* fastest first; unused dims are 1 */
    uint32_t type;
    const struct block_info *info;
    uint64_t offset; /* absolute file offset of the data */
    uint64_t n_rows; /* ne[1]*ne[2]*ne[3] */
    uint64_t row_bytes;
    uint64_t bytes; /* unpadded */
    uint64_t n_elements;
};

struct gguf {
    struct file file;
    uint32_t version;
    uint32_t alignment;
    uint64_t data_offset; /* first byte after header padding */
    size_t n_kv, n_tensors;
    struct gguf_kv *kv;
    struct gguf_tensor *tensors; /* file order */
    struct gguf_index *index;    /* private: names to tensors and keys */
    uint8_t *header;             /* bytes [0, data_offset) of the file */
    struct arena arena;
};

/* file_flags: FILE_MAP to have g->file.map for zero-copy tensor data. On failure *g is closed and zero. The flag below
 * leaves out the check that tensor data lies within the file (tern-verify reports that itself, per tensor). */
enum { GGUF_ALLOW_TRUNCATED = 1 << 16 };
int gguf_open(struct gguf *g, const char *path, unsigned file_flags, struct error *err);
void gguf_close(struct gguf *g); /* accepts a zero struct */

const struct gguf_kv *gguf_find(const struct gguf *g, const char *key); /* NULL when absent; O(1) */
const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name);

/* Typed values. need: ERROR_FORMAT when absent or of another type ("model.gguf: general.architecture: expected string,
 * found u32"). opt: absent leaves *out, returns 0. u32 accepts any non-negative integer scalar that fits (also i32,
 * u64). */
int gguf_need_u32(const struct gguf *g, const char *key, uint32_t *out, struct error *err);
int gguf_opt_u32(const struct gguf *g, const char *key, uint32_t *out, struct error *err);
int gguf_need_f32(const struct gguf *g, const char *key, float *out, struct error *err); /* f32 or f64 */
int gguf_opt_f32(const struct gguf *g, const char *key, float *out, struct error *err);
int gguf_opt_bool(const struct gguf *g, const char *key, bool *out, struct error *err);
int gguf_need_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err);
int gguf_opt_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err);
/* Array of a given element type; ERROR_FORMAT otherwise. Numbers: read with bytes_get_* at kv->value + i*size. */
int gguf_need_array(const struct gguf *g, const char *key, enum gguf_type elem, const struct gguf_kv **out,
                    struct error *err);
/* Walk a string array: *cursor starts at 0; false at the end. Also works on a scalar string (one element). */
bool gguf_next_str(const struct gguf_kv *kv, size_t *cursor, struct gguf_str *out);
size_t gguf_scalar_size(enum gguf_type t); /* 0 for strings and arrays */

/* Rows [first, first+n) of a tensor into buf (n*row_bytes bytes). */
int gguf_read_rows(const struct gguf *g, const struct gguf_tensor *t, uint64_t first, uint64_t n, void *buf,
                   struct error *err);

/* ---- writing ---------------------------------------------------------------------------------------------------
 * Plan first (keys in the order added, then tensors in order), then stream the data of each tensor in that order. The
 * header is written at gguf_writer_begin; fixed-size values in it (numbers, strings of the same length) may be changed
 * until commit with gguf_writer_patch_*. Not thread-safe.
 */
struct gguf_writer;

int gguf_writer_new(struct gguf_writer **out, uint32_t alignment, struct error *err); /* 32 is the usual one */
void gguf_writer_free(struct gguf_writer *w); /* aborts an unfinished file; NULL is fine */

/* A repeated key or an empty one is ERROR_INTERNAL. Values are copied. */
int gguf_put_u32(struct gguf_writer *w, const char *key, uint32_t v, struct error *err);
int gguf_put_u64(struct gguf_writer *w, const char *key, uint64_t v, struct error *err);
int gguf_put_i32(struct gguf_writer *w, const char *key, int32_t v, struct error *err);
int gguf_put_f32(struct gguf_writer *w, const char *key, float v, struct error *err);
int gguf_put_f64(struct gguf_writer *w, const char *key, double v, struct error *err);
int gguf_put_bool(struct gguf_writer *w, const char *key, bool v, struct error *err);
int gguf_put_str(struct gguf_writer *w, const char *key, const char *s, size_t n, struct error *err);
int gguf_put_strs(struct gguf_writer *w, const char *key, const struct gguf_str *s, size_t n, struct error *err);
/* Numeric array; `values` are host-order items of gguf_scalar_size(elem). */
int gguf_put_array(struct gguf_writer *w, const char *key, enum gguf_type elem, const void *values, size_t n,
                   struct error *err);
int gguf_put_copy(struct gguf_writer *w, const struct gguf_kv *kv, struct error *err); /* same key, same bytes */
bool gguf_writer_has(const struct gguf_writer *w, const char *key);

/* Trailing dims of 1 are dropped. ERROR_FORMAT: name too long or repeated, dims, row not divisible by the block. */
int gguf_put_tensor(struct gguf_writer *w, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *ne,
                    struct error *err);

uint64_t gguf_writer_size(const struct gguf_writer *w); /* total file bytes of what is planned so far */

int gguf_writer_begin(struct gguf_writer *w, const char *path, bool force, struct error *err);
/* Bytes of the current tensor; any number of calls; padding is added when it is full and the next one starts. More than
 * planned is ERROR_INTERNAL. */
int gguf_writer_data(struct gguf_writer *w, const void *bytes, size_t n, struct error *err);
/* Overwrite a value: element `index` of a string array or a scalar string (same length), or of a numeric array/scalar.
 */
int gguf_writer_patch_str(struct gguf_writer *w, const char *key, size_t index, const char *s, size_t n,
                          struct error *err);
int gguf_writer_patch_num(struct gguf_writer *w, const char *key, size_t index, const void *value, struct error *err);
/* The header as it stands (borrowed, valid until the next call) and the offset of a key's value in it. */
const uint8_t *gguf_writer_header(const struct gguf_writer *w, size_t *n);
int64_t gguf_writer_value_offset(const struct gguf_writer *w, const char *key); /* -1 when absent */
/* All tensors complete, header rewritten when patched, fsync, rename. ERROR_INTERNAL when data is missing. */
int gguf_writer_commit(struct gguf_writer *w, struct error *err);
/* Read back data already written: bytes of tensor i. */
int gguf_writer_read_back(struct gguf_writer *w, size_t tensor, uint64_t off, void *buf, size_t n, struct error *err);

#endif
