/* SPDX-License-Identifier: Apache-2.0 */
/* Small GGUF files for the tests of tern-verify: two tensors, with or without digests, and a way to spoil one byte. */
#ifndef TERNPACK_TESTS_VERIFY_BUILD_H
#define TERNPACK_TESTS_VERIFY_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "verify/report.h"

struct build {
    bool digests;         /* write the ternpack.* keys */
    uint32_t version;     /* of ternpack.version; 0: 1 */
    const char *omit;     /* leave this key out */
    const char *bad_name; /* recorded name of the second tensor */
    bool short_list;      /* ternpack.tensor.xxh3 with one element too few */
    bool wrong_xxh3;      /* of the first tensor */
};

/* "a.weight": 2 rows of 64 weights, Q2_0 (36 bytes, then 28 of padding); "b.weight": 5 F32 values. */
void build_file(const char *path, const struct build *how);

/* Where the first byte of a tensor is. */
uint64_t build_offset(const char *path, const char *tensor);
void build_xor(const char *path, uint64_t offset, uint8_t mask);
void build_cut(const char *path, uint64_t size);
void build_append(const char *path, const void *bytes, size_t n);

/* verify_path on one file; the report is freed by the caller. */
void build_check(struct report *r, const char *path);
/* True when some problem's "where: text" holds the words. */
bool build_says(const struct report *r, const char *words);

#endif
