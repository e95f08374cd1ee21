/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/kl.h"

#include <math.h>
#include <stdlib.h>

#include "base/util/mem.h"

static size_t largest(const float *x, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

void kl_compare(struct kl_row *out, const struct kernels *k, const float *ref_log_p, float floor, const float *logits,
                size_t n_vocab, int32_t target)
{
    double log_sum = k->log_sum_exp(logits, n_vocab, NULL), kld = 0;
    for (size_t i = 0; i < n_vocab; i++)
        if (ref_log_p[i] > floor)
            kld += expf(ref_log_p[i]) * (ref_log_p[i] - logits[i] + log_sum);
    *out = (struct kl_row){ .kld = kld, .nll = log_sum - logits[target], .nll_ref = -(double)ref_log_p[target] };
    out->dp = exp(-out->nll) - exp(-out->nll_ref);
    out->same_top = largest(logits, n_vocab) == largest(ref_log_p, n_vocab);
}

int kl_add(struct kl_stats *s, const struct kl_row *row, struct error *err)
{
    int rc = mem_reserve((void **)&s->values, &s->cap, s->n + 1, sizeof *s->values, "divergences", err);
    if (rc)
        return rc;
    double dp2 = row->dp * row->dp;
    score_add(&s->model, row->nll);
    score_add(&s->ref, row->nll_ref);
    s->nll_nll_ref += row->nll * row->nll_ref;
    s->kld += row->kld;
    s->kld2 += row->kld * row->kld;
    s->dp += row->dp;
    s->dp2 += dp2;
    s->dp4 += dp2 * dp2;
    s->same_top += row->same_top;
    s->values[s->n++] = row->kld;
    return 0;
}

void kl_free(struct kl_stats *s)
{
    mem_free(s->values);
    *s = (struct kl_stats){ 0 };
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double kl_percentile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Variance of a mean from the sums a, b of two samples and the sum of their products. */
static double mean_covariance(double a, double b, double ab, double n)
{
    return n > 1 ? (ab / n - a / n * (b / n)) / (n - 1) : 0;
}

static double root(double x)
{
    return x > 0 ? sqrt(x) : 0;
}

void kl_finish(struct kl_stats *s, struct kl_result *r)
{
    double n = (double)s->n;
    *r = (struct kl_result){ 0 };
    if (!s->n)
        return;
    qsort(s->values, s->n, sizeof *s->values, compare);
    r->mean = s->kld / n;
    r->mean_err = root(mean_covariance(s->kld, s->kld, s->kld2, n));
    r->min = s->values[0];
    r->median = kl_percentile(s->values, s->n, 0.5);
    r->p90 = kl_percentile(s->values, s->n, 0.9);
    r->p95 = kl_percentile(s->values, s->n, 0.95);
    r->p99 = kl_percentile(s->values, s->n, 0.99);
    r->p999 = kl_percentile(s->values, s->n, 0.999);
    r->max = s->values[s->n - 1];
    r->same_top = (double)s->same_top / n;
    r->same_top_err = s->n > 1 ? sqrt(r->same_top * (1 - r->same_top) / (n - 1)) : 0;
    r->mean_dp = s->dp / n;
    r->rms_dp = sqrt(s->dp2 / n);
    r->rms_dp_err = r->rms_dp > 0 ? 0.5 / r->rms_dp * root(mean_covariance(s->dp2, s->dp2, s->dp4, n)) : 0;
    r->ln_ratio = score_mean(&s->model) - score_mean(&s->ref);
    r->ln_ratio_err = root(mean_covariance(s->model.nll, s->model.nll, s->model.nll2, n) +
                           mean_covariance(s->ref.nll, s->ref.nll, s->ref.nll2, n) -
                           2 * mean_covariance(s->model.nll, s->ref.nll, s->nll_nll_ref, n));
}
