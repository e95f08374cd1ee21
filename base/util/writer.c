/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util/file.h"
#include "base/util/file_private.h"
#include "base/util/mem.h"

enum { WRITER_BUFFER = 1 << 20 };

/* A name.partial that is there already: left by a killed run (remove it) or held by a live one (refuse). Whatever the
 * name is - even a symbolic link - only the name is removed, nothing is written through it. */
static int clear_stale(const char *partial, struct error *err)
{
    struct stat st;
    int code = 0;

    if (lstat(partial, &st) != 0)
        return errno == ENOENT ? 0 : error_errno(err, ERROR_IO, errno, "%s: cannot stat", SHOWN(partial));
    if (S_ISDIR(st.st_mode))
        return error_set(err, ERROR_EXISTS, "%s: is a folder, a temporary file is to be written there", SHOWN(partial));
    if (S_ISREG(st.st_mode)) {
        int fd = open(partial, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
            code = error_set(err, ERROR_EXISTS, "%s: another run is writing this file", SHOWN(partial));
        if (fd >= 0)
            close(fd);
    }
    if (!code && unlink(partial) != 0 && errno != ENOENT)
        code = error_errno(err, ERROR_IO, errno, "%s: cannot remove the rest of an earlier run", SHOWN(partial));
    return code;
}

int writer_open(struct writer *w, const char *path, bool force, struct error *err)
{
    *w = (struct writer)WRITER_INIT;
    w->force = force;
    int code = file_check_output(path, 0, force, err);
    if (!code)
        code = file_resolve_output(path, &w->path, err);
    if (code)
        goto fail;
    w->partial = file_partial(w->path, err);
    w->buf = mem_zalloc(WRITER_BUFFER, 1, "write buffer", err);
    if (!w->partial || !w->buf) {
        code = ERROR_NOMEM;
        goto fail;
    }
    code = clear_stale(w->partial, err);
    if (code)
        goto fail;
    w->fd = open(w->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (w->fd < 0) {
        code = error_errno(err, ERROR_IO, errno, "%s: cannot create", SHOWN(w->partial));
        goto fail;
    }
    (void)flock(w->fd, LOCK_EX | LOCK_NB); /* advice for another run; file systems without locks do without */
    return 0;
fail:
    writer_abort(w);
    return code;
}

/* Whether the partial name still leads to our file: another run may have taken it before our lock was set. */
static bool owns_partial(const struct writer *w)
{
    struct stat mine, there;
    return fstat(w->fd, &mine) == 0 && lstat(w->partial, &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

static int write_at(struct writer *w, const void *bytes, size_t n, uint64_t off, struct error *err)
{
    size_t done = 0;
    while (done < n) {
        ssize_t put = pwrite(w->fd, (const char *)bytes + done, n - done, (off_t)(off + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return error_errno(err, ERROR_IO, put < 0 ? errno : EIO, "%s: cannot write %zu bytes at offset %" PRIu64,
                               SHOWN(w->path), n, off);
        done += (size_t)put;
    }
    return 0;
}

static int flush(struct writer *w, struct error *err)
{
    int code = write_at(w, w->buf, w->buf_len, w->pos - w->buf_len, err);
    if (!code)
        w->buf_len = 0;
    return code;
}

int writer_write(struct writer *w, const void *bytes, size_t n, struct error *err)
{
    uint64_t end;
    if (!mem_add(w->pos, n, &end) || end > INT64_MAX)
        return error_set(err, ERROR_NOSPACE, "%s: larger than a file can be", SHOWN(w->path));
    if (n > WRITER_BUFFER - w->buf_len) {
        int code = flush(w, err);
        if (code)
            return code;
    }
    if (n >= WRITER_BUFFER) {
        int code = write_at(w, bytes, n, w->pos, err);
        if (code)
            return code;
    } else if (n) {
        memcpy(w->buf + w->buf_len, bytes, n);
        w->buf_len += n;
    }
    w->pos = end;
    return 0;
}

int writer_zeros(struct writer *w, uint64_t n, struct error *err)
{
    static const unsigned char zeros[4096];
    while (n > 0) {
        size_t part = n < sizeof zeros ? (size_t)n : sizeof zeros;
        int code = writer_write(w, zeros, part, err);
        if (code)
            return code;
        n -= part;
    }
    return 0;
}

static int within(const struct writer *w, size_t n, uint64_t off, struct error *err)
{
    if (off <= w->pos && n <= w->pos - off)
        return 0;
    return error_set(err, ERROR_INTERNAL, "%s: bytes %" PRIu64 "+%zu lie beyond the %" PRIu64 " written",
                     SHOWN(w->path), off, n, w->pos);
}

int writer_patch(struct writer *w, const void *bytes, size_t n, uint64_t off, struct error *err)
{
    int code = within(w, n, off, err);
    if (!code)
        code = flush(w, err);
    if (!code)
        code = write_at(w, bytes, n, off, err);
    return code;
}

int writer_read_back(struct writer *w, void *buf, size_t n, uint64_t off, struct error *err)
{
    int code = within(w, n, off, err);
    if (!code)
        code = flush(w, err);
    for (size_t done = 0; !code && done < n;) {
        ssize_t got = pread(w->fd, (char *)buf + done, n - done, (off_t)(off + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_errno(err, ERROR_IO, got < 0 ? errno : EIO,
                               "%s: cannot read back %zu bytes at offset %" PRIu64, SHOWN(w->path), n, off);
        done += (size_t)got;
    }
    return code;
}

/* Without force, a file that appeared under the final name meanwhile is kept. */
static int move_into_place(const char *from, const char *to, bool force, struct error *err)
{
    if (force) {
        if (rename(from, to) == 0)
            return 0;
    } else {
        if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
            return 0;
        if (errno == EEXIST)
            return error_set(err, ERROR_EXISTS, "%s: was made by someone else meanwhile (--force replaces it)",
                             SHOWN(to));
        if ((errno == EINVAL || errno == ENOSYS) && !file_exists(to) && rename(from, to) == 0)
            return 0; /* a file system that cannot refuse to replace */
    }
    return error_errno(err, ERROR_IO, errno, "%s: cannot rename to %s", SHOWN(from), SHOWN(to));
}

/* The new name is on disk only once its folder is. Some file systems cannot sync a folder and say EINVAL. */
static int sync_folder(const char *path, struct error *err)
{
    int code = 0;
    char *folder = file_folder(path, err);
    if (!folder)
        return ERROR_NOMEM;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 ? errno != EACCES : fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
        code = error_errno(err, ERROR_IO, errno, "%s: cannot sync the folder", SHOWN(folder));
    if (fd >= 0)
        close(fd);
    mem_free(folder);
    return code;
}

static void release(struct writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    mem_free(w->path);
    mem_free(w->partial);
    mem_free(w->buf);
    *w = (struct writer)WRITER_INIT;
}

int writer_commit(struct writer *w, struct error *err)
{
    if (w->fd < 0)
        return error_set(err, ERROR_INTERNAL, "commit of a closed writer");
    int code = flush(w, err);
    if (!code && fsync(w->fd) != 0)
        code = error_errno(err, ERROR_IO, errno, "%s: cannot sync", SHOWN(w->path));
    if (!code && !owns_partial(w))
        code = error_set(err, ERROR_EXISTS, "%s: was removed or replaced by someone else meanwhile", SHOWN(w->partial));
    if (!code)
        code = move_into_place(w->partial, w->path, w->force, err);
    if (code) {
        writer_abort(w);
        return code;
    }
    code = sync_folder(w->path, err);
    release(w);
    return code;
}

void writer_abort(struct writer *w)
{
    if (w->fd >= 0 && owns_partial(w))
        (void)unlink(w->partial);
    release(w);
}

int file_move(const char *from, const char *to, bool force, struct error *err)
{
    char *target;
    int code = file_check_output(to, 0, force, err);
    if (!code)
        code = file_resolve_output(to, &target, err);
    if (code)
        return code;
    code = move_into_place(from, target, force, err);
    if (!code)
        code = sync_folder(target, err);
    mem_free(target);
    return code;
}

int file_write_all(const char *path, const void *bytes, size_t n, bool force, struct error *err)
{
    struct writer w = WRITER_INIT;
    int code = writer_open(&w, path, force, err);
    if (!code)
        code = writer_write(&w, bytes, n, err);
    if (!code)
        code = writer_commit(&w, err);
    writer_abort(&w);
    return code;
}
