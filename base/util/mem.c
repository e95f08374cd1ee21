/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/mem.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mem_mul(uint64_t a, uint64_t b, uint64_t *out)
{
    if (!__builtin_mul_overflow(a, b, out))
        return true;
    *out = 0;
    return false;
}

bool mem_add(uint64_t a, uint64_t b, uint64_t *out)
{
    if (!__builtin_add_overflow(a, b, out))
        return true;
    *out = 0;
    return false;
}

bool mem_align_up(uint64_t n, uint64_t align, uint64_t *out)
{
    if (!mem_add(n, align - 1, out))
        return false;
    *out &= ~(align - 1);
    return true;
}

/* Bytes of n items, or false with err set. No object may exceed PTRDIFF_MAX. */
static bool total(uint64_t n, size_t size, const char *what, size_t *bytes, struct error *err)
{
    uint64_t t;
    if (!mem_mul(n, size, &t) || t > PTRDIFF_MAX - 64) {
        error_set(err, ERROR_NOMEM, "%s: %" PRIu64 " items of %zu bytes do not fit in memory", what, n, size);
        return false;
    }
    *bytes = t ? (size_t)t : 1;
    return true;
}

static void refuse(size_t bytes, const char *what, struct error *err)
{
    error_set(err, ERROR_NOMEM, "out of memory: %s needs %zu bytes", what, bytes);
}

void *mem_zalloc(uint64_t n, size_t size, const char *what, struct error *err)
{
    size_t bytes;
    if (!total(n, size, what, &bytes, err))
        return NULL;
    void *p = calloc(1, bytes);
    if (!p)
        refuse(bytes, what, err);
    return p;
}

void *mem_aligned(uint64_t n, size_t size, const char *what, struct error *err)
{
    size_t bytes;
    if (!total(n, size, what, &bytes, err))
        return NULL;
    bytes = (bytes + 63) & ~(size_t)63;
    void *p = aligned_alloc(64, bytes);
    if (p)
        memset(p, 0, bytes);
    else
        refuse(bytes, what, err);
    return p;
}

int mem_resize(void **ptr, uint64_t n, size_t size, const char *what, struct error *err)
{
    size_t bytes;
    if (!total(n, size, what, &bytes, err))
        return ERROR_NOMEM;
    void *p = realloc(*ptr, bytes);
    if (!p) {
        refuse(bytes, what, err);
        return ERROR_NOMEM;
    }
    *ptr = p;
    return 0;
}

int mem_reserve(void **ptr, size_t *cap, size_t need, size_t size, const char *what, struct error *err)
{
    if (need <= *cap)
        return 0;
    size_t want = *cap < 8 ? 8 : *cap;
    while (want < need)
        if (__builtin_mul_overflow(want, (size_t)2, &want))
            want = need;
    int code = mem_resize(ptr, want, size, what, err);
    if (!code)
        *cap = want;
    return code;
}

void mem_free(void *ptr)
{
    free(ptr);
}

char *mem_strndup(const char *s, size_t n, struct error *err)
{
    if (n == SIZE_MAX) {
        error_set(err, ERROR_NOMEM, "a string of %zu bytes does not fit in memory", n);
        return NULL;
    }
    char *p = mem_zalloc(n + 1, 1, "a string", err);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

char *mem_strdup(const char *s, struct error *err)
{
    return mem_strndup(s, strlen(s), err);
}

/* Blocks form a list, newest first; a request larger than what is left opens a new block. */
struct arena_block {
    struct arena_block *next;
    size_t cap;
    _Alignas(16) unsigned char bytes[];
};

enum { ARENA_BLOCK = 65536 };

void *arena_alloc(struct arena *a, uint64_t n, size_t size, struct error *err)
{
    size_t bytes;
    if (!total(n, size, "arena", &bytes, err))
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->head || a->head->cap - a->used < bytes) {
        size_t cap = bytes > ARENA_BLOCK ? bytes : ARENA_BLOCK;
        struct arena_block *b = mem_zalloc(1, sizeof *b + cap, "arena", err);
        if (!b)
            return NULL;
        b->cap = cap;
        b->next = a->head;
        a->head = b;
        a->used = 0;
    }
    void *p = a->head->bytes + a->used;
    a->used += bytes;
    return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n, struct error *err)
{
    char *p = arena_alloc(a, (uint64_t)n + 1, 1, err);
    if (p && n)
        memcpy(p, s, n);
    return p;
}

void arena_free(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
    a->used = 0;
}

static int buffer_room(struct buffer *b, size_t n, struct error *err)
{
    size_t need;
    if (__builtin_add_overflow(b->len, n, &need) || __builtin_add_overflow(need, (size_t)1, &need))
        return error_set(err, ERROR_NOMEM, "a buffer of %zu + %zu bytes does not fit in memory", b->len, n);
    void *p = b->data;
    int code = mem_reserve(&p, &b->cap, need, 1, "buffer", err);
    b->data = p;
    return code;
}

int buffer_append(struct buffer *b, const void *bytes, size_t n, struct error *err)
{
    int code = buffer_room(b, n, err);
    if (code)
        return code;
    if (n)
        memcpy(b->data + b->len, bytes, n);
    b->len += n;
    b->data[b->len] = 0;
    return 0;
}

int buffer_printf(struct buffer *b, struct error *err, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    int code = n < 0 ? error_set(err, ERROR_INTERNAL, "cannot format a text") : buffer_room(b, (size_t)n, err);
    if (!code) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    va_end(args);
    return code;
}

void buffer_free(struct buffer *b)
{
    free(b->data);
    *b = (struct buffer){ 0 };
}
