/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running one program to its end. Its standard output (a JSON object) is collected; the JSON lines among its standard
 * error become our progress, the other lines are collected as its talk. It runs in a process group of its own, so a
 * Ctrl-C reaches only us, and we pass it on once.
 */
#ifndef TERNPACK_DRIVER_CHILD_H
#define TERNPACK_DRIVER_CHILD_H

#include "base/util/mem.h"
#include "base/util/progress.h"
#include "driver/command.h"

struct child {
    const char *label;         /* of its progress: "pack (3/5)" */
    struct progress *progress; /* may be NULL */
    struct buffer out;         /* standard output */
    struct buffer talk;        /* the other lines of standard error */
    double seconds;

    struct buffer line; /* an unfinished line of standard error */
    uint64_t done, bytes;
    char phase[64];
};

/* Runs it. 0 when it exits with 0. ERROR_INTERRUPTED when we or it were. Otherwise a code with the exit status it had
 * (1 or 2, anything else 2) and its last line as text, without its own name in front; the lines before that stay in
 * c->talk. child_free afterwards in every case. */
int child_run(struct child *c, const struct command *command, struct error *err);
void child_free(struct child *c);
double child_clock(void); /* monotonic seconds */

#endif
