/* SPDX-License-Identifier: Apache-2.0 */
/* Streaming the plan's tensors: read, cast and write a few MiB at a time, results in order whatever the number of
 * threads. */
#ifndef TERNPACK_CONVERT_EMIT_H
#define TERNPACK_CONVERT_EMIT_H

#include "base/format/gguf.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "convert/cast.h"
#include "convert/plan.h"

struct emit {
    const struct plan *plan;
    const struct st_model *model;
    struct pool *pool;         /* NULL: one thread */
    struct progress *progress; /* NULL: silent */
    bool clamp;
    struct cast_counts *counts; /* per tensor of the plan, owned; filled by the last pass */
};

int emit_open(struct emit *e, const struct plan *plan, const struct st_model *model, bool clamp, unsigned threads,
              enum progress_mode progress, struct error *err);
void emit_close(struct emit *e); /* accepts a zero struct */

/* Could any value overflow its type? Then emit_scan must run before anything is written, unless values are clamped. */
bool emit_needs_scan(const struct emit *e);
/* Read every tensor that may overflow and count. ERROR_UNSUPPORTED with the counts when values overflow. */
int emit_scan(struct emit *e, struct error *err);
/* All tensors' data into w, which gguf_writer_begin has opened. */
int emit_data(struct emit *e, struct gguf_writer *w, struct error *err);
/* Lines about values that are not finite or were changed, one per tensor up to a limit. */
int emit_notes(const struct emit *e, struct notes *notes, struct error *err);

#endif
