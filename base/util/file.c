/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util/file_private.h"
#include "base/util/mem.h"

static int open_retry(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int map_whole(struct file *f, struct error *err)
{
    if (f->size > SIZE_MAX)
        return error_set(err, ERROR_NOMEM, "%s: %" PRIu64 " bytes cannot be mapped", SHOWN(f->path), f->size);
    void *p = mmap(NULL, (size_t)f->size, PROT_READ, MAP_PRIVATE, f->fd, 0);
    if (p == MAP_FAILED)
        return error_errno(err, ERROR_IO, errno, "%s: cannot map", SHOWN(f->path));
    f->map = p;
    return 0;
}

int file_open(struct file *f, const char *path, unsigned flags, struct error *err)
{
    int code;
    struct stat st;

    *f = (struct file)FILE_INIT;
    f->path = mem_strdup(path, err);
    if (!f->path)
        return ERROR_NOMEM;
    /* O_NONBLOCK: a FIFO must be refused, not waited for. It does nothing to a regular file. */
    f->fd = open_retry(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (f->fd < 0) {
        code = errno == ENOENT || errno == ENOTDIR ? ERROR_MISSING : ERROR_IO;
        code = error_errno(err, code, errno, "%s: cannot open", SHOWN(path));
        goto fail;
    }
    if (fstat(f->fd, &st) != 0) {
        code = error_errno(err, ERROR_IO, errno, "%s: cannot stat", SHOWN(path));
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        code = error_set(err, ERROR_IO, "%s: is %s, not a regular file", SHOWN(path),
                         S_ISDIR(st.st_mode) ? "a folder" : "a device, pipe or socket");
        goto fail;
    }
    f->size = (uint64_t)st.st_size;
    f->dev = st.st_dev;
    f->ino = st.st_ino;
    if (flags & FILE_SEQUENTIAL)
        (void)posix_fadvise(f->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if ((flags & FILE_MAP) && f->size > 0) {
        code = map_whole(f, err);
        if (code)
            goto fail;
        if (flags & FILE_SEQUENTIAL)
            (void)madvise((void *)(uintptr_t)f->map, (size_t)f->size, MADV_SEQUENTIAL);
    }
    return 0;
fail:
    file_close(f);
    return code;
}

void file_close(struct file *f)
{
    if (f->map)
        munmap((void *)(uintptr_t)f->map, (size_t)f->size);
    if (f->fd >= 0)
        close(f->fd);
    mem_free(f->path);
    *f = (struct file)FILE_INIT;
}

int file_read_at(const struct file *f, void *buf, size_t n, uint64_t off, struct error *err)
{
    size_t done = 0;

    if (off > f->size || n > f->size - off)
        return error_set(err, ERROR_FORMAT,
                         "%s: truncated: %zu bytes wanted at offset %" PRIu64 ", the file has %" PRIu64, SHOWN(f->path),
                         n, off, f->size);
    while (done < n) {
        size_t part = n - done < (1u << 30) ? n - done : 1u << 30;
        ssize_t got = pread(f->fd, (char *)buf + done, part, (off_t)(off + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_errno(err, ERROR_IO, errno, "%s: cannot read %zu bytes at offset %" PRIu64, SHOWN(f->path), n,
                               off);
        if (got == 0)
            return error_set(err, ERROR_FORMAT,
                             "%s: truncated while being read: it ends at offset %" PRIu64 ", it had %" PRIu64 " bytes",
                             SHOWN(f->path), off + done, f->size);
        done += (size_t)got;
    }
    return 0;
}

void file_drop(const struct file *f, uint64_t off, uint64_t n)
{
    if (f->fd < 0 || off >= f->size)
        return;
    if (n > f->size - off)
        n = f->size - off;
    if (f->map) {
        /* Whole pages only: the first and last may still be in use by a neighbour. */
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
        uint64_t first = (off + page - 1) / page * page, last = (off + n) / page * page;
        if (last > first)
            (void)madvise((void *)(uintptr_t)(f->map + first), (size_t)(last - first), MADV_DONTNEED);
    }
    (void)posix_fadvise(f->fd, (off_t)off, (off_t)n, POSIX_FADV_DONTNEED);
}

int file_read_all(const char *path, uint64_t max, char **data, size_t *n, struct error *err)
{
    struct file f = FILE_INIT;
    char *text = NULL;

    *data = NULL;
    *n = 0;
    int code = file_open(&f, path, FILE_SEQUENTIAL, err);
    if (code)
        return code;
    if (f.size > max) {
        code = error_set(err, ERROR_FORMAT, "%s: too long: %" PRIu64 " bytes, at most %" PRIu64 " are accepted",
                         SHOWN(path), f.size, max);
        goto out;
    }
    text = mem_zalloc(f.size + 1, 1, "file contents", err);
    if (!text) {
        code = ERROR_NOMEM;
        goto out;
    }
    code = file_read_at(&f, text, (size_t)f.size, 0, err);
    if (code)
        goto out;
    *data = text;
    *n = (size_t)f.size;
    text = NULL;
out:
    mem_free(text);
    file_close(&f);
    return code;
}

bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool file_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *file_join(const char *dir, const char *name, struct error *err)
{
    struct buffer b = { 0 };
    size_t n = strlen(dir);
    const char *slash = n && dir[n - 1] != '/' ? "/" : "";
    if (buffer_printf(&b, err, "%s%s%s", dir, slash, name)) {
        buffer_free(&b);
        return NULL;
    }
    return b.data; /* a buffer's bytes come from mem_*, so mem_free releases them */
}

const char *file_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
