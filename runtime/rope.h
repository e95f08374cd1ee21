/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rotary position tables. Pair i of n_rot/2 turns by position * f[i], f[i] = base^(-2i/n_rot) / factors[i]; linear
 * scaling divides f by the factor; YaRN (Peng et al., 2023) divides slow pairs only, with a ramp between the dimensions
 * that make beta_slow and beta_fast turns in the original context, and multiplies cos and sin by attn_factor * (1 +
 * ln(factor)/10).
 */
#ifndef TERNPACK_RUNTIME_ROPE_H
#define TERNPACK_RUNTIME_ROPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/model/hparams.h"

/* Turn per position of each of the n_rot/2 pairs, and the gain of cos and sin. factors: n_rot/2 values or NULL. */
void rope_frequencies(const struct hparams *h, const float *factors, double *freq, double *gain);
/* cos and sin, n/2 values each, at one position. */
void rope_table(const double *freq, double gain, size_t n_pairs, uint32_t position, float *cos_t, float *sin_t);

#endif
