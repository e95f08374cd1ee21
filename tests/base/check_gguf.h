/* SPDX-License-Identifier: Apache-2.0 */
/* Making GGUF bytes by hand, so that the reader is not only tested with what the writer writes. */
#ifndef TERNPACK_TESTS_CHECK_GGUF_H
#define TERNPACK_TESTS_CHECK_GGUF_H

#include <check.h>
#include <stdint.h>

#include "base/format/gguf.h"

void raw_u32(struct buffer *b, uint32_t v);
void raw_u64(struct buffer *b, uint64_t v);
void raw_str(struct buffer *b, const char *s);
void raw_start(struct buffer *b, uint32_t version, uint64_t n_tensors, uint64_t n_kv);
void raw_kv_u32(struct buffer *b, const char *key, uint32_t v);
/* One-dimensional tensor info. */
void raw_tensor(struct buffer *b, const char *name, uint32_t type, uint64_t ne, uint64_t offset);
/* Zeros up to a multiple of `align`, then `data` more zero bytes. */
void raw_finish(struct buffer *b, size_t align, size_t data);
const char *raw_save(const struct buffer *b); /* to a temporary file */
/* Open what was built: expects `code` and, on failure, `part` in the text. Releases the buffer. */
void raw_expect(struct buffer *b, int code, const char *part);

TCase *gguf_write_tests(void);

#endif
