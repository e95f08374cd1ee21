/* SPDX-License-Identifier: Apache-2.0 */
/* What the user reads: the plan, the result, as text and as JSON. Text is built here and printed by main. */
#ifndef TERNPACK_CONVERT_REPORT_H
#define TERNPACK_CONVERT_REPORT_H

#include "base/util/mem.h"
#include "convert/job.h"

/* The whole plan: config members, tensors, what is left out (--dry-run). */
int report_plan(const struct job *j, struct buffer *out, struct error *err);
/* Warnings and notes (notes only when `verbose` or there are few), then one line of totals. */
int report_summary(const struct job *j, struct buffer *out, struct error *err);
/* One JSON object with the facts of both; with_plan adds the tensors and the config members. */
int report_json(const struct job *j, bool with_plan, struct buffer *out, struct error *err);

#endif
