/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ternpack, parsed and checked as far as it can be without the model. */
#ifndef TERNPACK_DRIVER_OPTIONS_H
#define TERNPACK_DRIVER_OPTIONS_H

#include "base/format/block.h"
#include "base/util/cli.h"

struct driver_options {
    struct cli_common common;
    const char *model;  /* the operand or --model-path */
    const char *output; /* OUT.gguf */
    bool resume, keep;

    /* convert */
    int dtype;
    bool dtype_given, clamp;
    const char *pre;
    struct cli_list allow_extra, metadata;

    /* calib */
    struct cli_list corpora;
    uint64_t samples, n_ctx; /* 0: the tool's default; n_ctx is for eval too */

    /* pack */
    int type, method, embed_type, output_type, on_ragged, lossless;
    bool type_given, method_given, embed_type_given, output_type_given, on_ragged_given, lossless_given;
    uint64_t group_size, zeros_per_group;
    bool group_size_given, zeros_given, sparsity_given;
    double sparsity_ratio;
    struct cli_list overrides;

    /* eval */
    const char *eval;
    uint64_t chunks; /* 0: all */
    bool exact;

    const struct block_info *block; /* the target type */
    const char **operands;
};

/* 0, CLI_DONE or ERROR_USAGE. driver_options_free afterwards in every case. */
int driver_options_parse(struct driver_options *o, int argc, char **argv, struct error *err);
void driver_options_free(struct driver_options *o);

/* The spelling the other programs take. */
const char *driver_dtype(const struct driver_options *o);
const char *driver_method(const struct driver_options *o);
const char *driver_head_type(int choice);
const char *driver_on_ragged(const struct driver_options *o);
const char *driver_lossless(const struct driver_options *o);

#endif
