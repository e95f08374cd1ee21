/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/util/cli_private.h"
#include "base/util/mem.h"
#include "base/util/progress.h"
#include "base/util/text.h"

const struct cli_option cli_common_options[] = {
    { .name = "verbose",
      .letter = 'v',
      .kind = CLI_COUNT,
      .offset = offsetof(struct cli_common, verbose),
      .group = "Common",
      .help = "say more; may be repeated" },
    { .name = "quiet",
      .letter = 'q',
      .kind = CLI_FLAG,
      .offset = offsetof(struct cli_common, quiet),
      .help = "no progress, no notes; errors are still printed" },
    { .name = "threads",
      .letter = 'j',
      .kind = CLI_U64,
      .offset = offsetof(struct cli_common, threads),
      .arg = "N",
      .max = 1024,
      .help = "threads to use (default 0: all cores)" },
    { .name = "json",
      .kind = CLI_FLAG,
      .offset = offsetof(struct cli_common, json),
      .help = "the result as JSON on standard output" },
    { .name = "dry-run",
      .kind = CLI_FLAG,
      .offset = offsetof(struct cli_common, dry_run),
      .help = "check everything, print the plan, write nothing" },
    { .name = "force",
      .kind = CLI_FLAG,
      .offset = offsetof(struct cli_common, force),
      .help = "replace an output that exists" },
    { .name = "progress",
      .kind = CLI_CHOICE,
      .offset = offsetof(struct cli_common, progress),
      .arg = "HOW",
      .choices = "auto|none|plain|json",
      .help = "progress on standard error (default auto)" },
};
const size_t cli_n_common_options = sizeof cli_common_options / sizeof *cli_common_options;

static bool defines(const struct cli_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->n_options; i++)
        if (strcmp(spec->options[i].name, name) == 0)
            return true;
    return false;
}

const struct cli_option *cli_option_at(const struct cli_spec *spec, size_t i)
{
    if (i < spec->n_options)
        return &spec->options[i];
    i -= spec->n_options;
    for (size_t k = 0; k < cli_n_common_options; k++)
        if (!defines(spec, cli_common_options[k].name) && i-- == 0)
            return &cli_common_options[k];
    return NULL;
}

struct parse {
    const struct cli_spec *spec;
    int argc, at; /* at: the argument being read */
    char **argv;
    char *options;
    bool *seen; /* by cli_option_at index */
    const char **operands;
    size_t n_operands;
    struct error *err;
};

/* Foreign text in an error line. */
#define QUOTED(s) text_quote((char[256]){ 0 }, 256, s, strlen(s))

static int usage(struct parse *p, const struct cli_option *o, const char *what)
{
    return error_set(p->err, ERROR_USAGE, "--%s: %s", o->name, what);
}

static int bad_number(struct parse *p, const struct cli_option *o, const char *value, const char *kind)
{
    if (o->min == 0 && o->max == 0)
        return error_set(p->err, ERROR_USAGE, "--%s: '%s' is not %s", o->name, QUOTED(value), kind);
    return error_set(p->err, ERROR_USAGE, "--%s: '%s' is not %s from %.15g to %.15g", o->name, QUOTED(value), kind,
                     o->min, o->max);
}

static bool in_bounds(const struct cli_option *o, double v)
{
    return (o->min == 0 && o->max == 0) || (v >= o->min && v <= o->max);
}

static int set_choice(struct parse *p, const struct cli_option *o, const char *value, int *out)
{
    int i = 0;
    for (const char *c = o->choices; *c; i++) {
        size_t n = strcspn(c, "|");
        if (strlen(value) == n && strncasecmp(c, value, n) == 0) {
            *out = i;
            return 0;
        }
        c += n;
        c += *c == '|';
    }
    return error_set(p->err, ERROR_USAGE, "--%s: '%s' is not one of %s", o->name, QUOTED(value), o->choices);
}

