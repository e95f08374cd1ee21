/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/util/cli_private.h"
#include "config.h"

enum { COLUMNS = 100, HELP_COLUMN_MAX = 34 };

/* "  -o, --output FILE" */
static int left_column(const struct cli_option *o, char *buf, size_t cap)
{
    const char *arg = o->arg ? o->arg : o->kind == CLI_CHOICE ? o->choices : NULL;
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    return snprintf(buf, cap, "  %s--%s%s%s", letter, o->name, arg ? " " : "", arg ? arg : "");
}

/* Print text wrapped at blanks, its first line starting where the cursor is (column `at`), the others at `column`. */
static void wrapped(const char *text, int at, int column)
{
    int room = COLUMNS - column, used = 0;
    printf("%*s", at < column ? column - at : 0, "");
    while (*text) {
        int word = (int)strcspn(text, " ");
        if (used && used + 1 + word > room) {
            printf("\n%*s", column, "");
            used = 0;
        }
        used += printf("%s%.*s", used ? " " : "", word, text);
        text += word;
        text += *text == ' ';
    }
    putchar('\n');
}

static void print_option(const struct cli_option *o, int column)
{
    char left[512], help[1024];
    int at = left_column(o, left, sizeof left);
    printf("%s", left);
    if (at > column - 2) {
        putchar('\n');
        at = 0;
    }
    /* Choices that the left column does not show are named here. */
    if (o->kind == CLI_CHOICE && o->arg)
        snprintf(help, sizeof help, "%s (one of %s)", o->help, o->choices);
    else
        snprintf(help, sizeof help, "%s", o->help);
    wrapped(help, at, column);
}

void cli_print_help(const struct cli_spec *spec, bool all)
{
    char left[512];
    const struct cli_option *o;
    int column = 20;

    for (size_t i = 0; (o = cli_option_at(spec, i)); i++) {
        int width = left_column(o, left, sizeof left) + 2;
        if ((all || !o->hidden) && width > column && width <= HELP_COLUMN_MAX)
            column = width;
    }
    printf("Usage: %s [OPTION]...%s%s\n", spec->program, spec->operands && *spec->operands ? " " : "",
           spec->operands ? spec->operands : "");
    printf("%s\n", spec->summary);
    if (!all)
        putchar('\n');
    for (size_t i = 0; (o = cli_option_at(spec, i)); i++) {
        if (!all && (o->hidden || i >= spec->n_options))
            continue;
        if (all && o->group)
            printf("\n%s:\n", o->group);
        else if (all && i == 0)
            printf("\nOptions:\n");
        print_option(o, column);
    }
    if (all)
        printf("  %-*sshort help\n      %-*sthis text\n      %-*sversion\n", column - 2, "-h", column - 6, "--help",
               column - 6, "--version");
    else
        printf("\n`%s --help` lists everything.\n", spec->program);
}

void cli_print_version(const struct cli_spec *spec)
{
    printf("%s (%s) %s\n", spec->program, PACKAGE_NAME, PACKAGE_VERSION);
}

void cli_print_names(const struct cli_spec *spec)
{
    const struct cli_option *o;
    for (size_t i = 0; (o = cli_option_at(spec, i)); i++)
        printf("%s\n", o->name);
    printf("help\nversion\n");
}
