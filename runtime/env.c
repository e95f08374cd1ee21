/* SPDX-License-Identifier: Apache-2.0 */
#include <cblas.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/commands.h"

int run_env_open(struct run_env *e, const struct run_options *o, struct error *err)
{
    *e = (struct run_env){ 0 };
    interrupt_install();
    int rc = kernels_select(&e->kernels, getenv("TERNPACK_KERNELS"), err);
    if (!rc)
        rc = pool_open(&e->pool, (unsigned)o->common.threads, err);
    if (!rc)
        rc = progress_open(&e->progress, o->common.progress, 2, err);
    if (!rc) {
        e->model_options = (struct model_options){
            .kernels = e->kernels, .pool = e->pool, .exact = o->exact, .no_mmap = o->no_mmap, .mlock = o->mlock
        };
        rc = model_open(&e->model, o->model, &e->model_options, err);
    }
    if (!rc && o->common.verbose)
        run_say(o, "kernels: %s, BLAS: OpenBLAS %s, threads: %u", e->kernels->name, openblas_get_corename(),
                pool_threads(e->pool));
    if (rc)
        run_env_close(e);
    return rc;
}

void run_env_close(struct run_env *e)
{
    model_close(e->model);
    progress_close(e->progress);
    pool_close(e->pool);
    *e = (struct run_env){ 0 };
}

double run_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int run_check_logits(const struct run_options *o, const float *logits, size_t n, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(logits[i]))
            return error_set(err, ERROR_FORMAT, "%s: the logits are not finite", o->model);
    return 0;
}

void run_say(const struct run_options *o, const char *fmt, ...)
{
    if (o->common.quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}
