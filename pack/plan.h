/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What will be written, decided before anything is: the type of each tensor, its size, how its values are made. The dry
 * run prints this plan and the real run follows it; nothing is decided twice.
 */
#ifndef TERNPACK_PACK_PLAN_H
#define TERNPACK_PACK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/format/gguf.h"
#include "base/format/stats.h"
#include "base/model/roles.h"
#include "base/util/mem.h"
#include "base/util/progress.h"
#include "pack/options.h"

enum plan_kind {
    PLAN_COPY,    /* same type, same bytes */
    PLAN_CONVERT, /* to F32, F16, BF16 or Q8_0 */
    PLAN_TERNARY,
};

struct plan_tensor {
    const struct gguf_tensor *src;
    const struct block_info *type; /* target */
    enum role role;
    enum plan_kind kind;
    uint64_t bytes;           /* target, unpadded */
    bool exact;               /* PLAN_TERNARY: holds the source's values bit by bit */
    const char *source_group; /* exact_source_group() of the source; NULL: not ternary, or not looked at */
    int keep;                 /* PLAN_TERNARY: as for threshold_group */
    const float *importance;  /* [ne0] mean x^2 per input, NULL: all equal */
    const char *method;       /* as in ternpack.tensor.methods */
};

struct plan {
    const struct gguf *model;
    const struct pack_options *options;
    struct plan_tensor *tensors; /* in the order of the source */
    size_t n;
    uint64_t n_weights, data_bytes; /* sums, unpadded */
    size_t n_ternary, n_exact, n_fitted, n_ragged;
    struct buffer warnings;                   /* one a line */
    struct buffer offenders;                  /* one a line: tensors whose rows the wanted block does not divide */
    char source_sha256[65], stats_sha256[65]; /* "" until known / without statistics */
    struct arena arena;
};

/* Decide types and sizes. Refuses packed, split, rotated and non-model sources (ERROR_UNSUPPORTED), rules that cannot
 * be parsed (ERROR_USAGE), ragged rows when on_ragged says so (ERROR_UNSUPPORTED, all of them in p->offenders), zero
 * counts no group can have (ERROR_USAGE). */
int plan_open(struct plan *p, const struct gguf *model, const struct pack_options *o, struct error *err);
void plan_free(struct plan *p);
/* Bind statistics: every entry must name a tensor of the model with that row length, and every tensor to be fitted must
 * have one (ERROR_MISMATCH / ERROR_MISSING, all named as far as the line holds). */
int plan_stats(struct plan *p, const struct stats *s, struct error *err);
/* The same from options->stats. Statistics that name another model than p->source_sha256 are refused (ERROR_MISMATCH).
 * Sets p->stats_sha256; what is needed of the statistics is copied. */
int plan_load_stats(struct plan *p, struct error *err);
/* Look at the values: which tensors are ternary already. Reads only as far as needed to know. ERROR_MISMATCH for a
 * tensor that is not when options->lossless is LOSSLESS_REQUIRE. */
int plan_scan(struct plan *p, struct progress *progress, struct error *err);

double plan_bits_per_weight(const struct plan_tensor *t);

#endif
