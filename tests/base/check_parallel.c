/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/util/parallel.h"
#include <stdio.h>

#include "tests/support/support.h"

enum { N = 3000 };

struct count {
    atomic_uint hits[N];
    atomic_uint bad_worker;
    unsigned threads;
};

static void hit(void *ctx, size_t item, unsigned worker)
{
    struct count *c = ctx;
    atomic_fetch_add(&c->hits[item], 1);
    if (worker >= c->threads)
        atomic_fetch_add(&c->bad_worker, 1);
}

START_TEST(each_item_runs_once)
{
    static struct count c;
    struct error e = { 0 };
    for (unsigned threads = 1; threads <= 9; threads += 2) {
        struct pool *p = NULL;
        ck_ok(pool_open(&p, threads, &e), e);
        ck_assert_uint_eq(pool_threads(p), threads);
        memset(&c, 0, sizeof c);
        c.threads = threads;
        static const size_t sizes[] = { 0, 1, 2, 17, N };
        unsigned want[N] = { 0 };
        for (int round = 0; round < 40; round++) {
            size_t n = sizes[round % 5];
            pool_run(p, n, hit, &c);
            for (size_t i = 0; i < n; i++)
                want[i]++;
        }
        for (size_t i = 0; i < N; i++)
            ck_assert_uint_eq(c.hits[i], want[i]);
        ck_assert_uint_eq(c.bad_worker, 0);
        pool_close(p);
    }
    memset(&c, 0, sizeof c);
    c.threads = 1;
    pool_run(NULL, 5, hit, &c);
    ck_assert_uint_eq(c.hits[4], 1);
    ck_assert_uint_eq(pool_threads(NULL), 1);
    ck_assert_uint_ge(pool_cores(), 1);
    pool_close(NULL);
}
END_TEST

struct flow {
    size_t n_read, n_written, window, fail_read, fail_work, fail_work2, fail_write;
    int slots[64];
    atomic_uint worked;
    atomic_int problems;
};

static int do_read(void *ctx, size_t item, size_t slot, struct error *err)
{
    struct flow *f = ctx;
    if (item == f->fail_read)
        return error_set(err, ERROR_IO, "read %zu", item);
    if (item != f->n_read++ || slot != item % f->window || item - f->n_written >= f->window)
        atomic_fetch_add(&f->problems, 1);
    f->slots[slot] = (int)item;
    return 0;
}

static int do_work(void *ctx, size_t item, size_t slot, unsigned worker, struct error *err)
{
    struct flow *f = ctx;
    (void)worker;
    if (f->slots[slot] != (int)item)
        atomic_fetch_add(&f->problems, 1);
    atomic_fetch_add(&f->worked, 1);
    if (item == f->fail_work)
        usleep(2000); /* the later error comes first in time */
    if (item == f->fail_work || item == f->fail_work2)
        return error_set(err, ERROR_MISMATCH, "work %zu", item);
    f->slots[slot] = -(int)item - 1;
    return 0;
}

static int do_write(void *ctx, size_t item, size_t slot, struct error *err)
{
    struct flow *f = ctx;
    if (item == f->fail_write)
        return error_set(err, ERROR_NOSPACE, "write %zu", item);
    if (item != f->n_written++ || f->slots[slot] != -(int)item - 1)
        atomic_fetch_add(&f->problems, 1);
    return 0;
}

static int run_flow(struct flow *f, unsigned threads, size_t n, size_t window, struct error *e)
{
    struct pool *p = NULL;
    struct pool_pipe pipe = { do_read, do_work, do_write, f };
    f->window = window;
    ck_ok(pool_open(&p, threads, e), *e);
    int code = pool_pipe(p, n, window, &pipe, e);
    pool_close(p);
    ck_assert_int_eq(f->problems, 0);
    return code;
}

#define NO_FAILURE .fail_read = -1, .fail_work = -1, .fail_work2 = -1, .fail_write = -1

