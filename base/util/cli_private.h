/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by cli_parse.c and cli_help.c. */
#ifndef TERNPACK_BASE_UTIL_CLI_PRIVATE_H
#define TERNPACK_BASE_UTIL_CLI_PRIVATE_H

#include "base/util/cli.h"

/* The options every tool has; offsets are those of struct cli_common, which every options struct begins with. */
extern const struct cli_option cli_common_options[];
extern const size_t cli_n_common_options;

/* Option i of a tool: its own ones first, then the common ones it does not define itself; NULL behind the last. */
const struct cli_option *cli_option_at(const struct cli_spec *spec, size_t i);

/* Print on stdout. */
void cli_print_help(const struct cli_spec *spec, bool all);
void cli_print_version(const struct cli_spec *spec);
void cli_print_names(const struct cli_spec *spec);

#endif
