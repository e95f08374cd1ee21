/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/rules.h"

#include <string.h>

#include "base/util/mem.h"

static bool is_target(const struct block_info *b)
{
    return b && (b->ternary || b->id == BLOCK_Q8_0 || b->id == BLOCK_F16 || b->id == BLOCK_BF16 || b->id == BLOCK_F32);
}

static int rule_open(struct rule *rule, const char *text, struct error *err)
{
    const char *eq = strrchr(text, '=');
    if (!eq || eq == text)
        return error_set(err, ERROR_USAGE, "--override '%s': expected REGEX=TYPE", text);
    const struct block_info *type = block_by_name(eq + 1);
    if (!is_target(type))
        return error_set(err, ERROR_USAGE,
                         "--override '%s': unknown type '%s' (TQ1_0, TQ2_0, Q2_0, PQ2_0, PTQ1_0, Q8_0, F16, BF16, F32)",
                         text, eq + 1);
    char *pattern = mem_strndup(text, (size_t)(eq - text), err);
    if (!pattern)
        return ERROR_NOMEM;
    int bad = regcomp(&rule->regex, pattern, REG_EXTENDED | REG_NOSUB);
    mem_free(pattern);
    if (bad) {
        char why[128];
        regerror(bad, &rule->regex, why, sizeof why);
        return error_set(err, ERROR_USAGE, "--override '%s': %s", text, why);
    }
    rule->text = text;
    rule->type = type;
    return 0;
}

int rules_open(struct rules *r, const struct cli_list *texts, struct error *err)
{
    *r = (struct rules){ 0 };
    r->items = mem_zalloc(texts->n, sizeof *r->items, "override rules", err);
    if (!r->items)
        return ERROR_NOMEM;
    for (; r->n < texts->n; r->n++) {
        int rc = rule_open(&r->items[r->n], texts->items[r->n], err);
        if (rc != 0) {
            rules_free(r);
            return rc;
        }
    }
    return 0;
}

void rules_free(struct rules *r)
{
    for (size_t i = 0; i < r->n; i++)
        regfree(&r->items[i].regex);
    mem_free(r->items);
    *r = (struct rules){ 0 };
}

const struct rule *rules_find(struct rules *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (regexec(&r->items[i].regex, name, 0, NULL, 0) == 0) {
            r->items[i].matched++;
            return &r->items[i];
        }
    return NULL;
}
