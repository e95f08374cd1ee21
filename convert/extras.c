/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/extras.h"

#include "base/util/mem.h"

int extras_open(struct extras *x, const struct cli_list *patterns, struct error *err)
{
    int rc = 0;
    *x = (struct extras){ .patterns = patterns };
    x->regex = mem_zalloc(patterns->n, sizeof *x->regex, "expressions", err);
    x->hit = mem_zalloc(patterns->n, sizeof *x->hit, "expressions", err);
    if (!x->regex || !x->hit)
        rc = ERROR_NOMEM;
    for (size_t i = 0; !rc && i < patterns->n; i++) {
        char why[256];
        int code = regcomp(&x->regex[i], patterns->items[i], REG_EXTENDED | REG_NOSUB);
        if (!code) {
            x->n++;
            continue;
        }
        regerror(code, &x->regex[i], why, sizeof why);
        rc = error_set(err, ERROR_USAGE, "--allow-extra=%s: %s", patterns->items[i], why);
    }
    if (rc)
        extras_free(x);
    return rc;
}

void extras_free(struct extras *x)
{
    for (size_t i = 0; i < x->n; i++)
        regfree(&x->regex[i]);
    mem_free(x->regex);
    mem_free(x->hit);
    *x = (struct extras){ 0 };
}

bool extras_match(struct extras *x, const char *name)
{
    bool any = false;
    for (size_t i = 0; i < x->n; i++)
        if (!regexec(&x->regex[i], name, 0, NULL, 0))
            any = x->hit[i] = true;
    return any;
}

bool extras_leave_out(void *x, const char *name)
{
    return extras_match(x, name);
}

int extras_note_unused(const struct extras *x, struct notes *notes, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < x->n; i++)
        if (!x->hit[i])
            rc =
                notes_add(notes, true, err, "--allow-extra=%s matches no tensor of unknown use", x->patterns->items[i]);
    return rc;
}
