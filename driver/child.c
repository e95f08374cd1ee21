/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/util/file.h"
#include "base/util/parallel.h"
#include "driver/talk.h"

extern char **environ;

enum { OUT_LIMIT = 256 << 20, READ_SIZE = 65536 };

double child_clock(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct pipes {
    int out[2], err[2];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Standard input is empty, the two outputs are pipes, signals are as they are in a fresh process. */
static int spawn(const struct command *c, struct pipes *p, pid_t *pid, struct error *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, usual;

    sigemptyset(&none);
    sigfillset(&usual);
    int e = posix_spawn_file_actions_init(&files);
    if (e)
        return error_errno(err, ERROR_IO, e, "cannot start %s", c->argv[0]);
    e = posix_spawnattr_init(&attr);
    if (!e) {
        if (!(e = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)) &&
            !(e = posix_spawn_file_actions_adddup2(&files, p->out[1], 1)) &&
            !(e = posix_spawn_file_actions_adddup2(&files, p->err[1], 2)) &&
            !(e = posix_spawnattr_setpgroup(&attr, 0)) && !(e = posix_spawnattr_setsigmask(&attr, &none)) &&
            !(e = posix_spawnattr_setsigdefault(&attr, &usual)) &&
            !(e = posix_spawnattr_setflags(&attr,
                                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF)))
            e = posix_spawn(pid, c->argv[0], &files, &attr, c->argv, environ);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&files);
    return e ? error_errno(err, ERROR_IO, e, "cannot start %s", c->argv[0]) : 0;
}

/* Read what is there; at the end of the stream *fd becomes -1. */
static int take(struct child *c, int *fd, bool is_talk, struct error *err)
{
    char bytes[READ_SIZE];
    ssize_t n = read(*fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return 0;
    if (n < 0)
        return error_errno(err, ERROR_IO, errno, "cannot read from the program");
    if (n == 0) {
        close_fd(fd);
        return is_talk ? talk_end(c, err) : 0;
    }
    if (is_talk)
        return talk_take(c, bytes, (size_t)n, err);
    if (c->out.len + (size_t)n > OUT_LIMIT)
        return error_set(err, ERROR_INTERNAL, "its result is longer than %d MiB", OUT_LIMIT >> 20);
    return buffer_append(&c->out, bytes, (size_t)n, err);
}

/* Until both streams end. An interrupt is passed on once, then the program has time to clean up. */
static int pump(struct child *c, struct pipes *p, pid_t pid, struct error *err)
{
    bool told = false;
    int code = 0;
    while (!code && (p->out[0] >= 0 || p->err[0] >= 0)) {
        struct pollfd ready[2] = { { .fd = p->out[0], .events = POLLIN }, { .fd = p->err[0], .events = POLLIN } };
        if (interrupt_pending() && !told) {
            kill(pid, SIGINT);
            told = true;
        }
        if (poll(ready, 2, 200) <= 0)
            continue;
        if (ready[0].revents)
            code = take(c, &p->out[0], false, err);
        if (!code && ready[1].revents)
            code = take(c, &p->err[0], true, err);
    }
    return code;
}

static int outcome(struct child *c, int status, struct error *err)
{
    if (interrupt_pending() || (WIFEXITED(status) && WEXITSTATUS(status) == 130))
        return error_set(err, ERROR_INTERRUPTED, "interrupted");
    if (WIFSIGNALED(status))
        return error_set(err, ERROR_INTERNAL, "the program was killed by signal %d (%s)", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == 0)
        return 0;
    int code = WEXITSTATUS(status) == 1 ? ERROR_FORMAT : WEXITSTATUS(status) == 2 ? ERROR_IO : ERROR_INTERNAL;
    error_set(err, code, "exit status %d without a word", WEXITSTATUS(status));
    talk_last(c, err);
    return code;
}

int child_run(struct child *c, const struct command *command, struct error *err)
{
    struct pipes p = { { -1, -1 }, { -1, -1 } };
    double start = child_clock();
    pid_t pid = -1;
    int code, status = 0;

    if (pipe2(p.out, O_CLOEXEC) != 0 || pipe2(p.err, O_CLOEXEC) != 0)
        code = error_errno(err, ERROR_IO, errno, "cannot make a pipe");
    else
        code = spawn(command, &p, &pid, err);
    close_fd(&p.out[1]);
    close_fd(&p.err[1]);
    if (!code) {
        code = pump(c, &p, pid, err);
        if (code)
            kill(pid, SIGTERM);
        close_fd(&p.out[0]);
        close_fd(&p.err[0]);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            if (interrupt_pending())
                kill(pid, SIGINT);
        if (!code)
            code = outcome(c, status, err);
    }
    close_fd(&p.out[0]);
    close_fd(&p.err[0]);
    progress_end(c->progress);
    c->seconds = child_clock() - start;
    return code;
}

void child_free(struct child *c)
{
    buffer_free(&c->out);
    buffer_free(&c->talk);
    buffer_free(&c->line);
}
