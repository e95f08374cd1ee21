/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/codes.h"

#include <inttypes.h>

static void report_ternary(const struct gguf_tensor *t, const struct codec_check *c, bool recorded, struct report *r)
{
    if (c->illegal_codes)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, t->name,
                   "illegal code 3 (bits 11) in %" PRIu64 " of %" PRIu64 " weights, first at row %" PRIu64
                   ", column %" PRIu64,
                   c->illegal_codes, c->weights, c->first_illegal / t->ne[0], c->first_illegal % t->ne[0]);
    if (c->non_canonical && c->non_canonical == c->spare_digits && !recorded)
        report_add(r, REPORT_NOTE, 0, t->name, "%" PRIu64 " base-3 bytes with a spare digit that is set",
                   c->spare_digits);
    else if (c->non_canonical)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, t->name,
                   "%" PRIu64 " base-3 bytes are not canonical, first at byte %" PRIu64
                   " of the tensor (file offset %" PRIu64 ")",
                   c->non_canonical, c->first_non_canonical, t->offset + c->first_non_canonical);
    if (c->scale_negative)
        report_add(r, REPORT_WARNING, 0, t->name, "%" PRIu64 " of %" PRIu64 " block scales are negative",
                   c->scale_negative, c->blocks);
}

void codes_report(const struct gguf_tensor *t, const struct codec_check *c, bool recorded, struct report *r)
{
    if (c->scale_nan || c->scale_inf)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, t->name,
                   "block scales: %" PRIu64 " NaN, %" PRIu64 " Inf of %" PRIu64 ", first at block %" PRIu64
                   " (file offset %" PRIu64 ")",
                   c->scale_nan, c->scale_inf, c->blocks, c->first_bad_scale,
                   t->offset + c->first_bad_scale * t->info->bytes);
    if (c->nan || c->inf)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, t->name,
                   "%" PRIu64 " NaN and %" PRIu64 " Inf among %" PRIu64 " values, first at row %" PRIu64
                   ", column %" PRIu64,
                   c->nan, c->inf, t->n_elements, c->first_bad_value / t->ne[0], c->first_bad_value % t->ne[0]);
    if (t->info->ternary)
        report_ternary(t, c, recorded, r);
}
