/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was found about one operand: problems in the order they were found, notes, and facts for --json. A report is
 * filled by one thread. Running out of memory while adding is remembered and comes out of report_code().
 */
#ifndef TERNPACK_VERIFY_REPORT_H
#define TERNPACK_VERIFY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/mem.h"

enum report_level { REPORT_NOTE, REPORT_WARNING, REPORT_ERROR };

struct report_item {
    enum report_level level;
    char *where; /* tensor, key or file within the folder, printable; NULL: the operand as a whole */
    char *text;
};

struct report {
    const char *path; /* borrowed, as the user spelled it */
    const char *kind; /* "gguf", "statistics", "safetensors", "folder"; NULL: not known yet */
    struct report_item *items;
    size_t n, cap;
    size_t n_errors, n_warnings;
    int code;            /* 0, or the code that decides the exit status: input is bad before could not tell */
    struct buffer facts; /* JSON members, each with a comma before it: ,"tensors":12 */
    bool no_memory;
};

void report_init(struct report *r, const char *path);
void report_free(struct report *r);

/* `code` matters for errors only. `where` is foreign text and gets quoted. */
void report_add(struct report *r, enum report_level level, int code, const char *where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* An error from a library: its text, less the operand's own path (or the folder's) in front. */
void report_error(struct report *r, const struct error *err);
/* How a check of this operand ended: what stops the whole run (interrupt, memory) is copied to err and returned; any
 * other error goes into the report, and 0 is returned. */
int report_settle(struct report *r, int code, const struct error *found, struct error *err);

/* ERROR_NOMEM after a failed report_add, else 0. */
int report_code(const struct report *r, struct error *err);

/* Text: "PATH: OK (notes)", "PATH: WARNED (first warning)" or "PATH: FAILED (first error)", then one indented line for
 * each further problem. quiet leaves out OK results; verbose adds the notes of the others. */
int report_text(const struct report *r, bool quiet, bool verbose, struct buffer *out, struct error *err);
/* {"path":..,"kind":..,"result":"ok|warned|failed","problems":[..],"notes":[..] + facts} */
int report_json(const struct report *r, struct buffer *out, struct error *err);

/* A path as sha256sum prints it: a name with a newline or carriage return is escaped (backslashes too) and marked by a
 * leading '\'. */
int report_path(const char *path, struct buffer *out, struct error *err);

#endif
