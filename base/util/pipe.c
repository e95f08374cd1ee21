/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>

#include "base/util/mem.h"
#include "base/util/pool_private.h"

/*
 * Items pass three counters: written <= taken <= have been read. Between taken and written an item is at work or done.
 * The caller's thread writes what is done first in line, else reads ahead as far as the window allows, else works too.
 * `limit` is the lowest item that failed (n when none has): nothing at or above it is started any more, everything
 * below it is finished, so the error that is reported does not depend on timing.
 */
struct line {
    pthread_mutex_t lock;
    pthread_cond_t for_workers, for_caller;
    const struct pool_pipe *pipe;
    size_t n, window;
    size_t read, taken, written;
    size_t limit;
    bool *done; /* by slot */
    bool closed;
    struct error first;
};

/* With the lock held. */
static void fail(struct line *l, size_t item, int code, const struct error *e)
{
    if (item >= l->limit)
        return;
    l->limit = item;
    l->first = *e;
    l->first.code = code;
}

static bool has_work(const struct line *l)
{
    return l->taken < l->read && l->taken < l->limit;
}

/* With the lock held, which is given up during the work itself. */
static void work_one(struct line *l, unsigned worker)
{
    size_t item = l->taken++, slot = item % l->window;
    struct error e;
    pthread_mutex_unlock(&l->lock);
    e.code = 0;
    e.text[0] = 0;
    int code = l->pipe->work ? l->pipe->work(l->pipe->ctx, item, slot, worker, &e) : 0;
    pthread_mutex_lock(&l->lock);
    if (code)
        fail(l, item, code, &e);
    l->done[slot] = true;
    pthread_cond_signal(&l->for_caller);
}

static void worker_line(void *arg, unsigned worker)
{
    struct line *l = arg;
    pthread_mutex_lock(&l->lock);
    for (;;) {
        if (has_work(l))
            work_one(l, worker);
        else if (l->closed)
            break;
        else
            pthread_cond_wait(&l->for_workers, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
}

/* read or write of one item on the caller's thread, without the lock. */
static int step(struct line *l, int (*fn)(void *, size_t, size_t, struct error *), size_t item)
{
    struct error e;
    e.code = 0;
    e.text[0] = 0;
    pthread_mutex_unlock(&l->lock);
    int code = fn ? fn(l->pipe->ctx, item, item % l->window, &e) : 0;
    pthread_mutex_lock(&l->lock);
    if (code)
        fail(l, item, code, &e);
    return code;
}

static void caller_line(struct line *l)
{
    pthread_mutex_lock(&l->lock);
    while (l->written < l->limit) {
        size_t first = l->written % l->window;
        if (l->written < l->taken && l->done[first]) {
            if (step(l, l->pipe->write, l->written) == 0) {
                l->done[first] = false;
                l->written++;
            }
        } else if (l->read < l->limit && l->read - l->written < l->window) {
            if (step(l, l->pipe->read, l->read) == 0) {
                l->read++;
                pthread_cond_signal(&l->for_workers);
            }
        } else if (has_work(l)) {
            work_one(l, 0);
        } else {
            pthread_cond_wait(&l->for_caller, &l->lock);
        }
    }
    l->closed = true;
    pthread_cond_broadcast(&l->for_workers);
    pthread_mutex_unlock(&l->lock);
}

int pool_pipe(struct pool *p, size_t n, size_t window, const struct pool_pipe *pipe, struct error *err)
{
    struct line l = { .pipe = pipe, .n = n, .window = window ? window : 1, .limit = n };

    l.done = mem_zalloc(l.window, sizeof *l.done, "pipeline", err);
    if (!l.done)
        return ERROR_NOMEM;
    pthread_mutex_init(&l.lock, NULL);
    pthread_cond_init(&l.for_workers, NULL);
    pthread_cond_init(&l.for_caller, NULL);
    pool_start(p, worker_line, &l);
    caller_line(&l);
    pool_finish(p);
    pthread_cond_destroy(&l.for_caller);
    pthread_cond_destroy(&l.for_workers);
    pthread_mutex_destroy(&l.lock);
    mem_free(l.done);
    if (l.limit == n)
        return 0;
    if (err)
        *err = l.first;
    return l.first.code;
}
