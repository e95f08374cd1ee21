/* SPDX-License-Identifier: Apache-2.0 */
/* A command line to start: an argument vector, and which of its words decide the bytes of the result. */
#ifndef TERNPACK_DRIVER_COMMAND_H
#define TERNPACK_DRIVER_COMMAND_H

#include "base/util/mem.h"

struct command {
    char **argv; /* NULL-terminated, owned */
    size_t n, cap;
    struct buffer recipe; /* words that change the result, one a line; paths, threads and progress do not */
};

/* Add a word, or an option and its value. `matters`: it goes into the recipe too. */
int command_add(struct command *c, const char *word, bool matters, struct error *err);
int command_option(struct command *c, const char *name, const char *value, bool matters, struct error *err);
int command_number(struct command *c, const char *name, uint64_t value, struct error *err); /* matters; 0: left out */
/* As one would type it in a shell. */
int command_print(const struct command *c, struct buffer *out, struct error *err);
void command_free(struct command *c);

#endif
