/* SPDX-License-Identifier: Apache-2.0 */
/* Checksum lists in sha256sum's format: "HEX  NAME" (or "HEX *NAME"; a leading '\' escapes \n, \r and \\ in NAME). */
#ifndef TERNPACK_BASE_FORMAT_MANIFEST_H
#define TERNPACK_BASE_FORMAT_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/mem.h"

struct manifest_entry {
    const char *name;
    uint8_t sha256[32];
    size_t line; /* 1-based */
};
struct manifest {
    struct manifest_entry *entries;
    size_t n;
    size_t n_malformed; /* lines that are no entry; comments (#) and blank lines are not counted */
    struct arena arena;
};
/* Malformed lines are counted, not fatal; a list without any entry is ERROR_FORMAT. Binary or > 64 MiB: ERROR_FORMAT.
 */
int manifest_read(struct manifest *m, const char *path, struct error *err);
void manifest_free(struct manifest *m);
/* One line (with newline) appended to b, escaped as sha256sum does. */
int manifest_line(struct buffer *b, const uint8_t sha256[32], const char *name, struct error *err);

#endif
