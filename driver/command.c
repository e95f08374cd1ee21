/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int command_add(struct command *c, const char *word, bool matters, struct error *err)
{
    void *argv = c->argv;
    int code = mem_reserve(&argv, &c->cap, c->n + 2, sizeof *c->argv, "command", err);
    c->argv = argv;
    if (code)
        return code;
    c->argv[c->n] = mem_strdup(word, err);
    if (!c->argv[c->n])
        return ERROR_NOMEM;
    c->argv[++c->n] = NULL;
    if (matters && !(code = buffer_append(&c->recipe, word, strlen(word), err)))
        code = buffer_append(&c->recipe, "\n", 1, err);
    return code;
}

int command_option(struct command *c, const char *name, const char *value, bool matters, struct error *err)
{
    int code = command_add(c, name, matters, err);
    return code ? code : command_add(c, value, matters, err);
}

int command_number(struct command *c, const char *name, uint64_t value, struct error *err)
{
    char digits[24];
    if (!value)
        return 0;
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    return command_option(c, name, digits, true, err);
}

/* Bare when a shell would leave it alone, else in single quotes, each of its own as '\''. */
static int print_word(const char *word, struct buffer *out, struct error *err)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+:,@%";
    if (*word && !word[strspn(word, safe)])
        return buffer_append(out, word, strlen(word), err);
    int code = buffer_append(out, "'", 1, err);
    for (; !code && *word; word++)
        code = *word == '\'' ? buffer_append(out, "'\\''", 4, err) : buffer_append(out, word, 1, err);
    return code ? code : buffer_append(out, "'", 1, err);
}

int command_print(const struct command *c, struct buffer *out, struct error *err)
{
    int code = 0;
    for (size_t i = 0; !code && i < c->n; i++) {
        if (i)
            code = buffer_append(out, " ", 1, err);
        if (!code)
            code = print_word(c->argv[i], out, err);
    }
    return code ? code : buffer_append(out, "\n", 1, err);
}

void command_free(struct command *c)
{
    for (size_t i = 0; i < c->n; i++)
        mem_free(c->argv[i]);
    mem_free(c->argv);
    buffer_free(&c->recipe);
    *c = (struct command){ 0 };
}
