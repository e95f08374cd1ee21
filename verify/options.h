/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of tern-verify. */
#ifndef TERNPACK_VERIFY_OPTIONS_H
#define TERNPACK_VERIFY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/cli.h"

enum options_sort { SORT_FILE, SORT_NAME, SORT_ERROR, SORT_SIZE };

struct options {
    struct cli_common common;
    const char *check; /* -c MANIFEST, NULL: none */
    bool ignore_missing, strict, status;
    const char *against, *stats; /* reference and importance statistics, NULL: none */
    int sort;                    /* enum options_sort */
    double fail_above;
    bool fail_above_given, sort_given;
    bool dump;
    const char *tensor; /* NULL: all */
    const char **paths; /* operands; owned */
    size_t n_paths;
};

/* 0, CLI_DONE or ERROR_USAGE; combinations that mean nothing are refused. */
int options_parse(struct options *o, int argc, char **argv, struct error *err);
void options_free(struct options *o);

#endif
