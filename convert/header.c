/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/header.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/mem.h"
#include "convert/family.h"
#include "convert/identity.h"

enum { GENERATION_MAX = 1 << 20, GENERATION_DEPTH = 64, QUANTIZATION_VERSION = 2 };

static int put_text(struct gguf_writer *w, const char *key, const char *s, struct error *err)
{
    return s && *s ? gguf_put_str(w, key, s, strlen(s), err) : 0;
}

/* Sampling advice of generation_config.json, as general.sampling.*. */
static const struct {
    const char *member, *key;
    enum gguf_type type;
} sampling[] = {
    { "sequence", "general.sampling.sequence", GGUF_STRING },
    { "top_k", "general.sampling.top_k", GGUF_I32 },
    { "top_p", "general.sampling.top_p", GGUF_F32 },
    { "min_p", "general.sampling.min_p", GGUF_F32 },
    { "xtc_probability", "general.sampling.xtc_probability", GGUF_F32 },
    { "xtc_threshold", "general.sampling.xtc_threshold", GGUF_F32 },
    { "temperature", "general.sampling.temp", GGUF_F32 },
    { "penalty_last_n", "general.sampling.penalty_last_n", GGUF_I32 },
    { "penalty_repeat", "general.sampling.penalty_repeat", GGUF_F32 },
    { "mirostat", "general.sampling.mirostat", GGUF_I32 },
    { "mirostat_tau", "general.sampling.mirostat_tau", GGUF_F32 },
    { "mirostat_eta", "general.sampling.mirostat_eta", GGUF_F32 },
};

static int put_advice(struct gguf_writer *w, const struct json_doc *doc, size_t i, struct error *err)
{
    const struct json *v = json_get(json_root(doc), sampling[i].member);
    const char *key = sampling[i].key;
    int64_t n;
    double d;
    if (json_is_null(v))
        return 0;
    if (sampling[i].type == GGUF_STRING && json_str(v))
        return put_text(w, key, json_str(v), err);
    if (sampling[i].type == GGUF_I32 && json_i64(v, &n) && n >= INT32_MIN && n <= INT32_MAX)
        return gguf_put_i32(w, key, (int32_t)n, err);
    if (sampling[i].type == GGUF_F32 && json_f64(v, &d))
        return gguf_put_f32(w, key, (float)d, err);
    return error_set(err, ERROR_FORMAT, "generation_config.json: %s: expected %s, found %s", sampling[i].member,
                     sampling[i].type == GGUF_STRING ? "a string"
                     : sampling[i].type == GGUF_I32  ? "a 32-bit integer"
                                                     : "a number",
                     json_kind_name(v));
}

static int put_sampling(struct gguf_writer *w, const char *dir, struct error *err)
{
    struct json_doc *doc = NULL;
    char *path = file_join(dir, "generation_config.json", err);
    int rc = path ? 0 : ERROR_NOMEM;
    if (!rc && file_exists(path)) {
        rc = json_parse_file(&doc, path, GENERATION_MAX, GENERATION_DEPTH, err);
        for (size_t i = 0; !rc && i < sizeof sampling / sizeof sampling[0]; i++)
            rc = put_advice(w, doc, i, err);
    }
    json_free(doc);
    mem_free(path);
    return rc;
}

/* Last component of the folder's path; "." and ".." are resolved first. */
static int folder_name(const char *dir, char *buf, size_t cap)
{
    char real[PATH_MAX];
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    size_t start = n;
    while (start && dir[start - 1] != '/')
        start--;
    if ((n - start == 1 && dir[start] == '.') || (n - start == 2 && !strncmp(dir + start, "..", 2))) {
        if (!realpath(dir, real))
            return -1;
        dir = real;
        n = strlen(real);
        start = (size_t)(strrchr(real, '/') + 1 - real);
    }
    snprintf(buf, cap, "%.*s", (int)(n - start), dir + start);
    return 0;
}

static int put_identity(struct gguf_writer *w, const char *dir, const struct config *c, const struct plan *p,
                        const struct metadata *user, struct error *err)
{
    struct identity id = { 0 };
    char folder[NAME_MAX + 1] = "";
    const char *key;
    folder_name(dir, folder, sizeof folder);
    int rc = identity_guess(&id, c->name_or_path, folder, p->n_params, err);

    for (unsigned i = 0; !rc && (key = metadata_identity_key(i)); i++) {
        const struct {
            const char *key, *value;
        } guesses[] = { { "general.name", id.name ? id.name : folder },
                        { "general.version", id.version },
                        { "general.organization", id.organization },
                        { "general.finetune", id.finetune },
                        { "general.basename", id.basename },
                        { "general.size_label", id.size_label } };
        const char *value = metadata_get(user, key);
        for (size_t k = 0; !value && k < sizeof guesses / sizeof guesses[0]; k++)
            if (!strcmp(guesses[k].key, key))
                value = guesses[k].value;
        rc = put_text(w, key, value, err);
    }
    identity_free(&id);
    return rc;
}

