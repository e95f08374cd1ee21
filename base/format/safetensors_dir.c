/* SPDX-License-Identifier: Apache-2.0 */
/* A Hugging Face folder: one model.safetensors, or an index and its shards, which must agree exactly. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/format/safetensors_index.h"
#include "base/util/json.h"
#include "base/util/text.h"

#define SINGLE "model.safetensors"
#define INDEX "model.safetensors.index.json"

enum { SHOWN = 6 /* names listed in one error line */ };
static const uint64_t max_index = 256 << 20;

struct folder {
    struct st_model *m;
    const char *dir;
    const char *index_path;
    struct json_doc *doc;
    const struct json *map; /* weight_map */
    const char **shards;    /* distinct shard names, sorted; borrowed from doc */
    size_t n_shards, cap;
    st_leave_out *leave_out; /* may be NULL */
    void *ctx;
    struct error *err;
};

static bool left_out(const struct folder *f, const char *tensor)
{
    return f->leave_out && f->leave_out(f->ctx, tensor);
}

static int by_string(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Append `name` to a list of at most SHOWN; *n counts all of them. */
static void list_name(struct buffer *b, size_t *n, const char *name)
{
    char q[200];
    if (++*n <= SHOWN)
        buffer_printf(b, NULL, "%s%s", *n > 1 ? ", " : "", text_quote(q, sizeof q, name, strlen(name)));
    else if (*n == SHOWN + 1)
        buffer_printf(b, NULL, ", ...");
}

/* The folder holds no weights we read: say what was looked for and what is there. */
static int no_weights(const char *dir, struct error *err)
{
    struct buffer found = { 0 };
    size_t n = 0;
    bool pickle = false;
    DIR *d = opendir(dir);
    if (!d)
        return error_errno(err, ERROR_IO, errno, "%s", dir);
    for (struct dirent *e; (e = readdir(d));) {
        if (text_ends(e->d_name, ".bin") || text_ends(e->d_name, ".pt") || text_ends(e->d_name, ".pth"))
            pickle = true;
        else if (!text_ends(e->d_name, ".safetensors") && !text_ends(e->d_name, ".gguf"))
            continue;
        list_name(&found, &n, e->d_name);
    }
    closedir(d);
    int rc = error_set(err, ERROR_MISSING, "%s: neither " SINGLE " nor " INDEX " (weight files there: %s)%s", dir,
                       found.data ? found.data : "none", pickle ? "; re-save the model as safetensors" : "");
    buffer_free(&found);
    return rc;
}

/* Shard names are plain names: no path can lead out of the folder. */
static int check_shard_name(const struct folder *f, const struct json *v)
{
    const char *s = json_str(v);
    char key[160], q[200];
    text_quote(key, sizeof key, json_key(v), strlen(json_key(v)));
    if (!s)
        return error_set(f->err, ERROR_FORMAT, "%s: weight_map of %s: expected a file name, found %s", f->index_path,
                         key, json_kind_name(v));
    if (!*s || strchr(s, '/') || strchr(s, '\\') || !strcmp(s, ".") || !strcmp(s, "..") || strlen(s) > NAME_MAX)
        return error_set(f->err, ERROR_FORMAT,
                         "%s: weight_map of %s is '%s': a path is not allowed, only a file name in the "
                         "folder",
                         f->index_path, key, text_quote(q, sizeof q, s, strlen(s)));
    return 0;
}

static int collect_shards(struct folder *f)
{
    size_t n = 0;
    for (const struct json *v = json_first(f->map); v; v = json_next(v)) {
        int rc = check_shard_name(f, v);
        if (!rc)
            rc = mem_reserve((void **)&f->shards, &f->cap, n + 1, sizeof *f->shards, "shard names", f->err);
        if (rc)
            return rc;
        f->shards[n++] = json_str(v);
    }
    if (!n)
        return error_set(f->err, ERROR_FORMAT, "%s: weight_map is empty", f->index_path);
    qsort(f->shards, n, sizeof *f->shards, by_string);
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(f->shards[i], f->shards[f->n_shards - 1]))
            f->shards[f->n_shards++] = f->shards[i];
    return 0;
}

/* Does the index place a tensor in this shard that is not to be left out? */
static bool is_needed(const struct folder *f, const char *shard)
{
    if (!f->leave_out)
        return true;
    for (const struct json *v = json_first(f->map); v; v = json_next(v))
        if (!strcmp(json_str(v), shard) && !left_out(f, json_key(v)))
            return true;
    return false;
}

/* Shards that are absent and not needed are taken off the list. */
static int check_present(struct folder *f)
{
    struct buffer missing = { 0 };
    size_t n = 0, kept = 0, n_listed = f->n_shards;
    int rc = 0;
    for (size_t i = 0; i < n_listed && !rc; i++) {
        char *path = file_join(f->dir, f->shards[i], f->err);
        bool present = path && file_exists(path);
        if (!path)
            rc = ERROR_NOMEM;
        else if (!present && is_needed(f, f->shards[i]))
            list_name(&missing, &n, f->shards[i]);
        else if (present)
            f->shards[kept++] = f->shards[i];
        mem_free(path);
    }
    f->n_shards = kept;
    if (!rc && n)
        rc = error_set(f->err, ERROR_MISSING, "%s: %zu of %zu files of the index %s missing: %s", f->dir, n, n_listed,
                       n == 1 ? "is" : "are", missing.data);
    buffer_free(&missing);
    return rc;
}

