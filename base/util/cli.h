/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines. One table per tool yields the parser, the usage text and the list that the man page is checked
 * against.
 *
 * Syntax: options anywhere among the operands until "--"; `--name=value`, `--name value`, `-x value`, `-xvalue`, joined
 * flags `-vq`. An unknown, repeated (unless repeatable) or malformed option, a missing value or operand: ERROR_USAGE
 * with one line. `-h` short help, `--help` all groups with defaults, `--version`: cli_parse prints them on stdout and
 * returns CLI_DONE. A closed standard stream is opened on /dev/null first. `--list-options` (hidden) prints each long
 * name, one a line, for the man page test.
 */
#ifndef TERNPACK_BASE_UTIL_CLI_H
#define TERNPACK_BASE_UTIL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"

enum cli_kind {
    CLI_FLAG,   /* bool *: set to true */
    CLI_COUNT,  /* unsigned *: one more each time, repeatable */
    CLI_STRING, /* const char ** */
    CLI_LIST,   /* struct cli_list *: repeatable, order kept */
    CLI_U64,    /* uint64_t *, within [min, max] */
    CLI_SIZE,   /* uint64_t * with K/M/G */
    CLI_F64,    /* double *, within [min, max] */
    CLI_CHOICE, /* int *: index into `choices`, a '|'-separated list, e.g. "auto|f16|bf16"; case-insensitive */
};

struct cli_list {
    const char **items;
    size_t n;
};

struct cli_option {
    const char *name; /* long name without dashes */
    char letter;      /* 0: none */
    enum cli_kind kind;
    size_t offset;       /* of the target within the tool's options struct */
    const char *arg;     /* argument word in the help, NULL for flags */
    const char *help;    /* one line; defaults belong in it */
    const char *group;   /* heading in --help, e.g. "Target"; NULL: the previous one's */
    const char *choices; /* CLI_CHOICE */
    double min, max;     /* CLI_U64, CLI_F64; both 0: no bound */
    size_t seen_offset;  /* offset of a bool set when given; 0: none (never the struct's first member) */
    bool hidden;         /* an accepted alias, not listed in -h */
};

struct cli_spec {
    const char *program;  /* "tern-pack" */
    const char *operands; /* "MODEL.gguf", as in the usage line */
    const char *summary;  /* one sentence */
    const struct cli_option *options;
    size_t n_options;
    size_t min_operands, max_operands;
};

/* Options every tool has; the tool's struct starts with this, and cli_parse handles them without table entries:
 * -v/--verbose -q/--quiet -j/--threads N --json --dry-run --force --progress=auto|none|plain|json. */
struct cli_common {
    unsigned verbose;
    bool quiet, json, dry_run, force;
    uint64_t threads; /* 0: all cores */
    int progress;     /* enum progress_mode, already lowered to PROGRESS_NONE by -q */
};

enum { CLI_DONE = 1 }; /* help or version was printed: exit 0 */

/* Fill the struct at `options` (whose first member is struct cli_common, defaults set by the caller) and *operands (an
 * array owned by the caller, strings borrowed from argv). 0, CLI_DONE or ERROR_USAGE. */
int cli_parse(const struct cli_spec *spec, int argc, char **argv, void *options, const char ***operands,
              size_t *n_operands, struct error *err);
/* Release every CLI_LIST in the struct. */
void cli_free(const struct cli_spec *spec, void *options);

/* What a main() does last: print "program: text" on stderr (with a hint to --help for ERROR_USAGE) and map the code to
 * the exit status; 0 stays 0, CLI_DONE is 0, a positive status other than that is returned as it is. Also flushes
 * stdout: a failed flush is reported and exits 2. */
int cli_finish(const char *program, int code, const struct error *err);

#endif
