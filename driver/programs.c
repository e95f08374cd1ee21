/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/programs.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util/file.h"
#include "base/util/mem.h"

static bool runs(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The folder of this executable. */
static char *own_folder(struct error *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) {
        error_errno(err, ERROR_IO, errno, "cannot find out where ternpack itself is; set TERNPACK_BINDIR");
        return NULL;
    }
    path[n] = 0;
    return mem_strndup(path, (size_t)(file_basename(path) - path), err);
}

static char *find_beside(const char *name, const char *folder, struct error *err)
{
    struct buffer installed = { 0 }, built = { 0 };
    char *found = NULL, *own = own_folder(err);
    if (!own)
        goto out;
    /* own ends with a slash; what stands before its last part is the build folder. */
    size_t parent = strlen(own);
    while (parent > 1 && own[parent - 2] != '/')
        parent--;
    parent -= parent > 0;
    if (buffer_printf(&installed, err, "%s%s", own, name) ||
        buffer_printf(&built, err, "%.*s%s/%s", (int)parent, own, folder, name))
        goto out;
    if (runs(installed.data))
        found = mem_strdup(installed.data, err);
    else if (runs(built.data))
        found = mem_strdup(built.data, err);
    else
        error_set(err, ERROR_IO,
                  "the program %s is not there: looked for %s and %s; TERNPACK_BINDIR names another folder", name,
                  installed.data, built.data);
out:
    mem_free(own);
    buffer_free(&installed);
    buffer_free(&built);
    return found;
}

char *programs_find(const char *name, const char *folder, struct error *err)
{
    const char *chosen = getenv("TERNPACK_BINDIR");
    if (!chosen || !*chosen)
        return find_beside(name, folder, err);
    char *path = file_join(chosen, name, err);
    if (path && !runs(path)) {
        error_set(err, ERROR_IO, "the program %s is not there: TERNPACK_BINDIR says %s", name, path);
        mem_free(path);
        return NULL;
    }
    return path;
}
