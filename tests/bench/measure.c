/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure [-o FILE] COMMAND [ARGUMENT...]: run a command and write one JSON object with its exit status, wall, user and
 * system seconds and peak resident set (of the largest single process), as the kernel accounted them, to FILE or
 * stderr. Exits as the command did (128 + signal when it was killed).
 */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    const char *out = NULL;
    int first = 1, status;
    if (argc > 2 && !strcmp(argv[1], "-o")) {
        out = argv[2];
        first = 3;
    }
    if (first >= argc) {
        fprintf(stderr, "usage: measure [-o FILE] COMMAND [ARGUMENT...]\n");
        return 2;
    }
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    pid_t pid;
    int rc = posix_spawnp(&pid, argv[first], NULL, NULL, argv + first, environ);
    if (rc) {
        fprintf(stderr, "measure: %s: %s\n", argv[first], strerror(rc));
        return 2;
    }
    struct rusage r;
    while (wait4(pid, &status, 0, &r) < 0)
        if (errno != EINTR)
            return 2;
    clock_gettime(CLOCK_MONOTONIC, &b);
    FILE *f = out ? fopen(out, "w") : stderr;
    if (!f) {
        perror(out);
        return 2;
    }
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    fprintf(f, "{\"status\": %d, \"wall_s\": %.6f, \"user_s\": %.6f, \"sys_s\": %.6f, \"max_rss_kib\": %ld}\n", code,
            (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) * 1e-9, seconds(r.ru_utime),
            seconds(r.ru_stime), r.ru_maxrss);
    if (out && fclose(f)) {
        perror(out);
        return 2;
    }
    return code;
}
