/* SPDX-License-Identifier: Apache-2.0 */
/* What each member of config.json means to the conversion, as one table. */
#ifndef TERNPACK_CONVERT_CONFIG_RULES_H
#define TERNPACK_CONVERT_CONFIG_RULES_H

#include "convert/config.h"

/* A rule's `expect`: the values under which the member changes nothing that a GGUF reader computes. Null always counts.
 */
enum config_expect {
    EXPECT_USED, /* read by config.c; no rule on the value here */
    EXPECT_ANY,  /* harmless whatever it holds */
    EXPECT_OFF,  /* false, 0, or an empty array or object */
    EXPECT_TRUE,
    EXPECT_ONE,
    EXPECT_NULL,
    EXPECT_FULL, /* an array of "full_attention" */
};

struct config_rule {
    const char *key;
    enum config_expect expect;
    const char *why; /* of ANY: why it is ignored; of the others: what another value would mean */
};

/* NULL for a member no rule knows. */
const struct config_rule *config_rule(const char *key);
/* Apply the rules to every member: fills c->keys, adds one note about unknown members. ERROR_UNSUPPORTED names the
 * first member whose value would change the arithmetic. */
int config_apply_rules(struct config *c, struct notes *notes, struct error *err);

#endif
