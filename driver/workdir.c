/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util/file.h"
#include "driver/driver.h"

static int make_folder(const char *path, struct error *err)
{
    struct stat st;
    if (mkdir(path, 0777) == 0)
        return 0;
    if (errno != EEXIST)
        return error_errno(err, ERROR_IO, errno, "%s: cannot make the folder", path);
    if (lstat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return error_set(err, ERROR_EXISTS, "%s: is there already and is no folder", path);
    return 0;
}

int workdir_open(struct driver *d, struct error *err)
{
    bool was_there = file_is_dir(d->work);
    int code = make_folder(d->work, err);
    if (code)
        return code;
    d->lock = open(d->work, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (d->lock < 0)
        return error_errno(err, ERROR_IO, errno, "%s: cannot open the folder", d->work);
    if (flock(d->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(d->lock);
        d->lock = -1;
        return error_set(err, ERROR_EXISTS, "%s: another run is working there", d->work);
    }
    if (was_there && !d->o->resume && !d->o->common.force) {
        /* Left as it is: it is not ours to remove. */
        close(d->lock);
        d->lock = -1;
        return error_set(err, ERROR_EXISTS, "%s: an earlier run left it; --resume goes on there, --force starts again",
                         d->work);
    }
    return make_folder(d->packed, err);
}

int workdir_deliver(struct driver *d, struct error *err)
{
    struct buffer from = { 0 };
    int code = buffer_printf(&from, err, "%s.sha256", d->steps[STEP_PACK].output);
    if (!code)
        code = file_move(d->steps[STEP_PACK].output, d->out, d->o->common.force, err);
    if (!code)
        code = file_move(from.data, d->sums, d->o->common.force, err);
    buffer_free(&from);
    return code;
}

static void remove_file(const char *path)
{
    static const char *const tails[] = { "", ".partial", ".sha256", ".sha256.partial" };
    struct buffer b = { 0 };
    for (size_t i = 0; path && i < sizeof tails / sizeof *tails; i++) {
        b.len = 0;
        if (!buffer_printf(&b, NULL, "%s%s", path, tails[i]))
            (void)unlink(b.data);
    }
    buffer_free(&b);
}

/* Only names that we made; a folder in which somebody else keeps something stays. */
void workdir_close(struct driver *d, bool remove)
{
    if (d->lock < 0)
        return;
    if (remove) {
        struct buffer stats = { 0 };
        for (int i = 0; i < N_STEPS; i++)
            remove_file(d->steps[i].output);
        /* an earlier run may have calibrated where this one does not */
        if (!buffer_printf(&stats, NULL, "%s/stats.gguf", d->work))
            remove_file(stats.data);
        buffer_free(&stats);
        remove_file(d->state);
        (void)rmdir(d->packed);
        (void)rmdir(d->work);
    }
    close(d->lock);
    d->lock = -1;
}