static int set_list(struct parse *p, struct cli_list *list, const char *value)
{
    void *items = list->items;
    int code = mem_resize(&items, (uint64_t)list->n + 1, sizeof *list->items, "option list", p->err);
    list->items = items;
    if (!code)
        list->items[list->n++] = value;
    return code;
}

static int set_value(struct parse *p, const struct cli_option *o, const char *value)
{
    void *target = p->options + o->offset;
    uint64_t u;
    double d;

    switch (o->kind) {
    case CLI_FLAG:
        *(bool *)target = true;
        return 0;
    case CLI_COUNT:
        ++*(unsigned *)target;
        return 0;
    case CLI_STRING:
        *(const char **)target = value;
        return 0;
    case CLI_LIST:
        return set_list(p, target, value);
    case CLI_U64:
        if (!text_u64(value, &u) || !in_bounds(o, (double)u))
            return bad_number(p, o, value, "a whole number");
        *(uint64_t *)target = u;
        return 0;
    case CLI_SIZE:
        if (!text_size(value, &u) || !in_bounds(o, (double)u))
            return bad_number(p, o, value, "a size (digits, then K, M, G or T)");
        *(uint64_t *)target = u;
        return 0;
    case CLI_F64:
        if (!text_f64(value, &d) || !in_bounds(o, d))
            return bad_number(p, o, value, "a number");
        *(double *)target = d;
        return 0;
    case CLI_CHOICE:
        return set_choice(p, o, value, target);
    }
    return usage(p, o, "unknown kind of option");
}

static bool takes_value(const struct cli_option *o)
{
    return o->kind != CLI_FLAG && o->kind != CLI_COUNT;
}

/* Given before? Two spellings of one option have the same target and count as the same. */
static bool repeated(const struct parse *p, const struct cli_option *o)
{
    const struct cli_option *other;
    if (o->kind == CLI_COUNT || o->kind == CLI_LIST)
        return false;
    for (size_t i = 0; (other = cli_option_at(p->spec, i)); i++)
        if (p->seen[i] && other->offset == o->offset)
            return true;
    return false;
}

static int give(struct parse *p, size_t index, const char *value)
{
    const struct cli_option *o = cli_option_at(p->spec, index);
    if (repeated(p, o))
        return usage(p, o, "given twice");
    p->seen[index] = true;
    if (o->seen_offset)
        *(bool *)(p->options + o->seen_offset) = true;
    return set_value(p, o, value);
}

/* The value of an option that stands in the next argument. */
static const char *next_argument(struct parse *p)
{
    return p->at + 1 < p->argc ? p->argv[++p->at] : NULL;
}

static int parse_long(struct parse *p, const char *arg)
{
    const struct cli_option *o;
    const char *equals = strchr(arg, '='), *value = equals ? equals + 1 : NULL;
    size_t n = equals ? (size_t)(equals - arg) : strlen(arg);

    if (strcmp(arg, "help") == 0 || strcmp(arg, "version") == 0 || strcmp(arg, "list-options") == 0) {
        if (*arg == 'h')
            cli_print_help(p->spec, true);
        else if (*arg == 'v')
            cli_print_version(p->spec);
        else
            cli_print_names(p->spec);
        return CLI_DONE;
    }
    for (size_t i = 0; (o = cli_option_at(p->spec, i)); i++) {
        if (strlen(o->name) != n || memcmp(o->name, arg, n) != 0)
            continue;
        if (!takes_value(o))
            return value ? usage(p, o, "takes no value") : give(p, i, NULL);
        if (!value && !(value = next_argument(p)))
            return usage(p, o, "needs a value");
        return give(p, i, value);
    }
    return error_set(p->err, ERROR_USAGE, "unknown option '--%s'", QUOTED(arg));
}

