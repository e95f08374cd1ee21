/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/parallel.h"
#include "base/util/text.h"
#include "driver/driver.h"

/* Takes the path over. */
static int add(struct driver *d, enum input_kind kind, char *path, struct error *err)
{
    struct file f = FILE_INIT;
    void *inputs = d->inputs;
    int code =
        path ? mem_reserve(&inputs, &d->cap_inputs, d->n_inputs + 1, sizeof *d->inputs, "inputs", err) : ERROR_NOMEM;
    d->inputs = inputs;
    if (!code)
        code = file_open(&f, path, 0, err);
    if (code) {
        mem_free(path);
        return code;
    }
    d->inputs[d->n_inputs++] = (struct input){ .kind = kind, .path = path, .bytes = f.size };
    file_close(&f);
    return 0;
}

/* What of a checkpoint folder tern-convert may look at. */
static bool is_model_file(const char *name)
{
    return name[0] != '.' &&
           (text_ends(name, ".json") || text_ends(name, ".safetensors") || text_ends(name, ".jinja") ||
            text_ends(name, ".model") || strcmp(name, "merges.txt") == 0);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct input *)a)->path, ((const struct input *)b)->path);
}

static int list_model(struct driver *d, struct error *err)
{
    const char *folder = d->o->model;
    DIR *dir = opendir(folder);
    int code = 0;
    if (!dir)
        return error_errno(err, errno == ENOENT ? ERROR_MISSING : ERROR_IO, errno, "%s: cannot open the model folder",
                           folder);
    for (const struct dirent *e; !code && (errno = 0, e = readdir(dir));) {
        if (!is_model_file(e->d_name))
            continue;
        char *path = file_join(folder, e->d_name, err);
        if (path && file_is_dir(path))
            mem_free(path);
        else
            code = add(d, INPUT_MODEL, path, err);
    }
    closedir(dir);
    if (!code && d->n_inputs == 0)
        code = error_set(err, ERROR_MISSING, "%s: holds no checkpoint: no *.json and no *.safetensors file", folder);
    if (!code)
        qsort(d->inputs, d->n_inputs, sizeof *d->inputs, by_path);
    return code;
}

int inputs_list(struct driver *d, struct error *err)
{
    const struct driver_options *o = d->o;
    const char **paths = NULL;
    int code = list_model(d, err);
    for (size_t i = 0; !code && i < o->corpora.n; i++)
        code = add(d, INPUT_CORPUS, mem_strdup(o->corpora.items[i], err), err);
    if (!code && o->eval)
        code = add(d, INPUT_EVAL, mem_strdup(o->eval, err), err);
    if (code)
        return code;
    paths = mem_zalloc(d->n_inputs, sizeof *paths, "inputs", err);
    if (!paths)
        return ERROR_NOMEM;
    for (size_t i = 0; i < d->n_inputs; i++)
        paths[i] = d->inputs[i].path;
    code = file_not_same(d->out, paths, d->n_inputs, err);
    if (!code)
        code = file_not_same(d->sums, paths, d->n_inputs, err);
    if (!code)
        code = file_check_output(d->out, 0, o->common.force, err);
    if (!code)
        code = file_check_output(d->sums, 0, o->common.force, err);
    mem_free(paths);
    return code;
}

/* Measuring on what was calibrated on flatters the result. */
static void warn_shared(const struct driver *d)
{
    for (size_t i = 0; i < d->n_inputs; i++)
        for (size_t k = 0; k < d->n_inputs; k++)
            if (d->inputs[i].kind == INPUT_CORPUS && d->inputs[k].kind == INPUT_EVAL &&
                strcmp(d->inputs[i].sha256, d->inputs[k].sha256) == 0)
                report_note(d, "eval", "warning: calibration and evaluation use the same text, so the figures flatter");
}

int inputs_digest(struct driver *d, struct error *err)
{
    uint64_t total = 0;
    int code = 0;
    for (size_t i = 0; i < d->n_inputs; i++)
        total += d->inputs[i].bytes;
    progress_phase(d->progress, "digests of the inputs", d->n_inputs, total);
    for (size_t i = 0; !code && i < d->n_inputs; i++) {
        struct digest_result r;
        code = digest_file(DIGEST_SHA256, d->inputs[i].path, &r, err);
        if (!code)
            digest_hex(r.sha256, 32, d->inputs[i].sha256);
        progress_add(d->progress, 1, d->inputs[i].bytes);
    }
    progress_end(d->progress);
    if (!code)
        warn_shared(d);
    return code;
}
