/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char tmp_dir[4096];
static pid_t tmp_owner;

int support_main(Suite *(*suite)(void))
{
    SRunner *r = srunner_create(suite());
    srunner_run_all(r, CK_ENV);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}

static char *ring(void)
{
    static char buf[8][4096];
    static unsigned next;
    return buf[next++ % 8];
}

const char *support_path(const char *rel)
{
    const char *root = getenv("TERNPACK_SRCDIR");
    char *out = ring();
    snprintf(out, 4096, "%s/%s", root ? root : ".", rel);
    return out;
}

const char *support_shared(const char *rel)
{
    const char *root = getenv("TERNPACK_SHARED");
    char *out = ring();
    if (!root || access(root, R_OK))
        return NULL;
    snprintf(out, 4096, "%s/%s", root, rel);
    return access(out, R_OK) ? NULL : out;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path);
}

static void remove_tmp(void)
{
    if (tmp_dir[0] && tmp_owner == getpid())
        nftw(tmp_dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *support_tmpdir(void)
{
    if (!tmp_dir[0] || tmp_owner != getpid()) {
        const char *base = getenv("TMPDIR");
        snprintf(tmp_dir, sizeof tmp_dir, "%s/ternpack-test-XXXXXX", base ? base : "/tmp");
        if (!mkdtemp(tmp_dir)) {
            perror(tmp_dir);
            abort();
        }
        tmp_owner = getpid();
        atexit(remove_tmp);
    }
    return tmp_dir;
}

const char *support_tmp(const char *name)
{
    char *out = ring();
    snprintf(out, 4096, "%.3000s/%.1000s", support_tmpdir(), name);
    return out;
}

static size_t guard_span(size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return (n + page - 1) / page * page + 2 * page;
}

void *support_guard(size_t n, int after)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), span = guard_span(n);
    char *base = mmap(NULL, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        abort();
    mprotect(base, page, PROT_NONE);
    mprotect(base + span - page, page, PROT_NONE);
    return after ? base + span - page - n : base + page;
}

void support_guard_free(void *p, size_t n, int after)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), span = guard_span(n);
    char *base = after ? (char *)p + n + page - span : (char *)p - page;
    munmap(base, span);
}
