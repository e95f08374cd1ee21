/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: a negative code plus one line of text.
 *
 * A library function returns 0 or one of the codes below and fills *err with a single line that names, as far as it
 * knows them, the file, the tensor or key, the byte offset, what was expected and what was found. Callers add place
 * with error_prefix(). Only a main() prints. Every `err` argument may be NULL (the text is then dropped).
 * Thread-safety: a struct error belongs to one thread at a time.
 */
#ifndef TERNPACK_BASE_UTIL_ERROR_H
#define TERNPACK_BASE_UTIL_ERROR_H

/* code, words, process exit status (0 done / 1 the input is bad or differs / 2 could not tell) */
#define ERROR_LIST(X)                                                                                                  \
    X(ERROR_NOMEM, -1, "out of memory", 2)                                                                             \
    X(ERROR_IO, -2, "input/output error", 2)                                                                           \
    X(ERROR_FORMAT, -3, "malformed input", 1)                                                                          \
    X(ERROR_UNSUPPORTED, -4, "valid but not supported", 1)                                                             \
    X(ERROR_MISMATCH, -5, "contents differ from what is claimed", 1)                                                   \
    X(ERROR_USAGE, -6, "wrong usage", 2)                                                                               \
    X(ERROR_NOSPACE, -7, "not enough space", 2)                                                                        \
    X(ERROR_EXISTS, -8, "output exists or is an input", 2)                                                             \
    X(ERROR_INTERRUPTED, -9, "interrupted", 130)                                                                       \
    X(ERROR_MISSING, -10, "a needed file or entry is missing", 1)                                                      \
    X(ERROR_INTERNAL, -11, "internal check failed", 2)

enum error_code {
    ERROR_OK = 0,
#define X(name, value, words, status) name = value,
    ERROR_LIST(X)
#undef X
};

struct error {
    int code;        /* 0 or an enum error_code */
    char text[2048]; /* one line, no newline, printable (foreign bytes are escaped by the writer, see text_quote) */
};

/* Set code and text; returns code, so `return error_set(err, ERROR_FORMAT, ...)` reads well. Truncates with "...". */
int error_set(struct error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* As error_set, with ": " and strerror(errno_value) appended; ENOSPC/EDQUOT/EFBIG become ERROR_NOSPACE, ENOMEM
 * ERROR_NOMEM, ENOENT on reading stays what `code` says. Returns the code set. */
int error_errno(struct error *err, int code, int errno_value, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Put `fmt` and ": " before the text already there; returns err->code (ERROR_INTERNAL when err is NULL). */
int error_prefix(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Fixed words for a code; exit status for a code (0 for 0, 2 for an unknown one). */
const char *error_words(int code);
int error_exit_status(int code);

#endif
