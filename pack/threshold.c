/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/threshold.h"

#include <stdbool.h>
#include <string.h>

#include "base/util/bytes.h"

/* A group in the order of the walk: descending magnitude, ascending index. */
struct order {
    unsigned n; /* non-zero weights only */
    float mag[THRESHOLD_MAX_GROUP];
    uint16_t index[THRESHOLD_MAX_GROUP];
};

/* The bits of a magnitude order like the magnitude, so magnitude and index make one integer to sort by: index
 * complemented, so that the descending order of keys is the ascending one of indexes. Heapsort: no worst case, no
 * memory. */
static void sift(uint64_t *key, unsigned root, unsigned n)
{
    uint64_t v = key[root];
    for (unsigned child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && key[child + 1] < key[child])
            child++;
        if (v <= key[child])
            break;
        key[root] = key[child];
    }
    key[root] = v;
}

static void sort_group(const float *w, unsigned g, struct order *o)
{
    uint64_t key[THRESHOLD_MAX_GROUP];
    unsigned n = 0;
    for (unsigned i = 0; i < g; i++) {
        uint32_t mag = bytes_f32_bits(w[i]) & 0x7fffffff;
        if (mag)
            key[n++] = (uint64_t)mag << 16 | (0xffff - i);
    }
    for (unsigned i = n / 2; i-- > 0;)
        sift(key, i, n);
    for (unsigned left = n; left-- > 1;) { /* smallest to the end */
        uint64_t smallest = key[0];
        key[0] = key[left];
        sift(key, 0, left);
        key[left] = smallest;
    }
    o->n = n;
    for (unsigned i = 0; i < n; i++) {
        o->mag[i] = bytes_f32_from_bits((uint32_t)(key[i] >> 16));
        o->index[i] = (uint16_t)(0xffff - (key[i] & 0xffff));
    }
}

static bool all_zero(const float *h, unsigned g)
{
    for (unsigned i = 0; i < g; i++)
        if (h[i] > 0)
            return false;
    return true;
}

/* Greatest S^2/H over the prefixes; products instead of quotients, so that H = 0 needs no case of its own. */
static double best_scale(const struct order *o, const float *h)
{
    double sum = 0, weight = 0, best_sum = 0, best_weight = 1;
    for (unsigned i = 0; i < o->n; i++) {
        double hi = h ? h[o->index[i]] : 1;
        sum += hi * o->mag[i];
        weight += hi;
        if (sum * sum * best_weight > best_sum * best_sum * weight) {
            best_sum = sum;
            best_weight = weight;
        }
    }
    return best_sum / best_weight;
}

static double kept_scale(const struct order *o, const float *h, unsigned keep)
{
    double sum = 0, weight = 0, plain = 0;
    for (unsigned i = 0; i < keep; i++) {
        double hi = h ? h[o->index[i]] : 1;
        sum += hi * o->mag[i];
        weight += hi;
        plain += o->mag[i];
    }
    return weight > 0 ? sum / weight : plain / keep; /* nothing kept has importance: any scale is as good */
}

int threshold_group(const float *w, const float *h, unsigned g, int keep, int8_t *codes, double *scale)
{
    struct order o;
    bool uniform = h && all_zero(h, g);
    if (uniform)
        h = NULL;
    memset(codes, 0, g);
    *scale = 0;
    sort_group(w, g, &o);
    if (keep == THRESHOLD_FREE) {
        double s = best_scale(&o, h);
        for (unsigned i = 0; i < o.n && (2.0 * o.mag[i] > s); i++)
            codes[o.index[i]] = w[o.index[i]] < 0 ? -1 : 1;
        *scale = s;
    } else {
        unsigned n = (unsigned)keep < o.n ? (unsigned)keep : o.n;
        for (unsigned i = 0; i < n; i++)
            codes[o.index[i]] = w[o.index[i]] < 0 ? -1 : 1;
        if (n > 0)
            *scale = kept_scale(&o, h, n);
    }
    return uniform;
}
