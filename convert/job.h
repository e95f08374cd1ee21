/* SPDX-License-Identifier: Apache-2.0 */
/* One conversion from open to commit. Steps in order: open (checks everything), write or only report. */
#ifndef TERNPACK_CONVERT_JOB_H
#define TERNPACK_CONVERT_JOB_H

#include "base/format/gguf.h"
#include "base/format/safetensors.h"
#include "convert/config.h"
#include "convert/emit.h"
#include "convert/metadata.h"
#include "convert/notes.h"
#include "convert/options.h"
#include "convert/plan.h"

struct job {
    const struct convert_options *opt;
    struct config config;
    struct st_model model;
    struct plan plan;
    struct metadata metadata;
    struct notes notes;
    struct gguf_writer *writer;
    struct emit emit;
    uint64_t file_bytes, n_kv; /* file_bytes: planned, equal to what is written */
};

/* Read and check the folder, plan the file, check the output's place. Nothing is written. */
int job_open(struct job *j, const struct convert_options *opt, struct error *err);
/* Write the file, then open it again and check that it is what was planned. */
int job_write(struct job *j, struct error *err);
void job_close(struct job *j); /* accepts a zero struct */

#endif
