/* SPDX-License-Identifier: Apache-2.0 */
/* One run of tern-calib: what it reads, what it plans, what it found. */
#ifndef TERNPACK_CALIB_JOB_H
#define TERNPACK_CALIB_JOB_H

#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "calib/collect.h"
#include "calib/corpus.h"
#include "calib/options.h"

struct job {
    const struct calib_options *options;
    const struct kernels *kernels;
    struct pool *pool;
    struct progress *progress;
    struct model *model;
    struct tokenizer *tokenizer;
    struct corpus corpus;
    struct token_list tokens;
    bool all_tokens; /* tokens is the whole corpus, not only what the chunks need */
    bool add_bos;
    size_t n_chunks;
    char model_sha256[65];
    struct collect collect;
    struct stats stats;
    double seconds; /* of the evaluation */
};

/* Open the inputs, check them and the output, cut the text into chunks. Touches nothing. */
int job_open(struct job *j, const struct calib_options *o, struct error *err);
/* Evaluate every chunk. */
int job_run(struct job *j, struct error *err);
/* Write the statistics and read them back. */
int job_write(struct job *j, struct error *err);
/* The result for stdout, one JSON object and a newline; and the lines for people. `done`: chunks were evaluated. */
int job_json(const struct job *j, bool done, struct buffer *out, struct error *err);
int job_text(const struct job *j, bool done, struct buffer *out, struct error *err);
void job_close(struct job *j); /* accepts a zero struct */

#endif
