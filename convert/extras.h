/* SPDX-License-Identifier: Apache-2.0 */
/* --allow-extra: which tensors of no known use the user leaves out. */
#ifndef TERNPACK_CONVERT_EXTRAS_H
#define TERNPACK_CONVERT_EXTRAS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/util/cli.h"
#include "convert/notes.h"

struct extras {
    const struct cli_list *patterns; /* borrowed */
    regex_t *regex;                  /* one per pattern */
    bool *hit;                       /* has a pattern matched any name yet? */
    size_t n;
};

/* POSIX extended expressions, found anywhere in a name. ERROR_USAGE names a bad one. On failure *x is freed. */
int extras_open(struct extras *x, const struct cli_list *patterns, struct error *err);
void extras_free(struct extras *x); /* accepts a zero struct */
bool extras_match(struct extras *x, const char *name);
/* The same as a callback of st_open_dir_except. */
bool extras_leave_out(void *x, const char *name);
/* One warning for each pattern that has matched nothing. */
int extras_note_unused(const struct extras *x, struct notes *notes, struct error *err);

#endif