/* Where a link leads: into the folder itself, or into the blob store beside it that the hub client's cache uses
 * (snapshots/REVISION/NAME -> ../../blobs/DIGEST). */
static int check_inside(const struct folder *f, const char *path)
{
    char *real = realpath(path, NULL), *home = realpath(f->dir, NULL), *blobs = NULL;
    char *up = file_join(f->dir, "../../blobs", f->err);
    int rc = 0;
    if (up)
        blobs = realpath(up, NULL);
    if (!real || !home || !up) {
        rc = error_errno(f->err, ERROR_IO, errno, "%s", path);
        goto out;
    }
    size_t n = strlen(home), b = blobs ? strlen(blobs) : 0;
    bool inside = (!strncmp(real, home, n) && real[n] == '/') || (b && !strncmp(real, blobs, b) && real[b] == '/');
    if (!inside && strcmp(home, "/"))
        rc = error_set(f->err, ERROR_FORMAT, "%s: a link whose path leads out of the folder, to %s", path, real);
out:
    free(real);
    free(home);
    free(blobs);
    mem_free(up);
    return rc;
}

static int open_shards(struct folder *f)
{
    int rc = 0;
    for (size_t i = 0; i < f->n_shards && !rc; i++) {
        char *path = file_join(f->dir, f->shards[i], f->err);
        if (!path)
            return ERROR_NOMEM;
        rc = check_inside(f, path);
        if (!rc)
            rc = st_add_shard(f->m, path, f->err);
        mem_free(path);
    }
    return rc;
}

static int remember_absent(const struct folder *f, const char *tensor)
{
    struct st_model *m = f->m;
    if (!m->absent && !(m->absent = arena_alloc(&m->arena, json_count(f->map), sizeof *m->absent, f->err)))
        return ERROR_NOMEM;
    m->absent[m->n_absent] = arena_strndup(&m->arena, tensor, strlen(tensor), f->err);
    return m->absent[m->n_absent++] ? 0 : ERROR_NOMEM;
}

/* Both directions: every entry of the map in the shard it names, every tensor of the shards in the map. */
static int check_agreement(const struct folder *f)
{
    struct buffer absent = { 0 }, extra = { 0 };
    struct names listed = { 0 };
    size_t n_absent = 0, n_extra = 0;
    int rc = 0;
    for (const struct json *v = json_first(f->map); v && rc >= 0; v = json_next(v)) {
        const struct st_tensor *t = st_find(f->m, json_key(v));
        bool here = t && !strcmp(file_basename(f->m->shards[t->shard].file.path), json_str(v));
        if (!here && !left_out(f, json_key(v)))
            list_name(&absent, &n_absent, json_key(v));
        else if (!t && (rc = remember_absent(f, json_key(v))))
            break;
        rc = names_add(&listed, json_key(v), 0, f->err);
    }
    for (size_t i = 0; i < f->m->n_tensors && rc >= 0; i++)
        if (names_find(&listed, f->m->tensors[i].name) == NAMES_NONE && !left_out(f, f->m->tensors[i].name))
            list_name(&extra, &n_extra, f->m->tensors[i].name);
    if (rc >= 0 && (n_absent || n_extra))
        rc = error_set(f->err, ERROR_FORMAT,
                       "%s: the index and the shards disagree: %zu tensors not in the shard the index "
                       "names (%s), %zu tensors not in the index (%s)",
                       f->index_path, n_absent, n_absent ? absent.data : "-", n_extra, n_extra ? extra.data : "-");
    names_free(&listed);
    buffer_free(&absent);
    buffer_free(&extra);
    return rc < 0 ? rc : 0;
}

static int open_indexed(struct folder *f)
{
    int rc = json_parse_file(&f->doc, f->index_path, max_index, 16, f->err);
    if (rc)
        goto out;
    f->map = json_get(json_root(f->doc), "weight_map");
    if (json_is_null(f->map) || json_kind(f->map) != JSON_OBJECT) {
        rc = error_set(f->err, ERROR_FORMAT, "%s: weight_map is missing or no object", f->index_path);
        goto out;
    }
    if ((rc = collect_shards(f)) || (rc = check_present(f)) || (rc = open_shards(f)))
        goto out;
    rc = check_agreement(f);
out:
    mem_free(f->shards);
    json_free(f->doc);
    return rc;
}

int st_open_dir(struct st_model *m, const char *dir, struct error *err)
{
    return st_open_dir_except(m, dir, NULL, NULL, err);
}

int st_open_dir_except(struct st_model *m, const char *dir, st_leave_out *leave_out, void *ctx, struct error *err)
{
    struct folder f = { .m = m, .dir = dir, .leave_out = leave_out, .ctx = ctx, .err = err };
    *m = (struct st_model){ 0 };
    int rc = ERROR_NOMEM;
    char *single = file_join(dir, SINGLE, err), *index = file_join(dir, INDEX, err);
    if (!single || !index)
        goto out;
    f.index_path = index;
    if (!file_exists(dir))
        rc = error_set(err, ERROR_MISSING, "%s: no such folder", dir);
    else if (!file_is_dir(dir))
        rc = error_set(err, ERROR_FORMAT, "%s: expected a model folder, found a file", dir);
    else if (file_exists(single))
        rc = st_add_shard(m, single, err);
    else if (file_exists(index))
        rc = open_indexed(&f);
    else
        rc = no_weights(dir, err);
out:
    if (rc)
        st_close(m);
    mem_free(single);
    mem_free(index);
    return rc;
}
