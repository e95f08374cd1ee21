/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/util/parallel.h"

static atomic_int pending; /* lock-free, so the handler may set it and any thread may read it */

static void on_signal(int sig)
{
    (void)sig;
    if (atomic_exchange(&pending, 1))
        _exit(130);
}

void interrupt_install(void)
{
    /* Without SA_RESTART, so that a blocking read or wait returns and its loop sees the flag. */
    struct sigaction act = { .sa_handler = on_signal }, old;
    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup stays in force */
        sigaction(SIGHUP, &act, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a write beyond the file size limit returns EFBIG instead of ending the process */
}

bool interrupt_pending(void)
{
    return atomic_load_explicit(&pending, memory_order_relaxed) != 0;
}

int interrupt_check(struct error *err)
{
    return interrupt_pending() ? error_set(err, ERROR_INTERRUPTED, "interrupted") : 0;
}
