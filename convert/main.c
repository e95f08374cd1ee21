/* SPDX-License-Identifier: Apache-2.0 */
/* tern-convert: a Hugging Face checkpoint becomes a full-precision GGUF file. */
#include <stdio.h>

#include "base/util/parallel.h"
#include "convert/job.h"
#include "convert/report.h"

static int print_reports(const struct job *j, struct error *err)
{
    const struct cli_common *common = &j->opt->common;
    struct buffer data = { 0 }, talk = { 0 };
    int rc = 0;
    if (common->json)
        rc = report_json(j, common->dry_run, &data, err);
    else if (common->dry_run)
        rc = report_plan(j, &data, err);
    if (!rc && !common->quiet)
        rc = report_summary(j, &talk, err);
    if (!rc && data.len)
        fwrite(data.data, 1, data.len, stdout);
    if (!rc && talk.len)
        fwrite(talk.data, 1, talk.len, stderr);
    buffer_free(&data);
    buffer_free(&talk);
    return rc;
}

int main(int argc, char **argv)
{
    struct error err = { 0 };
    struct convert_options opt = { 0 };
    struct job job = { 0 };

    interrupt_install();
    int rc = convert_options_parse(&opt, argc, argv, &err);
    if (!rc)
        rc = job_open(&job, &opt, &err);
    if (!rc && !opt.common.dry_run)
        rc = job_write(&job, &err);
    if (!rc)
        rc = print_reports(&job, &err);
    job_close(&job);
    convert_options_free(&opt);
    return cli_finish("tern-convert", rc, &err);
}
