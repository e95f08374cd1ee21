/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/rope.h"

#include <math.h>

static const double two_pi = 6.283185307179586476925;

/* Index of the pair that makes `turns` turns within the original context: solve ctx * base^(-2i/n) = 2 pi * turns. */
static double pair_of_turns(const struct hparams *h, double turns)
{
    return h->n_rot * log(h->rope_orig_ctx / (turns * two_pi)) / (2 * log((double)h->rope_base));
}

static double clamp01(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

void rope_frequencies(const struct hparams *h, const float *factors, double *freq, double *gain)
{
    size_t n_pairs = h->n_rot / 2;
    double low = 0, high = 0, factor = h->rope_factor;
    bool yarn = h->rope_scaling == ROPE_YARN;
    *gain = 1;
    if (yarn) {
        low = fmax(0, floor(pair_of_turns(h, h->yarn_beta_fast)));
        high = fmin(h->n_rot - 1, ceil(pair_of_turns(h, h->yarn_beta_slow)));
        *gain = h->yarn_attn_factor * (h->yarn_ext_factor != 0 && factor > 1 ? 1 + 0.1 * log(factor) : 1);
    }
    for (size_t i = 0; i < n_pairs; i++) {
        double f = pow(h->rope_base, -2.0 * (double)i / h->n_rot) / (factors ? factors[i] : 1);
        double keep = 0; /* share of the unscaled frequency */
        if (yarn)
            keep = (1 - clamp01(((double)i - low) / fmax(0.001, high - low))) * h->yarn_ext_factor;
        freq[i] = h->rope_scaling == ROPE_NONE ? f : f / factor * (1 - keep) + f * keep;
    }
}

void rope_table(const double *freq, double gain, size_t n_pairs, uint32_t position, float *cos_t, float *sin_t)
{
    for (size_t i = 0; i < n_pairs; i++) {
        double angle = position * freq[i];
        cos_t[i] = (float)(cos(angle) * gain);
        sin_t[i] = (float)(sin(angle) * gain);
    }
}