START_TEST(pipeline_keeps_order)
{
    for (unsigned threads = 1; threads <= 6; threads++)
        for (size_t window = 1; window <= 7; window += 3) {
            struct flow f = { NO_FAILURE };
            struct error e = { 0 };
            ck_ok(run_flow(&f, threads, 500, window, &e), e);
            ck_assert_uint_eq(f.n_read, 500);
            ck_assert_uint_eq(f.n_written, 500);
            ck_assert_uint_eq(f.worked, 500);
        }
    struct flow none = { NO_FAILURE };
    struct error e = { 0 };
    ck_ok(run_flow(&none, 3, 0, 4, &e), e);
}
END_TEST

START_TEST(lowest_error_wins)
{
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct error e = { 0 };
        struct flow f = { NO_FAILURE };
        f.fail_work = 100;
        f.fail_work2 = 102;
        ck_assert_int_eq(run_flow(&f, threads, 500, 8, &e), ERROR_MISMATCH);
        ck_assert_str_eq(e.text, "work 100");
        ck_assert_int_eq(e.code, ERROR_MISMATCH);
        ck_assert_uint_eq(f.n_written, 100);
        ck_assert_uint_le(f.n_read, 108);
        struct flow r = { NO_FAILURE };
        r.fail_read = 50;
        ck_assert_int_eq(run_flow(&r, threads, 500, 8, &e), ERROR_IO);
        ck_assert_str_eq(e.text, "read 50");
        ck_assert_uint_eq(r.n_written, 50);
        struct flow w = { NO_FAILURE };
        w.fail_write = 0;
        ck_assert_int_eq(run_flow(&w, threads, 500, 8, &e), ERROR_NOSPACE);
        ck_assert_str_eq(e.text, "write 0");
        struct flow both = { NO_FAILURE };
        both.fail_read = 12;
        both.fail_work = 9;
        ck_assert_int_eq(run_flow(&both, threads, 500, 8, &e), ERROR_MISMATCH);
        ck_assert_str_eq(e.text, "work 9");
    }
}
END_TEST

START_TEST(first_signal_sets_the_flag)
{
    struct error e = { 0 };
    interrupt_install();
    ck_assert(!interrupt_pending());
    ck_assert_int_eq(interrupt_check(&e), 0);
    raise(SIGTERM);
    ck_assert(interrupt_pending());
    ck_assert_int_eq(interrupt_check(&e), ERROR_INTERRUPTED);
    ck_assert_int_eq(interrupt_check(NULL), ERROR_INTERRUPTED);
}
END_TEST

START_TEST(second_signal_ends_the_process)
{
    interrupt_install();
    raise(SIGINT);
    raise(SIGINT);
}
END_TEST

static int fail_above(void *ctx, size_t item, unsigned worker, struct error *err)
{
    (void)worker;
    return item >= *(const size_t *)ctx ? error_set(err, ERROR_FORMAT, "item %zu", item) : 0;
}

/* Whatever the threads, the error is that of the lowest failing item. */
START_TEST(lowest_failing_item_wins)
{
    for (unsigned threads = 1; threads <= 5; threads++) {
        struct pool *pool = NULL;
        struct error err = { 0 };
        ck_ok(pool_open(&pool, threads, &err), err);
        for (size_t first = 0; first < 40; first += 13) {
            char want[32];
            snprintf(want, sizeof want, "item %zu", first);
            ck_assert_int_eq(pool_try(pool, 200, fail_above, &first, &err), ERROR_FORMAT);
            ck_assert_str_eq(err.text, want);
            ck_assert_int_eq(pool_try(pool, 200, fail_above, &first, NULL), ERROR_FORMAT);
            ck_ok(pool_try(pool, first, fail_above, &first, &err), err);
        }
        pool_close(pool);
    }
    size_t first = 3;
    struct error err = { 0 };
    ck_assert_int_eq(pool_try(NULL, 9, fail_above, &first, &err), ERROR_FORMAT);
    ck_assert_str_eq(err.text, "item 3");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("parallel");
    TCase *c = tcase_create("parallel");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, each_item_runs_once);
    tcase_add_test(c, pipeline_keeps_order);
    tcase_add_test(c, lowest_error_wins);
    tcase_add_test(c, first_signal_sets_the_flag);
    tcase_add_test(c, lowest_failing_item_wins);
    tcase_add_exit_test(c, second_signal_ends_the_process, 130);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
