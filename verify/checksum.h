/* SPDX-License-Identifier: Apache-2.0 */
/* The digests inside a packed file: the keys ternpack.* of docs/format.md sections 3 to 5. */
#ifndef TERNPACK_VERIFY_CHECKSUM_H
#define TERNPACK_VERIFY_CHECKSUM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "verify/pass.h"
#include "verify/report.h"

struct checksum_recorded {
    uint64_t xxh3;
    uint8_t sha256[32];
};

struct checksum {
    bool present;                       /* some key of the set is there */
    struct checksum_recorded *recorded; /* one for each tensor, or NULL when the lists cannot be used */
};

/* Find and check the lists: version, types, lengths, names against tensors; then the header's CRC-32. Whatever is wrong
 * or partial goes into the report as an error. Only ERROR_NOMEM and the like are returned. */
int checksum_read(struct checksum *c, const struct gguf *g, struct report *r, struct error *err);
void checksum_free(struct checksum *c);

/* Compare what was found with what is recorded: one error for each tensor that differs, in file order. */
void checksum_compare(const struct checksum *c, const struct gguf *g, const struct pass_tensor *results,
                      struct report *r);

#endif
