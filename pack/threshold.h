/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which weights of a group become non-zero, and with what scale: the least-squares optimum, exactly.
 *
 * For weights w_i with importances h_i >= 0 the ternary group s*t, t_i in {-1, 0, +1}, with the least
 *      sum h_i (w_i - s t_i)^2
 * has t_i = sign(w_i) on the k largest |w_i| for some k and 0 elsewhere: for any s > 0 the best t_i is sign(w_i) if
 * |w_i| > s/2 and 0 otherwise, whatever h_i. For a set of k the best scale is s = S_k / H_k with S_k = sum h|w|, H_k =
 * sum h over the set, and the error is sum h w^2 - S_k^2 / H_k. So k is the one with the greatest S_k^2 / H_k; sorting
 * gives all of them.
 *
 * Ties. Two sets of equal value: the smaller k. Equal magnitudes are never split by the optimum (S^2/H is convex along
 * a run of them), and in the optimum no |w| equals s/2 (moving it across costs nothing at this s, and something is
 * gained by the new s). So "|w| > s/2" gives the same codes as the set, and also a sensible code to a weight of
 * importance 0. With a fixed k equal magnitudes can be split: the lower index stays.
 */
#ifndef TERNPACK_PACK_THRESHOLD_H
#define TERNPACK_PACK_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { THRESHOLD_MAX_GROUP = 256 };

/* One group: w [g] finite, g <= THRESHOLD_MAX_GROUP. h [g] finite and >= 0, or NULL for all equal; all h zero is taken
 * as NULL, and 1 is returned (0 otherwise). keep: number of non-zero codes wanted (weights that are zero stay zero, so
 * there may be fewer), or THRESHOLD_FREE for the optimum. Sets codes [g] and *scale >= 0 (0 exactly when all codes are
 * 0). Sums run over descending |w|, then ascending index, in double. */
enum { THRESHOLD_FREE = -1 };
int threshold_group(const float *w, const float *h, unsigned g, int keep, int8_t *codes, double *scale);

/* Up to THRESHOLD_LANES groups side by side in memory, in the same way and with the same results, bit by bit, but
 * faster: source [n_groups * g] is what the file holds, finite, little-endian; w are the same values. g is 64, 128 or
 * 256. h: one pointer per group to g importances, not all zero; or NULL. No fixed k. codes [n_groups * g], scale
 * [n_groups]. */
enum { THRESHOLD_LANES = 16 };
enum threshold_source { THRESHOLD_F16, THRESHOLD_BF16, THRESHOLD_F32 };
typedef void threshold_batch_fn(const void *source, enum threshold_source kind, const float *w, const float *const *h,
                                unsigned g, unsigned n_groups, int8_t *codes, double *scale);
threshold_batch_fn threshold_batch;
/* The instance for a set of kernels by name: "avx2" has one of its own where it was built, others get threshold_batch.
 */
threshold_batch_fn *threshold_batch_for(const char *kernels);

#endif
