/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Store `text` (NUL-terminated, possibly longer than fits) as one printable line, cut at a code point with "...". */
static void store(struct error *err, const char *text, int was_cut)
{
    size_t cap = sizeof err->text, n = strlen(text);
    if (n >= cap || was_cut) {
        if (n > cap - 4)
            n = cap - 4;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
        memcpy(err->text, text, n);
        memcpy(err->text + n, "...", 4);
    } else {
        memcpy(err->text, text, n + 1);
    }
    for (char *c = err->text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
}

/* The text may quote err->text itself, so it is made elsewhere first. */
static void __attribute__((format(printf, 2, 0))) set_text(struct error *err, const char *fmt, va_list args)
{
    char line[sizeof err->text + 4];
    int n = vsnprintf(line, sizeof line, fmt, args);
    if (n < 0)
        line[0] = 0;
    store(err, line, n >= (int)sizeof line);
}

int error_set(struct error *err, int code, const char *fmt, ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        set_text(err, fmt, args);
        va_end(args);
        err->code = code;
    }
    return code;
}

static int add_text(struct error *err, const char *head, const char *tail)
{
    char line[2 * sizeof err->text + 8];
    snprintf(line, sizeof line, "%s: %s", head, tail);
    store(err, line, 0);
    return err->code;
}

int error_errno(struct error *err, int code, int errno_value, const char *fmt, ...)
{
    if (errno_value == ENOSPC || errno_value == EDQUOT || errno_value == EFBIG)
        code = ERROR_NOSPACE;
    else if (errno_value == ENOMEM)
        code = ERROR_NOMEM;
    if (err) {
        char head[sizeof err->text], words[128];
        va_list args;
        va_start(args, fmt);
        vsnprintf(head, sizeof head, fmt, args);
        va_end(args);
        err->code = code;
        add_text(err, head, strerror_r(errno_value, words, sizeof words));
    }
    return code;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
    if (!err)
        return ERROR_INTERNAL;
    char head[sizeof err->text], tail[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(head, sizeof head, fmt, args);
    va_end(args);
    memcpy(tail, err->text, sizeof tail);
    return add_text(err, head, tail);
}

const char *error_words(int code)
{
    switch (code) {
    case ERROR_OK:
        return "done";
#define X(name, value, words, status)                                                                                  \
    case name:                                                                                                         \
        return words;
        ERROR_LIST(X)
#undef X
    default:
        return "unknown error";
    }
}

int error_exit_status(int code)
{
    switch (code) {
    case ERROR_OK:
        return 0;
#define X(name, value, words, status)                                                                                  \
    case name:                                                                                                         \
        return status;
        ERROR_LIST(X)
#undef X
    default:
        return 2;
    }
}
