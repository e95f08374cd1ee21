/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TERNPACK_CALIB_OPTIONS_H
#define TERNPACK_CALIB_OPTIONS_H

#include "base/util/cli.h"

struct calib_options {
    struct cli_common common; /* first: cli_parse fills it */
    const char *model;        /* MODEL.gguf */
    struct cli_list files;    /* -f, at least one */
    const char *output;       /* -o */
    const char *jsonl_field;  /* NULL: plain text */
    uint64_t samples;         /* chunks, 0: all */
    uint64_t n_ctx;
    bool parse_special;

    const char **operands;
    uint64_t alias_samples;
    bool samples_given, alias_given;
};

/* 0, CLI_DONE or ERROR_USAGE. */
int options_parse(struct calib_options *o, int argc, char **argv, struct error *err);
void options_free(struct calib_options *o);

#endif
