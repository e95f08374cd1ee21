/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to indices: an open-addressing table, seeded per table so that a hostile file cannot aim at one chain. Keys are
 * borrowed and must outlive the table. Lookups may run on several threads once nothing is added any more.
 */
#ifndef TERNPACK_BASE_FORMAT_NAMES_H
#define TERNPACK_BASE_FORMAT_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"

struct names_slot;
struct names { /* zero-initialise */
    struct names_slot *slots;
    size_t n, cap; /* cap is 0 or a power of two */
    uint64_t seed;
};

#define NAMES_NONE SIZE_MAX

/* Add key -> value. 0 added; 1 the key is there already (nothing changes); ERROR_NOMEM. */
int names_add(struct names *t, const char *key, size_t value, struct error *err);
size_t names_find(const struct names *t, const char *key); /* NAMES_NONE when absent */
void names_free(struct names *t);

#endif
