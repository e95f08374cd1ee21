/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checked memory. Sizes are products of two counts and overflow is an error, never a wrap. All functions are
 * thread-safe. Memory from mem_* is released with mem_free (NULL is fine); aligned memory too.
 */
#ifndef TERNPACK_BASE_UTIL_MEM_H
#define TERNPACK_BASE_UTIL_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"

/* *out = a*b or a+b; false (and *out = 0) on overflow. */
bool mem_mul(uint64_t a, uint64_t b, uint64_t *out);
bool mem_add(uint64_t a, uint64_t b, uint64_t *out);
/* Round n up to a multiple of the power of two `align`; false on overflow. */
bool mem_align_up(uint64_t n, uint64_t align, uint64_t *out);

/* n*size bytes, zeroed, or NULL with err set (ERROR_NOMEM, text says how many bytes for `what`). n*size == 0 gives a
 * valid one-byte block. mem_aligned: address a multiple of 64. */
void *mem_zalloc(uint64_t n, size_t size, const char *what, struct error *err);
void *mem_aligned(uint64_t n, size_t size, const char *what, struct error *err);
/* Grow or shrink *ptr to n*size bytes; on failure *ptr stays valid. Returns 0 or ERROR_NOMEM. */
int mem_resize(void **ptr, uint64_t n, size_t size, const char *what, struct error *err);
/* Make room for `need` items in a growing array (*ptr, *cap items of `size`), doubling. */
int mem_reserve(void **ptr, size_t *cap, size_t need, size_t size, const char *what, struct error *err);
void mem_free(void *ptr);
char *mem_strdup(const char *s, struct error *err);
char *mem_strndup(const char *s, size_t n, struct error *err); /* copies n bytes, adds a NUL */

/* Arena: many small objects, one release. Not thread-safe. Zero-initialise, then arena_alloc; arena_free at the end. */
struct arena {
    struct arena_block *head;
    size_t used; /* bytes handed out of head */
};
void *arena_alloc(struct arena *a, uint64_t n, size_t size, struct error *err); /* zeroed, 16-aligned */
char *arena_strndup(struct arena *a, const char *s, size_t n, struct error *err);
void arena_free(struct arena *a);

/* Growing byte buffer with a trailing NUL that is not counted. Zero-initialise. */
struct buffer {
    char *data;
    size_t len, cap;
};
int buffer_append(struct buffer *b, const void *bytes, size_t n, struct error *err);
int buffer_printf(struct buffer *b, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void buffer_free(struct buffer *b);

#endif