/* "-vq", "-j4", "-j 4": letters until one that takes a value, which is the rest or the next argument. */
static int parse_short(struct parse *p, const char *letters)
{
    for (; *letters; letters++) {
        const struct cli_option *o;
        size_t i = 0;
        while ((o = cli_option_at(p->spec, i)) && o->letter != *letters)
            i++;
        if (!o && *letters == 'h') {
            cli_print_help(p->spec, false);
            return CLI_DONE;
        }
        if (!o)
            return error_set(p->err, ERROR_USAGE, "unknown option '-%s'", text_quote((char[16]){ 0 }, 16, letters, 1));
        if (takes_value(o)) {
            const char *value = letters[1] ? letters + 1 : next_argument(p);
            return value ? give(p, i, value) : usage(p, o, "needs a value");
        }
        int code = give(p, i, NULL);
        if (code)
            return code;
    }
    return 0;
}

static int parse_all(struct parse *p)
{
    bool only_operands = false;
    for (p->at = 1; p->at < p->argc; p->at++) {
        const char *arg = p->argv[p->at];
        int code = 0;
        if (only_operands || arg[0] != '-' || !arg[1])
            p->operands[p->n_operands++] = arg;
        else if (strcmp(arg, "--") == 0)
            only_operands = true;
        else if (arg[1] == '-')
            code = parse_long(p, arg + 2);
        else
            code = parse_short(p, arg + 1);
        if (code)
            return code;
    }
    if (p->n_operands < p->spec->min_operands)
        return error_set(p->err, ERROR_USAGE, "missing operand: %s %s", p->spec->program, p->spec->operands);
    if (p->n_operands > p->spec->max_operands)
        return error_set(p->err, ERROR_USAGE, "extra operand '%s'", QUOTED(p->operands[p->spec->max_operands]));
    return 0;
}

/* A file opened while a standard stream is closed would get its number, and what is printed would land in that file.
 * Standard output becomes one that cannot be written to, so that cli_finish still tells. */
static void hold_streams(void)
{
    static const int modes[3] = { O_RDONLY, O_RDONLY, O_WRONLY };
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", modes[fd]); /* the lowest free number, which is fd */
}

int cli_parse(const struct cli_spec *spec, int argc, char **argv, void *options, const char ***operands,
              size_t *n_operands, struct error *err)
{
    struct parse p = { .spec = spec, .argc = argc, .argv = argv, .options = options, .err = err };
    int code = ERROR_NOMEM;

    hold_streams();
    *operands = NULL;
    *n_operands = 0;
    p.seen = mem_zalloc(spec->n_options + cli_n_common_options, sizeof *p.seen, "options", err);
    p.operands = mem_zalloc((uint64_t)(argc > 0 ? argc : 0) + 1, sizeof *p.operands, "operands", err);
    if (!p.seen || !p.operands)
        goto out;
    code = parse_all(&p);
    if (code)
        goto out;
    struct cli_common *common = options;
    if (common->quiet)
        common->progress = PROGRESS_NONE;
    *operands = p.operands;
    *n_operands = p.n_operands;
    p.operands = NULL;
out:
    mem_free(p.seen);
    mem_free(p.operands);
    return code;
}

void cli_free(const struct cli_spec *spec, void *options)
{
    for (size_t i = 0; i < spec->n_options; i++)
        if (spec->options[i].kind == CLI_LIST) {
            struct cli_list *list = (struct cli_list *)((char *)options + spec->options[i].offset);
            mem_free(list->items);
            *list = (struct cli_list){ 0 };
        }
}

int cli_finish(const char *program, int code, const struct error *err)
{
    int status = code == CLI_DONE ? 0 : code > 0 ? code : error_exit_status(code);
    if (code < 0)
        fprintf(stderr, "%s: %s\n", program, err && err->text[0] ? err->text : error_words(code));
    if (code == ERROR_USAGE)
        fprintf(stderr, "Try '%s --help' for more information.\n", program);
    if ((fflush(stdout) != 0 || ferror(stdout)) && code >= 0) {
        fprintf(stderr, "%s: standard output: %s\n", program, strerror(errno));
        status = 2;
    }
    /* A library that hangs in its exit handler (OpenBLAS without memory for its threads) can still be interrupted. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    return status;
}
