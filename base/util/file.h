/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: bounded reading, and writing that never leaves a half file under the final name.
 * A struct file may be read from several threads at once (pread); a struct writer belongs to one thread.
 */
#ifndef TERNPACK_BASE_UTIL_FILE_H
#define TERNPACK_BASE_UTIL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/util/error.h"

struct file {
    int fd;             /* -1 when closed */
    char *path;         /* owned copy, as the caller spelled it */
    uint64_t size;      /* bytes at open time */
    const uint8_t *map; /* whole file, read-only, or NULL (FILE_MAP not asked, or empty file) */
    dev_t dev;
    ino_t ino;
};
#define FILE_INIT                                                                                                      \
    {                                                                                                                  \
        .fd = -1                                                                                                       \
    }

enum { FILE_MAP = 1, FILE_SEQUENTIAL = 2 /* posix_fadvise hint */ };

/* Open a regular file for reading. Folders and devices are refused. ERROR_IO (with errno text), ERROR_MISSING when
 * it does not exist. On failure *f equals FILE_INIT. file_close accepts FILE_INIT. */
int file_open(struct file *f, const char *path, unsigned flags, struct error *err);
void file_close(struct file *f);

/* Exactly n bytes at off; a short file is ERROR_FORMAT "truncated" with path, offset, wanted and size. */
int file_read_at(const struct file *f, void *buf, size_t n, uint64_t off, struct error *err);
/* Tell the kernel that [off, off+n) is not needed again (keeps mapped RSS bounded). */
void file_drop(const struct file *f, uint64_t off, uint64_t n);
/* Whole file into memory with a NUL after it (not counted). Longer than max bytes: ERROR_FORMAT. Caller mem_free()s. */
int file_read_all(const char *path, uint64_t max, char **data, size_t *n, struct error *err);

bool file_exists(const char *path);
bool file_is_dir(const char *path);
/* dir + "/" + name, owned by the caller. */
char *file_join(const char *dir, const char *name, struct error *err);
const char *file_basename(const char *path); /* pointer into path */

/* Refuse when output `out` is the same file as any of `inputs` (device and inode, so hard links and symlinks count;
 * also OUT.partial). A missing output is fine. ERROR_EXISTS names both. */
int file_not_same(const char *out, const char *const *inputs, size_t n_inputs, struct error *err);
/* Everything that can be known before writing: the folder exists and is writable, free space >= planned bytes, the
 * output does not exist unless force, is not a folder. ERROR_IO, ERROR_NOSPACE, ERROR_EXISTS. Touches nothing. */
int file_check_output(const char *out, uint64_t planned, bool force, struct error *err);

/* Bytes that may still be written in the folder of `out`; false when that is not known. */
bool file_free_space(const char *out, uint64_t *bytes);

/* Writer: bytes go to PATH.partial; commit does fsync, rename, fsync of the folder. Abort unlinks the partial file. An
 * existing PATH survives everything but a successful commit. Buffered (1 MiB); positions are exact. When PATH is a
 * symbolic link, the file it points to is what is replaced and the link stays. A PATH.partial that a killed run left
 * is replaced; one that a live run holds (flock) is ERROR_EXISTS. */
struct writer {
    int fd; /* -1 when closed */
    bool force;
    char *path, *partial; /* path: links resolved */
    uint64_t pos;         /* bytes accepted so far */
    unsigned char *buf;
    size_t buf_len;
};
#define WRITER_INIT                                                                                                    \
    {                                                                                                                  \
        .fd = -1                                                                                                       \
    }

int writer_open(struct writer *w, const char *path, bool force, struct error *err);
int writer_write(struct writer *w, const void *bytes, size_t n, struct error *err);
int writer_zeros(struct writer *w, uint64_t n, struct error *err);
/* Overwrite bytes already accepted (off+n <= pos), e.g. a header with its digests. */
int writer_patch(struct writer *w, const void *bytes, size_t n, uint64_t off, struct error *err);
/* Read back bytes already accepted (flushes first). */
int writer_read_back(struct writer *w, void *buf, size_t n, uint64_t off, struct error *err);
int writer_commit(struct writer *w, struct error *err); /* closes on success and on failure (then aborts) */
void writer_abort(struct writer *w);                    /* accepts WRITER_INIT and a committed writer */

/* Give the finished file `from` the name `to` (same file system; links, force and syncing as a writer's commit). */
int file_move(const char *from, const char *to, bool force, struct error *err);
/* Write a whole small file in that way. */
int file_write_all(const char *path, const void *bytes, size_t n, bool force, struct error *err);

#endif
