/* SPDX-License-Identifier: Apache-2.0 */
/* What is checked about an output path before anything is written. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/util/file.h"
#include "base/util/file_private.h"
#include "base/util/mem.h"

int file_resolve_output(const char *out, char **target, struct error *err)
{
    struct stat st;

    *target = NULL;
    if (lstat(out, &st) == 0 && S_ISLNK(st.st_mode)) {
        char *real = realpath(out, NULL);
        if (!real)
            return error_errno(err, ERROR_IO, errno, "%s: cannot follow the symbolic link", SHOWN(out));
        *target = mem_strdup(real, err);
        free(real);
    } else {
        *target = mem_strdup(out, err);
    }
    return *target ? 0 : ERROR_NOMEM;
}

char *file_folder(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return mem_strdup(".", err);
    return mem_strndup(path, slash == path ? 1 : (size_t)(slash - path), err);
}

char *file_partial(const char *path, struct error *err)
{
    struct buffer b = { 0 };
    if (buffer_printf(&b, err, "%s.partial", path)) {
        buffer_free(&b);
        return NULL;
    }
    return b.data;
}

static int same_as_input(const char *path, const char *out, const char *const *inputs, size_t n_inputs,
                         struct error *err)
{
    struct stat a, b;

    if (stat(path, &a) != 0)
        return 0;
    for (size_t i = 0; i < n_inputs; i++)
        if (inputs[i] && stat(inputs[i], &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return error_set(err, ERROR_EXISTS, "%s: the output is the same file as the input %s%s", SHOWN(out),
                             SHOWN(inputs[i]), path == out ? "" : " (its .partial name)");
    return 0;
}

int file_not_same(const char *out, const char *const *inputs, size_t n_inputs, struct error *err)
{
    char *target = NULL, *partial = NULL;

    int code = file_resolve_output(out, &target, err);
    if (code)
        goto out;
    partial = file_partial(target, err);
    if (!partial) {
        code = ERROR_NOMEM;
        goto out;
    }
    code = same_as_input(out, out, inputs, n_inputs, err);
    if (!code)
        code = same_as_input(partial, out, inputs, n_inputs, err);
out:
    mem_free(partial);
    mem_free(target);
    return code;
}

/* A file system without blocks cannot say what is free. */
static bool folder_room(const char *folder, uint64_t *room)
{
    struct statvfs fs;
    if (statvfs(folder, &fs) != 0 || fs.f_blocks == 0)
        return false;
    if (!mem_mul(fs.f_bavail, fs.f_frsize, room))
        *room = UINT64_MAX;
    return true;
}

bool file_free_space(const char *out, uint64_t *bytes)
{
    char *target = NULL, *folder = NULL;
    bool known =
        !file_resolve_output(out, &target, NULL) && (folder = file_folder(target, NULL)) && folder_room(folder, bytes);
    mem_free(folder);
    mem_free(target);
    return known;
}

/* The folder exists, may be written, has room. */
static int check_folder(const char *out, const char *folder, uint64_t planned, struct error *err)
{
    struct stat st;
    uint64_t room;

    if (stat(folder, &st) != 0)
        return error_errno(err, ERROR_IO, errno, "%s: cannot write there: folder %s", SHOWN(out), SHOWN(folder));
    if (!S_ISDIR(st.st_mode))
        return error_set(err, ERROR_IO, "%s: cannot write there: %s is not a folder", SHOWN(out), SHOWN(folder));
    if (access(folder, W_OK | X_OK) != 0)
        return error_errno(err, ERROR_IO, errno, "%s: cannot write into the folder %s", SHOWN(out), SHOWN(folder));
    if (folder_room(folder, &room) && planned > room) {
        char want[32], have[32], lack[32];
        return error_set(err, ERROR_NOSPACE, "%s: needs %s, folder %s has %s free: %s are missing", SHOWN(out),
                         text_bytes(want, sizeof want, planned), SHOWN(folder), text_bytes(have, sizeof have, room),
                         text_bytes(lack, sizeof lack, planned - room));
    }
    return 0;
}

int file_check_output(const char *out, uint64_t planned, bool force, struct error *err)
{
    char *target = NULL, *folder = NULL;
    struct stat st;

    if (!*file_basename(out))
        return error_set(err, ERROR_USAGE, "%s: the output needs a file name", *out ? SHOWN(out) : "\"\"");
    int code = file_resolve_output(out, &target, err);
    if (code)
        goto out;
    folder = file_folder(target, err);
    if (!folder) {
        code = ERROR_NOMEM;
        goto out;
    }
    if (stat(target, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            code = error_set(err, ERROR_EXISTS, "%s: is a folder, a file is to be written", SHOWN(out));
        else if (!S_ISREG(st.st_mode))
            code = error_set(err, ERROR_EXISTS, "%s: is a device, pipe or socket, a file is to be written", SHOWN(out));
        else if (!force)
            code = error_set(err, ERROR_EXISTS, "%s: exists already (--force replaces it)", SHOWN(out));
    }
    if (!code)
        code = check_folder(out, folder, planned, err);
out:
    mem_free(folder);
    mem_free(target);
    return code;
}
