/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/parallel.h"

#include <pthread.h>
#include <stdint.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/util/mem.h"
#include "base/util/pool_private.h"

/*
 * A call to the pool is one "round": the round number goes up, each worker runs fn once and reports. Workers spin a
 * moment before they sleep, because a model's layers follow each other within microseconds.
 */
struct pool {
    unsigned n_threads, n_started;
    pthread_t *threads;
    struct start {
        struct pool *pool;
        unsigned worker;
    } * starts;
    pthread_mutex_t lock;
    pthread_cond_t wake, done;
    atomic_uint round, busy;
    bool quit;
    void (*fn)(void *arg, unsigned worker);
    void *arg;
};

enum { SPINS = 4000, MAX_THREADS = 1024 };

static void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

static void *worker_main(void *arg)
{
    struct start *me = arg;
    struct pool *p = me->pool;
    for (unsigned seen = 0;;) {
        for (int i = 0; i < SPINS && atomic_load_explicit(&p->round, memory_order_acquire) == seen; i++)
            relax();
        pthread_mutex_lock(&p->lock);
        while (atomic_load(&p->round) == seen && !p->quit)
            pthread_cond_wait(&p->wake, &p->lock);
        bool quit = p->quit;
        seen = atomic_load(&p->round);
        pthread_mutex_unlock(&p->lock);
        if (quit)
            return NULL;
        p->fn(p->arg, me->worker);
        if (atomic_fetch_sub(&p->busy, 1) == 1) {
            pthread_mutex_lock(&p->lock);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

unsigned pool_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

int pool_open(struct pool **out, unsigned n_threads, struct error *err)
{
    int code = ERROR_NOMEM;
    sigset_t all, before;

    *out = NULL;
    if (n_threads == 0)
        n_threads = pool_cores();
    /* More threads than this only wait for each other: waking a thousand takes longer than the work. */
    unsigned most = pool_cores() <= 16 ? 64 : 4 * pool_cores();
    if (most > MAX_THREADS)
        most = MAX_THREADS;
    if (n_threads > most)
        n_threads = most;
    struct pool *p = mem_zalloc(1, sizeof *p, "thread pool", err);
    if (!p)
        return ERROR_NOMEM;
    p->n_threads = n_threads;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = mem_zalloc(n_threads, sizeof *p->threads, "thread pool", err);
    p->starts = mem_zalloc(n_threads, sizeof *p->starts, "thread pool", err);
    if (!p->threads || !p->starts)
        goto fail;
    /* Signals go to the caller's thread, whose blocking calls they should end. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (code = 0; !code && p->n_started + 1 < n_threads;) {
        struct start *s = &p->starts[p->n_started];
        *s = (struct start){ p, p->n_started + 1 };
        int e = pthread_create(&p->threads[p->n_started], NULL, worker_main, s);
        if (e)
            code = error_errno(err, ERROR_NOMEM, e, "cannot start thread %u of %u", p->n_started + 2, n_threads);
        else
            p->n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code)
        goto fail;
    *out = p;
    return 0;
fail:
    pool_close(p);
    return code;
}

void pool_close(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->quit = true;
    atomic_fetch_add(&p->round, 1); /* ends the spinning */
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_started; i++)
        pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    mem_free(p->starts);
    mem_free(p->threads);
    mem_free(p);
}

unsigned pool_threads(const struct pool *p)
{
    return p ? p->n_threads : 1;
}

void pool_start(struct pool *p, void (*fn)(void *arg, unsigned worker), void *arg)
{
    if (!p || p->n_started == 0)
        return;
    pthread_mutex_lock(&p->lock);
    p->fn = fn;
    p->arg = arg;
    atomic_store(&p->busy, p->n_started);
    atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
}

void pool_finish(struct pool *p)
{
    if (!p || p->n_started == 0)
        return;
    for (int i = 0; i < SPINS && atomic_load_explicit(&p->busy, memory_order_acquire); i++)
        relax();
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->busy))
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

struct run {
    size_t n;
    atomic_size_t next;
    pool_fn *fn;
    void *ctx;
};

static void run_items(void *arg, unsigned worker)
{
    struct run *r = arg;
    for (size_t item; (item = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed)) < r->n;)
        r->fn(r->ctx, item, worker);
}

void pool_run(struct pool *p, size_t n, pool_fn *fn, void *ctx)
{
    struct run r = { .n = n, .fn = fn, .ctx = ctx };
    if (n < 2) { /* not worth waking anybody */
        run_items(&r, 0);
        return;
    }
    pool_start(p, run_items, &r);
    run_items(&r, 0);
    pool_finish(p);
}

/* What a worker met first, which is its lowest failing item: items are handed out in ascending order. */
struct failure {
    size_t item; /* SIZE_MAX: none */
    struct error err;
};

struct attempt {
    pool_try_fn *fn;
    void *ctx;
    struct failure *failures; /* one a worker */
};

static void try_item(void *ctx, size_t item, unsigned worker)
{
    struct attempt *a = ctx;
    struct failure *f = &a->failures[worker];
    if (f->item == SIZE_MAX && a->fn(a->ctx, item, worker, &f->err))
        f->item = item;
}

int pool_try(struct pool *p, size_t n, pool_try_fn *fn, void *ctx, struct error *err)
{
    unsigned n_workers = p ? pool_threads(p) : 1;
    struct attempt a = { .fn = fn, .ctx = ctx };
    const struct failure *bad = NULL;
    int code = 0;

    if (!(a.failures = mem_zalloc(n_workers, sizeof *a.failures, "errors of workers", err)))
        return ERROR_NOMEM;
    for (unsigned i = 0; i < n_workers; i++)
        a.failures[i].item = SIZE_MAX;
    pool_run(p, n, try_item, &a);
    for (unsigned i = 0; i < n_workers; i++)
        if (a.failures[i].item != SIZE_MAX && (!bad || a.failures[i].item < bad->item))
            bad = &a.failures[i];
    if (bad) {
        code = bad->err.code;
        if (err)
            *err = bad->err;
    }
    mem_free(a.failures);
    return code;
}
