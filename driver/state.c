/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OUT.work/state.json: for each finished step its key, its file with size and digest, its time and what it printed. The
 * key is the digest of the program version, the options that matter and the digests of what the step reads; a step
 * whose key is the same would give the same bytes again, so its file is used if it still has its digest.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "config.h"
#include "driver/driver.h"

enum { STATE_LIMIT = 512 << 20, STATE_DEPTH = 8, RESULT_DEPTH = 16, STATE_VERSION = 1 };

int state_load(struct driver *d, struct error *err)
{
    uint64_t version = 0;
    if (!d->o->resume || !file_exists(d->state))
        return 0;
    int code = json_parse_file(&d->old, d->state, STATE_LIMIT, STATE_DEPTH, err);
    if (code)
        return error_prefix(err, "cannot resume (without --resume and with --force everything is made again)");
    if (!json_u64(json_get(json_root(d->old), "ternpack_state"), &version) || version != STATE_VERSION) {
        json_free(d->old); /* of another version: nothing to go by */
        d->old = NULL;
    }
    return 0;
}

static int put_step(const struct step *s, struct buffer *b, struct error *err)
{
    int code = buffer_printf(
        b, err, "\n{\"name\":\"%s\",\"key\":\"%s\",\"bytes\":%" PRIu64 ",\"sha256\":\"%s\",\"seconds\":", s->name,
        s->key, s->bytes, s->sha256);
    if (!code)
        code = json_put_f64(b, s->seconds, err);
    if (!code)
        code = buffer_printf(b, err, ",\"result\":");
    if (!code)
        code = json_put_str(b, s->result_text, strlen(s->result_text), err);
    return code ? code : buffer_append(b, "}", 1, err);
}

int state_save(const struct driver *d, struct error *err)
{
    struct buffer b = { 0 };
    bool any = false;
    int code =
        buffer_printf(&b, err, "{\"ternpack_state\":%d,\"version\":\"%s\",\"steps\":[", STATE_VERSION, PACKAGE_VERSION);
    for (int i = 0; !code && i < N_STEPS; i++) {
        if (!d->steps[i].done)
            continue;
        if (any)
            code = buffer_append(&b, ",", 1, err);
        if (!code)
            code = put_step(&d->steps[i], &b, err);
        any = true;
    }
    if (!code)
        code = buffer_append(&b, "\n]}\n", 4, err);
    if (!code)
        code = file_write_all(d->state, b.data, b.len, true, err);
    buffer_free(&b);
    return code;
}

/* A model without a name gets that of its folder. */
static int put_folder_name(const struct driver *d, struct buffer *b, struct error *err)
{
    char *real = realpath(d->o->model, NULL);
    int code = buffer_printf(b, err, "folder %s\n", file_basename(real ? real : d->o->model));
    free(real);
    return code;
}

static int put_inputs(const struct driver *d, enum input_kind kind, struct buffer *b, struct error *err)
{
    int code = kind == INPUT_MODEL ? put_folder_name(d, b, err) : 0;
    for (size_t i = 0; !code && i < d->n_inputs; i++)
        if (d->inputs[i].kind == kind) /* of a model the names count, of a text only what is in it */
            code = buffer_printf(b, err, "input %s %s\n", d->inputs[i].sha256,
                                 kind == INPUT_MODEL ? file_basename(d->inputs[i].path) : "");
    return code;
}

int state_key(struct driver *d, enum step_id id, struct error *err)
{
    struct step *s = &d->steps[id];
    struct buffer b = { 0 };
    struct digest_result r;
    int code = buffer_printf(&b, err, "ternpack %s %s\n", PACKAGE_VERSION, s->name);
    if (!code && s->command.recipe.len)
        code = buffer_append(&b, s->command.recipe.data, s->command.recipe.len, err);
    for (int i = 0; !code && i < (int)id; i++)
        if (d->steps[i].wanted && d->steps[i].output)
            code = buffer_printf(&b, err, "%s %s\n", d->steps[i].name, d->steps[i].sha256);
    if (!code && id == STEP_CONVERT)
        code = put_inputs(d, INPUT_MODEL, &b, err);
    if (!code && id == STEP_CALIB)
        code = put_inputs(d, INPUT_CORPUS, &b, err);
    if (!code && id == STEP_EVAL)
        code = put_inputs(d, INPUT_EVAL, &b, err);
    if (!code)
        code = digest_bytes(DIGEST_SHA256, b.data, b.len, &r, err);
    if (!code)
        digest_hex(r.sha256, 32, s->key);
    buffer_free(&b);
    return code;
}

/* The file is there and is what the state says. */
static bool file_stands(const char *path, const char *sha256)
{
    struct digest_result r;
    char hex[65];
    if (digest_file(DIGEST_SHA256, path, &r, NULL))
        return false;
    digest_hex(r.sha256, 32, hex);
    return strcmp(hex, sha256) == 0;
}

/* tern-pack writes the checksum list beside its file, and both are delivered. */
static bool sums_stand(const struct driver *d, enum step_id id)
{
    struct buffer sums = { 0 };
    bool ok =
        id != STEP_PACK || (!buffer_printf(&sums, NULL, "%s.sha256", d->steps[id].output) && file_exists(sums.data));
    buffer_free(&sums);
    return ok;
}

bool state_reuse(struct driver *d, enum step_id id)
{
    struct step *s = &d->steps[id];
    const char *name, *key, *sha256, *text;
    uint64_t bytes;
    double seconds;

    for (const struct json *o = d->old ? json_first(json_get(json_root(d->old), "steps")) : NULL; o; o = json_next(o)) {
        if (json_need_str(d->old, o, "name", &name, NULL) || strcmp(name, s->name) != 0 ||
            json_need_str(d->old, o, "key", &key, NULL) || strcmp(key, s->key) != 0 ||
            json_need_str(d->old, o, "sha256", &sha256, NULL) || json_need_str(d->old, o, "result", &text, NULL) ||
            json_need_u64(d->old, o, "bytes", 0, UINT64_MAX, &bytes, NULL) ||
            json_need_f64(d->old, o, "seconds", &seconds, NULL) || strlen(sha256) != (s->output ? 64 : 0))
            continue;
        if (s->output && (!file_stands(s->output, sha256) || !sums_stand(d, id)))
            return false;
        s->result_text = mem_strdup(text, NULL);
        if (!s->result_text || json_parse(&s->result, text, strlen(text), s->name, RESULT_DEPTH, 0, NULL)) {
            mem_free(s->result_text);
            s->result_text = NULL;
            return false;
        }
        memcpy(s->sha256, sha256, strlen(sha256) + 1);
        s->bytes = bytes;
        s->seconds = seconds;
        s->done = s->reused = true;
        return true;
    }
    return false;
}
