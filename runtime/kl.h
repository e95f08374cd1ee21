/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a model's predictions are from a reference's, over the positions perplexity scores; names and definitions of
 * llama-perplexity. KL = sum over tokens of p_ref (ln p_ref - ln p). dp = p(next) - p_ref(next). Sums in double, in
 * token order.
 */
#ifndef TERNPACK_RUNTIME_KL_H
#define TERNPACK_RUNTIME_KL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "kernels/kernels.h"
#include "runtime/score.h"

struct kl_row {
    double kld, nll, nll_ref, dp;
    bool same_top;
};
/* ref_log_p [n_vocab]: natural logarithms of the reference's probabilities. floor: entries at or below it are left out
 * (-INFINITY for a live reference, -16 for a log-probability file, whose codes end there). */
void kl_compare(struct kl_row *out, const struct kernels *k, const float *ref_log_p, float floor, const float *logits,
                size_t n_vocab, int32_t target);

struct kl_stats { /* zero-initialise; kl_free */
    struct score_sum model, ref;
    double nll_nll_ref;             /* sum of products, for the error of the ratio */
    double kld, kld2, dp, dp2, dp4; /* sums of powers */
    uint64_t same_top, n;
    double *values; /* each position's KL */
    size_t cap;
};
int kl_add(struct kl_stats *s, const struct kl_row *row, struct error *err);
void kl_free(struct kl_stats *s);

struct kl_result {
    double mean, mean_err, median, p90, p95, p99, p999, max, min;
    double same_top, same_top_err; /* shares */
    double rms_dp, rms_dp_err, mean_dp;
    double ln_ratio, ln_ratio_err; /* of the perplexities, model / reference */
};
/* Sorts s->values. */
void kl_finish(struct kl_stats *s, struct kl_result *r);
/* Linear interpolation between order statistics of sorted values, q in [0, 1]. */
double kl_percentile(const double *sorted, size_t n, double q);

#endif
