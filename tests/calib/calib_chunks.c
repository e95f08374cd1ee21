/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calib_chunks MODEL.gguf CORPUS N_CTX CHUNKS FROM TO LENGTH OUT.gguf
 * Statistics of the first CHUNKS chunks of N_CTX tokens and of the first LENGTH tokens of chunks FROM .. TO-1
 * (0-based). llama-imatrix evaluates several chunks side by side, a slice of each at a time; a file it saved on the way
 * is such a set of tokens, and this makes the same one with tern-calib's library (tests/interop/calib.sh).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/text.h"
#include "calib/job.h"
#include "runtime/blas.h"

static int collect_part(struct job *j, uint64_t from, uint64_t to, uint64_t length, struct error *err)
{
    int rc = 0;
    for (uint64_t i = from; i < to && !rc; i++) {
        uint64_t n = j->options->n_ctx;
        if ((i + 1) * n > j->tokens.n)
            return error_set(err, ERROR_USAGE, "the text has no chunk %" PRIu64, i);
        if (j->add_bos)
            j->tokens.ids[i * n] = tokenizer_bos(j->tokenizer);
        rc = collect_chunk(&j->collect, j->tokens.ids + i * n, length, err);
    }
    return rc;
}

static int run(char **argv, const uint64_t v[5], struct error *err)
{
    const char *corpus = argv[2];
    struct calib_options o = { .model = argv[1], .files = { &corpus, 1 }, .output = argv[8], .n_ctx = v[0] };
    struct job j;
    o.common.force = true;
    o.common.progress = PROGRESS_NONE;
    int rc = job_open(&j, &o, err);
    if (!rc)
        rc = collect_part(&j, 0, v[1], v[0], err);
    if (!rc)
        rc = collect_part(&j, v[2], v[3], v[4], err);
    if (!rc)
        rc = collect_stats(&j.collect, &j.stats, err);
    if (!rc)
        rc = job_write(&j, err);
    job_close(&j);
    return rc;
}

int main(int argc, char **argv)
{
    struct error err = { 0 };
    uint64_t v[5];
    blas_choose(argv);
    if (argc != 9)
        return 2;
    for (int i = 0; i < 5; i++)
        if (!text_u64(argv[3 + i], &v[i]))
            return 2;
    int rc = run(argv, v, &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return error_exit_status(rc);
}
