/* SPDX-License-Identifier: Apache-2.0 */
/* ternpack: convert, calibrate, pack, verify and evaluate in one go. */
#include "base/util/parallel.h"
#include "driver/driver.h"

/* Nothing is written before everything that can be known is known. A failure keeps OUT.work when a step in it is done.
 */
static int work(struct driver *d, struct error *err)
{
    bool any = false;
    int code = workdir_open(d, err);
    if (!code)
        code = state_load(d, err);
    if (!code)
        code = inputs_digest(d, err);
    if (!code)
        code = steps_run(d, err);
    if (!code)
        code = workdir_deliver(d, err);
    for (int i = 0; i < N_STEPS; i++)
        any = any || d->steps[i].done;
    bool keep = code ? any || d->old : d->o->keep;
    if (code && keep && d->lock >= 0)
        report_note(d, d->work, "what is done is kept here; --resume goes on with it");
    workdir_close(d, !keep);
    return code;
}

static int run(const struct driver_options *o, struct error *err)
{
    struct driver d;
    int code = driver_plan(&d, o, err);
    if (!code)
        code = inputs_list(&d, err);
    if (!code)
        code = driver_commands(&d, err);
    if (!code)
        code = progress_open(&d.progress, (enum progress_mode)o->common.progress, 2, err);
    if (!code)
        code = preflight(&d, err);
    if (!code && o->common.dry_run)
        code = report_plan(&d, err);
    else if (!code && !(code = work(&d, err)))
        code = report_summary(&d, err);
    progress_close(d.progress);
    driver_free(&d);
    return code;
}

int main(int argc, char **argv)
{
    struct driver_options o;
    struct error err = { 0 };
    interrupt_install();
    int code = driver_options_parse(&o, argc, argv, &err);
    if (!code)
        code = run(&o, &err);
    driver_options_free(&o);
    return cli_finish("ternpack", code, &err);
}
