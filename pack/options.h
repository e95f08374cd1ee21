/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of tern-pack, parsed and checked as far as it can be without a model. */
#ifndef TERNPACK_PACK_OPTIONS_H
#define TERNPACK_PACK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/format/block.h"
#include "base/util/cli.h"

enum pack_method { PACK_OPTIMAL, PACK_WEIGHTED };
enum pack_ragged { RAGGED_ERROR, RAGGED_F16, RAGGED_Q8_0 };
enum pack_lossless { LOSSLESS_AUTO, LOSSLESS_REQUIRE };

struct pack_options {
    struct cli_common common;
    const char *model; /* operand */
    const char *output, *stats;
    int type_choice, embed_choice, output_choice; /* indexes into the choices; see the three infos below */
    int method;                                   /* enum pack_method */
    int on_ragged;                                /* enum pack_ragged */
    int lossless;                                 /* enum pack_lossless */
    uint64_t group_size, zeros_per_group;
    double sparsity_ratio;
    struct cli_list overrides;
    bool method_given, group_size_given, zeros_given, sparsity_given;

    const struct block_info *type, *embed_type, *output_type;
    const char **operands;
};

/* 0, CLI_DONE or ERROR_USAGE. options_free afterwards in every case. */
int options_parse(struct pack_options *o, int argc, char **argv, struct error *err);
void options_free(struct pack_options *o);
const char *options_method_name(int method);

#endif
