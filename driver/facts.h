/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of the summary, out of what the steps printed. What a step did not say is NaN, 0 or "". */
#ifndef TERNPACK_DRIVER_FACTS_H
#define TERNPACK_DRIVER_FACTS_H

#include "driver/driver.h"

struct facts {
    const char *dtype, *method, *corpus_sha256;
    double source_bpw, packed_bpw, linear_bpw;
    uint64_t ternary, exact;                      /* tensors */
    double relative_error, weighted_error, zeros; /* of the linear layers, measured by tern-verify */
    double ref_ppl, ref_ppl_err, ppl, ppl_err, ppl_ratio;
    double kl_mean, kl_median, kl_99, kl_max, same_top, rms_dp;
    uint64_t chunks, n_ctx;
};

void facts_gather(const struct driver *d, struct facts *f); /* strings are borrowed from d */
int facts_json(const struct driver *d, const struct facts *f, struct buffer *b, struct error *err);
int facts_text(struct buffer *b, const char *head, const char *s,
               struct error *err); /* head, then s as a JSON string */

#endif
