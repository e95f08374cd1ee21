/* SPDX-License-Identifier: Apache-2.0 */
/* Checksum lists of sha256sum's format: -c MANIFEST, and a folder's own SHA256SUMS. */
#ifndef TERNPACK_VERIFY_LISTING_H
#define TERNPACK_VERIFY_LISTING_H

#include <stdbool.h>

#include "base/util/error.h"
#include "base/util/mem.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "verify/report.h"
#include "verify/verify.h"

struct listing_options {
    bool ignore_missing, strict, quiet, json;
    bool status; /* no results, no warnings; why a file could not be read is still said */
};

struct listing_result {
    struct buffer out;  /* stdout: "NAME: OK", "NAME: FAILED", "NAME: FAILED open or read"; or a JSON object */
    struct buffer talk; /* stderr: lines that begin with the program's name */
    bool failed;
};

/* Check every file of a list as `sha256sum -c` does: names are relative to the current folder. The verdict is in
 * res->failed (a mismatch, an unreadable file, nothing verified, or a malformed line under strict); a returned code
 * stops the run. */
int listing_check(const char *manifest, const struct listing_options *o, struct pool *pool, struct progress *progress,
                  struct listing_result *res, struct error *err);
void listing_free(struct listing_result *res);

/* DIR/SHA256SUMS against the folder: bad, missing and unlisted files go into the report. Hidden files, and folders
 * whose name begins with a dot, are not expected in a list. */
int listing_check_folder(const char *dir, const struct verify *v, struct report *r, struct error *err);

#endif
