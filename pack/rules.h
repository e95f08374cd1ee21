/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of --override: an extended regular expression (POSIX, matching anywhere in the name) and a type. */
#ifndef TERNPACK_PACK_RULES_H
#define TERNPACK_PACK_RULES_H

#include <regex.h>
#include <stddef.h>

#include "base/format/block.h"
#include "base/util/cli.h"
#include "base/util/error.h"

struct rule {
    const char *text; /* as given */
    regex_t regex;
    const struct block_info *type;
    size_t matched; /* tensors this rule decided */
};
struct rules {
    struct rule *items;
    size_t n;
};

/* "REGEX=TYPE", split at the last '='; TYPE one of the ternary ones, Q8_0, F16, BF16, F32. ERROR_USAGE names the rule.
 */
int rules_open(struct rules *r, const struct cli_list *texts, struct error *err);
void rules_free(struct rules *r);
/* First rule whose expression matches, counted as a match, or NULL. */
const struct rule *rules_find(struct rules *r, const char *name);

#endif
