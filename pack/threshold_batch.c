/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many groups at once. The walk of threshold_group is the same for every group once its magnitudes are sorted, so LANES
 * groups are laid side by side, key[i][lane], and one sorting network (Batcher's odd-even merge sort, whose comparisons
 * do not depend on the data) sorts them all: each step is a minimum and a maximum of two rows, which the compiler turns
 * into vector instructions on any machine. Magnitudes of F16 and BF16 are 15-bit integers that order like the values.
 * With importances the index must travel along: key = magnitude * 256 + (255 - index), which also keeps ties in index
 * order.
 *
 * Weights that are 0 take part here and not in threshold_group; they come last, add nothing to S and never lower H, so
 * no prefix that ends in them is better.
 */
#include <math.h>
#include <string.h>

#include "base/util/bytes.h"
#include "pack/threshold.h"

enum { LANES = THRESHOLD_LANES };

/* Everything is inlined into the instances at the end, each compiled for its own instruction set. */
#define INLINE static inline __attribute__((always_inline))

#define SORT(type, name)                                                                                               \
    INLINE void exchange_##name(type *restrict a, type *restrict b)                                                    \
    {                                                                                                                  \
        for (int l = 0; l < LANES; l++) {                                                                              \
            type x = a[l], y = b[l];                                                                                   \
            a[l] = x > y ? x : y;                                                                                      \
            b[l] = x > y ? y : x;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    /* Rows into descending order; n is a power of two. */                                                             \
    INLINE void sort_##name(type(*key)[LANES], unsigned n)                                                             \
    {                                                                                                                  \
        for (unsigned p = 1; p < n; p *= 2)                                                                            \
            for (unsigned k = p; k >= 1; k /= 2)                                                                       \
                for (unsigned j = k % p; j + k < n; j += 2 * k)                                                        \
                    for (unsigned i = j; i < j + k && i + k < n; i++)                                                  \
                        if (i / (2 * p) == (i + k) / (2 * p))                                                          \
                            exchange_##name(key[i], key[i + k]);                                                       \
    }
SORT(int16_t, plain)
SORT(int32_t, wide)

/* The best prefix so far, one column per group; as best_scale() in threshold.c. */
struct walk {
    double sum[LANES], weight[LANES], best_sum[LANES], best_square[LANES], best_weight[LANES];
};

INLINE void walk_init(struct walk *k)
{
    *k = (struct walk){ .sum = { 0 } };
    for (int l = 0; l < LANES; l++)
        k->best_weight[l] = 1;
}

INLINE void walk_step(struct walk *k, const float *mag, const float *h)
{
    for (int l = 0; l < LANES; l++) {
        double hi = h[l], sum = k->sum[l] + hi * mag[l], weight = k->weight[l] + hi, square = sum * sum;
        int better = square * k->best_weight[l] > k->best_square[l] * weight;
        k->sum[l] = sum;
        k->weight[l] = weight;
        k->best_sum[l] = better ? sum : k->best_sum[l];
        k->best_square[l] = better ? square : k->best_square[l];
        k->best_weight[l] = better ? weight : k->best_weight[l];
    }
}

/* Magnitudes to values. F16: the fields moved into place give the value times 2^-112, exactly, subnormals included. */
INLINE void magnitudes(const int32_t *m, enum threshold_source kind, float *mag)
{
    int shift = kind == THRESHOLD_BF16 ? 16 : kind == THRESHOLD_F16 ? 13 : 0;
    float factor = kind == THRESHOLD_F16 ? 0x1p112f : 1;
    for (int l = 0; l < LANES; l++)
        mag[l] = bytes_f32_from_bits((uint32_t)m[l] << shift) * factor;
}

static const float ones[LANES] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };

INLINE void walk_plain(struct walk *k, const uint8_t *bits, enum threshold_source kind, unsigned g, unsigned n_groups)
{
    int16_t key[THRESHOLD_MAX_GROUP][LANES];
    if (n_groups < LANES)
        memset(key, 0, sizeof key);
    for (unsigned l = 0; l < n_groups; l++)
        for (unsigned i = 0; i < g; i++)
            key[i][l] = (int16_t)(bytes_get_u16(bits + 2 * ((size_t)l * g + i)) & 0x7fff);
    sort_plain(key, g);
    for (unsigned i = 0; i < g; i++) {
        int32_t m[LANES];
        float mag[LANES];
        for (int l = 0; l < LANES; l++)
            m[l] = key[i][l];
        magnitudes(m, kind, mag);
        walk_step(k, mag, ones);
    }
}

INLINE void walk_f32(struct walk *k, const float *w, unsigned g, unsigned n_groups)
{
    int32_t key[THRESHOLD_MAX_GROUP][LANES];
    if (n_groups < LANES)
        memset(key, 0, sizeof key);
    for (unsigned l = 0; l < n_groups; l++)
        for (unsigned i = 0; i < g; i++)
            key[i][l] = (int32_t)(bytes_f32_bits(w[(size_t)l * g + i]) & 0x7fffffff);
    sort_wide(key, g);
    for (unsigned i = 0; i < g; i++) {
        float mag[LANES];
        magnitudes(key[i], THRESHOLD_F32, mag);
        walk_step(k, mag, ones);
    }
}

INLINE void walk_weighted(struct walk *k, const uint8_t *bits, enum threshold_source kind, const float *const *h,
                          unsigned g, unsigned n_groups)
{
    int32_t key[THRESHOLD_MAX_GROUP][LANES];
    if (n_groups < LANES)
        memset(key, 0, sizeof key);
    for (unsigned l = 0; l < n_groups; l++)
        for (unsigned i = 0; i < g; i++) {
            int32_t m = bytes_get_u16(bits + 2 * ((size_t)l * g + i)) & 0x7fff;
            key[i][l] = m << 8 | (int32_t)(255 - i);
        }
    sort_wide(key, g);
    for (unsigned i = 0; i < g; i++) {
        int32_t m[LANES];
        float mag[LANES], hi[LANES] = { 0 };
        for (int l = 0; l < LANES; l++)
            m[l] = key[i][l] >> 8;
        for (unsigned l = 0; l < n_groups; l++)
            hi[l] = h[l][255 - (key[i][l] & 255)];
        magnitudes(m, kind, mag);
        walk_step(k, mag, hi);
    }
}

/* 2|w| > s for a float w is |w| > t with t the largest float that is not above s / 2. */
INLINE void encode_group(const float *w, unsigned g, double s, int8_t *codes)
{
    float t = (float)(s / 2);
    if ((double)t > s / 2)
        t = nextafterf(t, 0);
    for (unsigned i = 0; i < g; i++)
        codes[i] = (int8_t)((w[i] > t) - (w[i] < -t));
}

INLINE void batch(const void *source, enum threshold_source kind, const float *w, const float *const *h, unsigned g,
                  unsigned n_groups, int8_t *codes, double *scale)
{
    struct walk k;
    if (kind == THRESHOLD_F32 && h) {
        for (unsigned l = 0; l < n_groups; l++)
            threshold_group(w + (size_t)l * g, h[l], g, THRESHOLD_FREE, codes + (size_t)l * g, &scale[l]);
        return;
    }
    walk_init(&k);
    if (kind == THRESHOLD_F32)
        walk_f32(&k, w, g, n_groups);
    else if (h)
        walk_weighted(&k, source, kind, h, g, n_groups);
    else
        walk_plain(&k, source, kind, g, n_groups);
    for (unsigned l = 0; l < n_groups; l++) {
        scale[l] = k.best_sum[l] / k.best_weight[l];
        encode_group(w + (size_t)l * g, g, scale[l], codes + (size_t)l * g);
    }
}

void threshold_batch(const void *source, enum threshold_source kind, const float *w, const float *const *h, unsigned g,
                     unsigned n_groups, int8_t *codes, double *scale)
{
    batch(source, kind, w, h, g, n_groups, codes, scale);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) static void batch_avx2(const void *source, enum threshold_source kind, const float *w,
                                                       const float *const *h, unsigned g, unsigned n_groups,
                                                       int8_t *codes, double *scale)
{
    batch(source, kind, w, h, g, n_groups, codes, scale);
}
#endif

threshold_batch_fn *threshold_batch_for(const char *kernels)
{
#ifdef __x86_64__
    if (strcmp(kernels, "avx2") == 0 && __builtin_cpu_supports("avx2"))
        return batch_avx2;
#endif
    return threshold_batch;
}
