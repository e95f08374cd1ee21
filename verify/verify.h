/* SPDX-License-Identifier: Apache-2.0 */
/* One operand: find out what it is and check it. */
#ifndef TERNPACK_VERIFY_VERIFY_H
#define TERNPACK_VERIFY_VERIFY_H

#include <stdbool.h>

#include "base/util/error.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "verify/report.h"

struct verify {
    const char *tensor; /* only this one, NULL: all */
    bool strict;        /* files a folder's SHA256SUMS does not name are errors */
    bool plan_only;     /* --dry-run: open and say what would be read */
    bool facts;         /* fill report.facts (digests of tensors for --json) */
    struct pool *pool;
    struct progress *progress;
};

enum verify_kind { VERIFY_GGUF, VERIFY_SAFETENSORS, VERIFY_FOLDER, VERIFY_UNKNOWN };

/* By content: a folder, the magic GGUF, a safetensors header; names ending in .gguf or .safetensors decide for the
 * rest. */
int verify_kind(const char *path, enum verify_kind *kind, struct error *err);

/* Findings go into the report; only what stops the whole run (interrupt, memory) is returned. */
int verify_path(const char *path, const struct verify *v, struct report *r, struct error *err);

#endif
