/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of tern-convert as one struct. */
#ifndef TERNPACK_CONVERT_OPTIONS_H
#define TERNPACK_CONVERT_OPTIONS_H

#include "base/util/cli.h"
#include "base/util/error.h"

enum convert_dtype { DTYPE_AUTO, DTYPE_F16, DTYPE_BF16, DTYPE_F32 }; /* the order of --dtype's choices */

struct convert_options {
    struct cli_common common;
    const char *dir, *out; /* out is NULL only with --dry-run */
    int dtype;             /* enum convert_dtype */
    bool clamp, vocab_only;
    const char *pre;             /* NULL: recognised from tokenizer.json */
    struct cli_list allow_extra; /* POSIX extended regular expressions */
    struct cli_list metadata;    /* KEY=VALUE */
};

/* 0, CLI_DONE or ERROR_USAGE. Strings are borrowed from argv. */
int convert_options_parse(struct convert_options *o, int argc, char **argv, struct error *err);
void convert_options_free(struct convert_options *o);

#endif
