/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a document is held. json_scan() reads the text once, refuses what is not strict JSON and lists the values in the
 * order of the text; then cJSON parses the same text and each value in the list gets its cJSON item, which holds the
 * decoded key and string. Distances instead of pointers keep the list movable while it grows.
 */
#ifndef TERNPACK_BASE_UTIL_JSON_PRIVATE_H
#define TERNPACK_BASE_UTIL_JSON_PRIVATE_H

#include <cjson/cJSON.h>

#include "base/util/json.h"
#include "base/util/mem.h"

struct json {
    const cJSON *item;
    const uint32_t *index; /* hash table of the members, see json_index_size; NULL for small objects */
    uint64_t magnitude;    /* of an integer */
    uint32_t up, next; /* distance back to the parent, forward to the next sibling; 0: none. A first child is at +1 */
    uint32_t count;    /* members or elements */
    uint32_t offset;   /* in the text: of the value, for a member of its key */
    uint8_t kind;
    bool integer, negative; /* a number without fraction and exponent whose magnitude fits 64 bits */
};

struct json_doc {
    struct json *values; /* values[0] is the root */
    size_t n_values, cap;
    cJSON *tree;
    char *name;
    struct arena indexes;
};

/* cJSON's own nesting limit is 1000 and it copies at most 63 bytes of a number. */
enum { JSON_DEPTH_LIMIT = 1000, JSON_NUMBER_LIMIT = 63, JSON_SMALL_OBJECT = 32 };

/* Fill doc->values from the strict JSON text s[0..n). */
int json_scan(struct json_doc *doc, const char *s, size_t n, unsigned max_depth, struct error *err);

/* Slots of an object's hash table: a power of two at least twice the members. A slot holds the distance from the object
 * to the member, or 0. */
uint32_t json_index_size(uint32_t count);
uint64_t json_hash(const char *key);

#endif
