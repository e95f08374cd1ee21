/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/identity.h"

#include <math.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/util/text.h"

/* What a dash-separated part of a name may be; a part may be two things at once until the end. */
enum { IS_BASENAME = 1, IS_SIZE = 2, IS_FINETUNE = 4, IS_VERSION = 8, IS_TYPE = 16 };

enum { RE_VERSION, RE_TYPE, RE_SIZE, RE_FINETUNE, RE_KEEP_CASE, RE_N };
static const char *const patterns[RE_N] = {
    [RE_VERSION] = "^(v|iter)?[0-9]+([.][0-9]+)*$",
    [RE_TYPE] = "^(i?q[0-9](_[a-z0-9_])*|b?fp?(16|32))$",
    [RE_SIZE] = "^((a|[0-9]+x)?[0-9]+([._][0-9]+)?[kmbt][0-9]?|small|mini|medium|large|x?xl)$",
    [RE_FINETUNE] = "^(chat|instruct|vision|lora)$",
    [RE_KEEP_CASE] = "^(v[0-9]+([.][0-9]+)*|[0-9].*)$",
};

struct guesser {
    struct arena *arena;
    regex_t re[RE_N];
    size_t n_re;
    uint64_t n_params;
};

struct parts {
    char **part;
    unsigned *is;
    size_t n;
};

