/* SPDX-License-Identifier: Apache-2.0 */
/* Digests: SHA-256 (libcrypto), XXH3-64 seed 0 (xxHash), CRC-32 (zlib), in one pass over the bytes. */
#ifndef TERNPACK_BASE_UTIL_DIGEST_H
#define TERNPACK_BASE_UTIL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"

enum { DIGEST_SHA256 = 1, DIGEST_XXH3 = 2, DIGEST_CRC32 = 4 };

struct digest; /* running state; one thread at a time */
struct digest_result {
    uint8_t sha256[32];
    uint64_t xxh3;
    uint32_t crc32;
};

int digest_open(struct digest **d, unsigned which, struct error *err);
void digest_reset(struct digest *d);
void digest_update(struct digest *d, const void *bytes, size_t n);
void digest_result(struct digest *d, struct digest_result *out); /* the state may go on afterwards */
void digest_close(struct digest *d);                             /* NULL is fine */

/* Whole buffer, whole file (streamed in 1 MiB reads, checks for an interrupt). */
int digest_bytes(unsigned which, const void *bytes, size_t n, struct digest_result *out, struct error *err);
int digest_file(unsigned which, const char *path, struct digest_result *out, struct error *err);

void digest_hex(const uint8_t *bytes, size_t n, char *hex);  /* 2n lower-case digits and a NUL */
int digest_unhex(const char *hex, uint8_t *bytes, size_t n); /* exactly 2n digits; 0 or ERROR_FORMAT */

#endif
