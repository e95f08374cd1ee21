/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pool: the only place that makes threads. Work is cut by item index, never by thread, so results do not depend on
 * the number of threads.
 */
#ifndef TERNPACK_BASE_UTIL_PARALLEL_H
#define TERNPACK_BASE_UTIL_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/error.h"

struct pool;

/* n_threads >= 1 (0: number of usable cores), lowered to four per core or 64, whichever is more. The caller's thread is
 * one of them. */
int pool_open(struct pool **out, unsigned n_threads, struct error *err);
void pool_close(struct pool *p); /* NULL is fine */
unsigned pool_threads(const struct pool *p);
unsigned pool_cores(void); /* cores this process may use */

/* Call fn(ctx, item, worker) once for each item in [0, n); worker < pool_threads(p) names a private scratch slot.
 * Returns when all are done. p == NULL runs inline. Not reentrant: fn must not call the pool. */
typedef void pool_fn(void *ctx, size_t item, unsigned worker);
void pool_run(struct pool *p, size_t n, pool_fn *fn, void *ctx);

/* The same for items that can fail: 0, or the error of the lowest failing item, whatever the threads. A worker that
 * failed calls fn for no further item, so results of items above the failing one may be untouched. ERROR_NOMEM before
 * any call. */
typedef int pool_try_fn(void *ctx, size_t item, unsigned worker, struct error *err);
int pool_try(struct pool *p, size_t n, pool_try_fn *fn, void *ctx, struct error *err);

/* Pipeline: read(i) and write(i) run in order on the caller's thread, work(i) on any thread, at most `window` items
 * between read and write (slot = i % window names its buffers). The first error (lowest item) stops and is returned. */
struct pool_pipe {
    int (*read)(void *ctx, size_t item, size_t slot, struct error *err);
    int (*work)(void *ctx, size_t item, size_t slot, unsigned worker, struct error *err);
    int (*write)(void *ctx, size_t item, size_t slot, struct error *err);
    void *ctx;
};
int pool_pipe(struct pool *p, size_t n, size_t window, const struct pool_pipe *pipe, struct error *err);

/* SIGINT and SIGTERM set a flag; the second one ends the process at once with _exit(130). Long loops ask. */
void interrupt_install(void);
bool interrupt_pending(void);
int interrupt_check(struct error *err); /* 0 or ERROR_INTERRUPTED */

#endif