static bool match(const struct guesser *g, int which, const char *s)
{
    return !regexec(&g->re[which], s, 0, NULL, 0);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes of multi-byte characters count as letters. */
static bool is_alpha(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static void upper(char *c)
{
    if (*c >= 'a' && *c <= 'z')
        *c = (char)(*c - 'a' + 'A');
}

static void lower(char *c)
{
    if (*c >= 'A' && *c <= 'Z')
        *c = (char)(*c - 'A' + 'a');
}

/* "7b1" -> "7.1b", "1_7b" -> "1.7B". `s` has room for one more character. */
static void normalise_size(char *s)
{
    for (char *c = s; *c; c++)
        if (*c == '_')
            *c = '.';
    size_t n = strlen(s);
    if (n >= 2 && is_digit(s[n - 1])) {
        char digit = s[n - 1], unit = s[n - 2];
        s[n - 2] = '.';
        s[n - 1] = digit;
        s[n] = unit;
        s[++n] = 0;
    }
    if (n > 1 && is_digit(s[n - 2]))
        upper(&s[n - 1]);
}

/* A size label far from the number of parameters is more likely a context length ("-32k"). */
static bool far_from(const char *label, uint64_t n_params)
{
    char digits[32];
    size_t n = strlen(label);
    double v;
    const char *units = " KMBT", *unit = strchr(units, label[n - 1]);
    if (!n_params || n > sizeof digits)
        return false;
    memcpy(digits, label, n - 1);
    digits[n - 1] = 0;
    if (!text_f64(digits, &v))
        return false;
    v *= pow(1000, unit ? (double)(unit - units) : -1);
    return fabs(v - (double)n_params) > floor(7 * (double)n_params / 8);
}

static void annotate(const struct guesser *g, struct parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        char *s = p->part[i];
        if (match(g, RE_VERSION, s)) {
            p->is[i] = IS_VERSION;
        } else if (match(g, RE_TYPE, s)) {
            p->is[i] = IS_TYPE;
            for (char *c = s; *c; c++)
                upper(c);
        } else if (i && match(g, RE_SIZE, s)) {
            normalise_size(s);
            p->is[i] = IS_SIZE;
            if (far_from(s, g->n_params)) {
                p->is[i] = IS_FINETUNE;
                lower(&s[strlen(s) - 1]);
            }
        } else if (i && match(g, RE_FINETUNE, s)) {
            p->is[i] = IS_FINETUNE;
        }
    }
}

/* Words such as "small" are no size where a number is. */
static void prefer_numbers(struct parts *p)
{
    bool number = false;
    for (size_t i = 0; i < p->n; i++)
        if (p->is[i] & IS_SIZE)
            number |= strpbrk(p->part[i], "0123456789") != NULL;
    for (size_t i = 0; number && i < p->n; i++)
        if ((p->is[i] & IS_SIZE) && !strpbrk(p->part[i], "0123456789."))
            p->is[i] &= ~(unsigned)IS_SIZE;
}

/* The base name is what leads: unnamed words and versions, but not the versions it ends with. */
static void find_basename(struct parts *p)
{
    bool at_start = true;
    for (size_t i = 0; i < p->n; i++) {
        if (at_start && ((!p->is[i] && is_alpha(p->part[i][0])) || (p->is[i] & IS_VERSION))) {
            p->is[i] |= IS_BASENAME;
            continue;
        }
        at_start = false;
        if (!p->is[i])
            p->is[i] = IS_FINETUNE;
    }
    for (size_t i = p->n; i-- && (p->is[i] & IS_BASENAME) && p->is[i] != IS_BASENAME;)
        p->is[i] &= ~(unsigned)IS_BASENAME;
}

/* Parts with `kind` (and without `but`) joined by dashes; NULL when there are none. Repeated sizes count once. */
static int join(struct guesser *g, const struct parts *p, unsigned kind, unsigned but, const char **out,
                struct error *err)
{
    size_t room = 1;
    for (size_t i = 0; i < p->n; i++)
        room += strlen(p->part[i]) + 1;
    char *s = arena_alloc(g->arena, room, 1, err);
    if (!s)
        return ERROR_NOMEM;
    for (size_t i = 0; i < p->n; i++) {
        bool again = false;
        if (!(p->is[i] & kind) || (p->is[i] & but))
            continue;
        for (size_t j = 0; kind == IS_SIZE && j < i; j++)
            again |= (p->is[j] & IS_SIZE) && !strcmp(p->part[j], p->part[i]);
        if (again)
            continue;
        if (*s)
            strcat(s, "-");
        strcat(s, p->part[i]);
    }
    *out = *s ? s : NULL;
    return 0;
}

static int split(struct guesser *g, const char *name, struct parts *p, struct error *err)
{
    size_t len = strlen(name);
    p->part = arena_alloc(g->arena, len + 1, sizeof *p->part, err);
    p->is = arena_alloc(g->arena, len + 1, sizeof *p->is, err);
    if (!p->part || !p->is)
        return ERROR_NOMEM;
    while (*name) {
        size_t n = strcspn(name, "-");
        if (n) {
            char *s = arena_alloc(g->arena, n + 2, 1, err); /* one spare byte, see normalise_size */
            if (!s)
                return ERROR_NOMEM;
            memcpy(s, name, n);
            p->part[p->n++] = s;
        }
        name += n + (name[n] == '-');
    }
    return 0;
}

/* "smollm2-135m" -> "Smollm2 135m": words in lower case get a capital, except versions and those that begin with a
 * digit. */
static int title(struct guesser *g, const char *s, const char **out, struct error *err)
{
    char *t = arena_alloc(g->arena, strlen(s) + 2, 1, err), *at = t;
    if (!t)
        return ERROR_NOMEM;
    while (*s) {
        size_t n = strcspn(s, "- \t\n\r\v\f");
        if (n) {
            bool has_lower = false, has_upper = false;
            if (at != t)
                *at++ = ' ';
            memcpy(at, s, n);
            for (size_t i = 0; i < n; i++) {
                has_lower |= s[i] >= 'a' && s[i] <= 'z';
                has_upper |= s[i] >= 'A' && s[i] <= 'Z';
            }
            if (has_lower && !has_upper && !match(g, RE_KEEP_CASE, at))
                for (size_t i = 0; i < n; i++)
                    if (!i || !is_alpha(at[i - 1]))
                        upper(&at[i]);
            at += n;
            *at = 0;
        }
        s += n + (s[n] != 0);
    }
    *out = *t ? t : NULL;
    return 0;
}

static void keep(const char **slot, const char *found)
{
    if (!*slot && found && *found)
        *slot = found;
}

static int guess_from(struct guesser *g, const char *model_id, struct identity *id, struct error *err)
{
    struct identity found = { 0 };
    struct parts p = { 0 };
    const char *slash = strchr(model_id, '/'), *name = slash ? slash + 1 : model_id;
    int rc;

    if (strchr(model_id, ' ')) { /* a sentence, not a name of the hub's kind */
        if ((rc = title(g, model_id, &found.name, err)))
            return rc;
        keep(&id->name, found.name);
        return 0;
    }
    if (slash && model_id[0] != '.') {
        char *org = arena_strndup(g->arena, model_id, (size_t)(slash - model_id), err);
        rc = org ? title(g, org, &found.organization, err) : ERROR_NOMEM;
        if (rc)
            return rc;
    }
    if ((rc = title(g, name, &found.name, err)) || (rc = split(g, name, &p, err)))
        return rc;
    annotate(g, &p);
    prefer_numbers(&p);
    find_basename(&p);
    if ((rc = join(g, &p, IS_BASENAME, 0, &found.basename, err)) ||
        (rc = join(g, &p, IS_SIZE, 0, &found.size_label, err)) ||
        (rc = join(g, &p, IS_FINETUNE, 0, &found.finetune, err)) ||
        (rc = join(g, &p, IS_VERSION, IS_BASENAME, &found.version, err)))
        return rc;
    if (!found.size_label && !found.finetune && !found.version)
        found.basename = NULL; /* a single word says too little */

    keep(&id->name, found.name);
    keep(&id->organization, found.organization);
    keep(&id->basename, found.basename);
    keep(&id->finetune, found.finetune);
    keep(&id->version, found.version);
    keep(&id->size_label, found.size_label);
    return 0;
}

/* Two significant digits where the number is small: "2.6M", "0.50K", "135M". */
static int label_from_count(struct guesser *g, const char **out, struct error *err)
{
    static const struct {
        double above, scale;
        char unit;
    } units[] = { { 1e12, 1e-12, 'T' }, { 1e9, 1e-9, 'B' }, { 1e6, 1e-6, 'M' }, { -1, 1e-3, 'K' } };
    char whole[32], *s;
    size_t u = 0;
    while (!((double)g->n_params > units[u].above))
        u++;
    double v = (double)g->n_params * units[u].scale;
    snprintf(whole, sizeof whole, "%.0f", v);
    int digits = strcmp(whole, "0") ? (int)strlen(whole) : 0;
    if (!(s = arena_alloc(g->arena, 40, 1, err)))
        return ERROR_NOMEM;
    snprintf(s, 40, "%.*f%c", digits < 2 ? 2 - digits : 0, v, units[u].unit);
    *out = s;
    return 0;
}

int identity_guess(struct identity *id, const char *hub_id, const char *folder, uint64_t n_params, struct error *err)
{
    *id = (struct identity){ 0 };
    struct guesser g = { .arena = &id->arena, .n_params = n_params };
    int rc = 0;
    for (size_t i = 0; !rc && i < RE_N; i++) {
        if (regcomp(&g.re[i], patterns[i], REG_EXTENDED | REG_NOSUB | (i == RE_KEEP_CASE ? 0 : REG_ICASE)))
            rc = error_set(err, ERROR_INTERNAL, "pattern %zu of the name rules does not compile", i);
        else
            g.n_re++;
    }
    const char *slash = hub_id ? strchr(hub_id, '/') : NULL;
    bool plausible = hub_id && *hub_id && !(slash && strchr(slash + 1, '/')); /* not a path of somebody's machine */
    if (!rc && plausible)
        rc = guess_from(&g, hub_id, id, err);
    if (!rc)
        rc = guess_from(&g, folder, id, err);
    if (!rc && !id->size_label && n_params)
        rc = label_from_count(&g, &id->size_label, err);
    for (size_t i = 0; i < g.n_re; i++)
        regfree(&g.re[i]);
    if (rc)
        identity_free(id);
    return rc;
}

void identity_free(struct identity *id)
{
    arena_free(&id->arena);
    *id = (struct identity){ 0 };
}
