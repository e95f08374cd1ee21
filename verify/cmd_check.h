/* SPDX-License-Identifier: Apache-2.0 */
/* The two things tern-verify does, operand by operand: check (and compare), or dump. The only part that prints results.
 */
#ifndef TERNPACK_VERIFY_CMD_CHECK_H
#define TERNPACK_VERIFY_CMD_CHECK_H

#include "base/util/error.h"
#include "base/util/mem.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "verify/options.h"

struct session {
    struct options o;
    struct pool *pool;
    struct progress *progress;
    struct buffer out; /* what goes to stdout next */
    int status;        /* worst so far: 0, 2 could not tell, 1 bad */
};

/* 0, or the error that stopped the run; verdicts go into s->status. */
int cmd_check(struct session *s, struct error *err);
int cmd_dump(struct session *s, struct error *err);

#endif
