/* SPDX-License-Identifier: Apache-2.0 */
/* What a file that is not what its name says really is, from its first bytes. */
#ifndef TERNPACK_BASE_FORMAT_SNIFF_H
#define TERNPACK_BASE_FORMAT_SNIFF_H

#include <stdbool.h>
#include <stddef.h>

enum { SNIFF_BYTES = 512 }; /* how many first bytes it helps to have */

/* Words for the error line ("a Git LFS pointer: ...") in buf; false when the bytes look like nothing known. */
bool sniff_bytes(const void *bytes, size_t n, char *buf, size_t cap);

#endif
