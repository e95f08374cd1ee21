/* SPDX-License-Identifier: Apache-2.0 */
/* tern-calib: run a model over text, write how much each input channel of its linear layers matters. */
#include <stdio.h>

#include "calib/job.h"
#include "runtime/blas.h"

static const char program[] = "tern-calib";

static int tell(const struct job *j, bool done, struct error *err)
{
    const struct cli_common *c = &j->options->common;
    struct buffer text = { 0 }, json = { 0 };
    int rc = job_text(j, done, &text, err);
    if (!rc && c->json)
        rc = job_json(j, done, &json, err);
    if (!rc && !c->quiet)
        fwrite(text.data, 1, text.len, stderr);
    if (!rc && json.len)
        fwrite(json.data, 1, json.len, stdout);
    buffer_free(&text);
    buffer_free(&json);
    return rc;
}

static int calibrate(const struct calib_options *o, struct error *err)
{
    struct job j;
    int rc = job_open(&j, o, err);
    if (!rc && o->common.verbose)
        fprintf(stderr, "%s: kernels %s, %u threads\n", program, j.kernels->name, pool_threads(j.pool));
    if (!rc && !o->common.dry_run && !(rc = job_run(&j, err)))
        rc = job_write(&j, err);
    if (!rc)
        rc = tell(&j, !o->common.dry_run, err);
    job_close(&j);
    return rc;
}

int main(int argc, char **argv)
{
    struct calib_options o;
    struct error err = { 0 };
    blas_choose(argv);
    interrupt_install();
    int rc = options_parse(&o, argc, argv, &err);
    if (!rc)
        rc = calibrate(&o, &err);
    options_free(&o);
    return cli_finish(program, rc, &err);
}
