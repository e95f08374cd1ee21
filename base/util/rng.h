/* SPDX-License-Identifier: Apache-2.0 */
/* xoshiro256** (Blackman and Vigna, 2018) seeded by splitmix64: small, seeded, the same on every machine. */
#ifndef TERNPACK_BASE_UTIL_RNG_H
#define TERNPACK_BASE_UTIL_RNG_H

#include <math.h>
#include <stdint.h>

struct rng {
    uint64_t s[4];
};

static inline void rng_seed(struct rng *r, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = seed += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        r->s[i] = z ^ z >> 31;
    }
}

static inline uint64_t rng_rotl(uint64_t x, int k)
{
    return x << k | x >> (64 - k);
}

static inline uint64_t rng_u64(struct rng *r)
{
    uint64_t result = rng_rotl(r->s[1] * 5, 7) * 9, t = r->s[1] << 17;
    r->s[2] ^= r->s[0];
    r->s[3] ^= r->s[1];
    r->s[1] ^= r->s[2];
    r->s[0] ^= r->s[3];
    r->s[2] ^= t;
    r->s[3] = rng_rotl(r->s[3], 45);
    return result;
}

/* Uniform in [0, 1), 53 bits. */
static inline double rng_f64(struct rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* Uniform in [0, n), n >= 1; the bias is below n / 2^64. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
    return (uint64_t)((unsigned __int128)rng_u64(r) * n >> 64);
}

/* Standard normal (Box-Muller, one of the pair). */
static inline double rng_normal(struct rng *r)
{
    double u = 1.0 - rng_f64(r), v = rng_f64(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

#endif
