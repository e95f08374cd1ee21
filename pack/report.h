/* SPDX-License-Identifier: Apache-2.0 */
/* What a run tells: a table by role for people, one JSON object for programs. Only text is made here. */
#ifndef TERNPACK_PACK_REPORT_H
#define TERNPACK_PACK_REPORT_H

#include "base/util/mem.h"
#include "pack/emit.h"

/* The table, with results when e->done (zeros, relative errors) and without them otherwise. */
int report_table(const struct emit *e, struct buffer *b, struct error *err);
/* Remarks after the work: scales that were flushed or subnormal, groups without importance, zeros that lost their sign.
 */
int report_remarks(const struct emit *e, struct buffer *b, struct error *err);
/* The object of --json, described in tern-pack(1). */
int report_json(const struct emit *e, struct buffer *b, struct error *err);

/* sqrt(sum (w-what)^2 / sum w^2); 0 when both are 0. */
double report_relative_error(double diff2, double source2);

#endif
