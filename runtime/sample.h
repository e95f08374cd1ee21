/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choosing the next token. The steps are pure functions on a candidate list sorted by falling logit (ties: lower id
 * first); sampler_* strings them together in llama.cpp's order: repeat penalty, top-k, top-p, min-p, temperature, draw;
 * with mirostat 2: repeat penalty, temperature, cut by surprise, draw. Same seed, same tokens.
 */
#ifndef TERNPACK_RUNTIME_SAMPLE_H
#define TERNPACK_RUNTIME_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"

struct sample_params {
    double temp; /* 0: greedy */
    double top_p, min_p;
    double repeat_penalty; /* 1: none */
    double mirostat_ent, mirostat_lr;
    uint64_t seed;
    uint32_t top_k;         /* 0: all */
    uint32_t repeat_last_n; /* tokens looked back */
    unsigned mirostat;      /* 0 or 2 */
};

struct sample_item {
    int32_t id;
    float logit;
    double p;
};

/* Each distinct id among recent: a positive logit is divided by the penalty, another multiplied. Ids must be in range.
 */
void sample_penalize(float *logits, const int32_t *recent, size_t n_recent, double penalty);
/* The k largest of n logits (0: all), sorted. items needs room for min(k, n) or n. Returns the count. */
size_t sample_top_k(struct sample_item *items, const float *logits, size_t n, size_t k);
/* p = softmax(logit / temp), temp > 0. */
void sample_softmax(struct sample_item *items, size_t n, double temp);
/* The shortest head whose probabilities sum to at least top_p (at least one). */
size_t sample_top_p(const struct sample_item *items, size_t n, double top_p);
/* Those with p >= min_p * largest p. */
size_t sample_min_p(const struct sample_item *items, size_t n, double min_p);
/* Those whose surprise -log2(p) is at most mu (at least one). */
size_t sample_mirostat(const struct sample_item *items, size_t n, double mu);
/* Index drawn with u in [0, 1) from the p of the first n, which need not sum to 1. */
size_t sample_draw(const struct sample_item *items, size_t n, double u);

struct sampler;
int sampler_open(struct sampler **out, const struct sample_params *p, size_t n_vocab, struct error *err);
void sampler_close(struct sampler *s); /* NULL is fine */
/* Remember a token of the prompt or one chosen elsewhere. */
void sampler_accept(struct sampler *s, int32_t id);
/* Choose from logits [n_vocab] and remember the choice. */
int32_t sampler_next(struct sampler *s, const float *logits);

#endif