static int put_u32(struct gguf_writer *w, const struct config *c, const char *suffix, uint32_t v, struct error *err)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", c->family->gguf, suffix);
    return gguf_put_u32(w, key, v, err);
}

static int put_f32(struct gguf_writer *w, const struct config *c, const char *suffix, double v, struct error *err)
{
    char key[128];
    snprintf(key, sizeof key, "%s.%s", c->family->gguf, suffix);
    return gguf_put_f32(w, key, (float)v, err);
}

static int put_scaling(struct gguf_writer *w, const struct config *c, struct error *err)
{
    const struct config_scaling *s = &c->rope;
    bool yarn = s->type == CONFIG_ROPE_YARN;
    const char *name = yarn ? "yarn" : "linear";
    char key[128];
    if (!yarn && s->type != CONFIG_ROPE_LINEAR)
        return 0; /* llama3 scaling is a tensor */
    snprintf(key, sizeof key, "%s.rope.scaling.type", c->family->gguf);
    int rc = put_text(w, key, name, err);
    if (!rc)
        rc = put_f32(w, c, "rope.scaling.factor", s->factor, err);
    if (!rc && yarn)
        rc = put_u32(w, c, "rope.scaling.original_context_length", s->orig_ctx, err);
    if (!rc && s->has_attn)
        rc = put_f32(w, c, "rope.scaling.attn_factor", s->attn_factor, err);
    if (!rc && s->has_beta_fast)
        rc = put_f32(w, c, "rope.scaling.yarn_beta_fast", s->beta_fast, err);
    if (!rc && s->has_beta_slow)
        rc = put_f32(w, c, "rope.scaling.yarn_beta_slow", s->beta_slow, err);
    return rc;
}

static int put_model(struct gguf_writer *w, const struct config *c, const struct plan *p, struct error *err)
{
    const struct {
        const char *suffix;
        uint32_t value;
    } sizes[] = {
        { "block_count", c->n_layer },         { "context_length", c->n_ctx },
        { "embedding_length", c->n_embd },     { "feed_forward_length", c->n_ff },
        { "attention.head_count", c->n_head }, { "attention.head_count_kv", c->n_head_kv },
    };
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof sizes / sizeof sizes[0]; i++)
        rc = put_u32(w, c, sizes[i].suffix, sizes[i].value, err);
    if (!rc)
        rc = put_scaling(w, c, err);
    if (!rc)
        rc = put_f32(w, c, "rope.freq_base", c->rope_theta, err);
    if (!rc)
        rc = put_f32(w, c, "attention.layer_norm_rms_epsilon", c->rms_eps, err);
    if (!rc)
        rc = put_u32(w, c, "attention.key_length", c->head_dim, err);
    if (!rc)
        rc = put_u32(w, c, "attention.value_length", c->head_dim, err);
    if (!rc)
        rc = gguf_put_u32(w, "general.file_type", p->file_type, err);
    if (!rc)
        rc = c->family->put_keys(c, w, err);
    return rc ? rc : gguf_put_u32(w, "general.quantization_version", QUANTIZATION_VERSION, err);
}

static int put_user_keys(struct gguf_writer *w, const struct metadata *user, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < user->n; i++)
        if (!metadata_is_identity(user->items[i].key))
            rc = put_text(w, user->items[i].key, user->items[i].value, err);
    return rc;
}

static int put_vocab(struct gguf_writer *w, const struct vocab *v, struct notes *notes, struct error *err)
{
    int rc = vocab_put(v, w, err);
    for (size_t i = 0; !rc && i < vocab_n_notes(v); i++)
        rc = notes_add(notes, false, err, "%s", vocab_note(v, i));
    return rc;
}

int header_put(struct gguf_writer *w, const char *dir, const struct config *c, const struct plan *p,
               const struct vocab *v, const struct metadata *user, struct notes *notes, struct error *err)
{
    int rc = put_text(w, "general.architecture", c->family->gguf, err);
    if (!rc)
        rc = put_text(w, "general.type", "model", err);
    if (!rc)
        rc = put_sampling(w, dir, err);
    if (!rc)
        rc = put_identity(w, dir, c, p, user, err);
    if (!rc)
        rc = put_model(w, c, p, err);
    if (!rc)
        rc = put_vocab(w, v, notes, err);
    if (!rc)
        rc = put_user_keys(w, user, err);
    for (size_t i = 0; !rc && i < p->n_tensors; i++) {
        const struct plan_tensor *t = &p->tensors[i];
        rc = gguf_put_tensor(w, t->name, t->type, t->n_dims, t->ne, err);
    }
    return rc;
}
