/* SPDX-License-Identifier: Apache-2.0 */
/* What the report tells besides numbers: warnings (the user should look) and notes (what was decided and why). Order
 * kept. */
#ifndef TERNPACK_CONVERT_NOTES_H
#define TERNPACK_CONVERT_NOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/error.h"

struct note {
    bool warning;
    char *text; /* one line */
};

struct notes {
    struct note *items;
    size_t n, cap;
};

int notes_add(struct notes *n, bool warning, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void notes_free(struct notes *n);

#endif
