/* SPDX-License-Identifier: Apache-2.0 */
/* --metadata KEY=VALUE: the text keys a user may set. */
#ifndef TERNPACK_CONVERT_METADATA_H
#define TERNPACK_CONVERT_METADATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/cli.h"
#include "base/util/error.h"
#include "base/util/mem.h"

struct metadata_item {
    const char *key, *value; /* value may be empty: leave the key out */
};

struct metadata {
    struct metadata_item *items;
    size_t n;
    struct arena arena;
};

/* ERROR_USAGE: no '=', a repeated key, or one that the conversion itself decides. `arch` is the prefix of the model's
 * keys. */
int metadata_parse(struct metadata *m, const struct cli_list *list, const char *arch, struct error *err);
void metadata_free(struct metadata *m);
/* NULL when not set. */
const char *metadata_get(const struct metadata *m, const char *key);

/* The general.* keys that say who and what, in the order they are written; NULL past the end. */
const char *metadata_identity_key(unsigned index);
bool metadata_is_identity(const char *key);

#endif
