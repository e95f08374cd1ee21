/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/plan_map.h"

#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/mem.h"
#include "base/util/text.h"
#include "convert/names.h"

struct mapper {
    const struct config *config;
    const struct st_model *model;
    const char *prefix;
    struct plan_map *map;
    struct extras *extras;
};

int plan_blame(const struct st_model *m, const struct st_tensor *t, struct error *err)
{
    return error_prefix(err, "%s", file_basename(m->shards[t->shard].file.path));
}

/* Slots in the file's order: token embedding and rotary factors, layer by layer, final norm and head. */
static int make_slots(struct plan_map *map, const struct config *c, struct error *err)
{
    map->slots = mem_zalloc((uint64_t)(c->n_layer + 1) * ROLE_OTHER, sizeof *map->slots, "tensor plan", err);
    if (!map->slots)
        return ERROR_NOMEM;
    for (int layer = -1; layer <= (int)c->n_layer; layer++)
        for (enum role r = 0; r < ROLE_OTHER; r++) {
            bool here = layer < 0 ? r < ROLE_ATTN_NORM : layer == (int)c->n_layer ? r >= ROLE_OUTPUT_NORM : true;
            bool inner = layer >= 0 && layer < (int)c->n_layer;
            if (here && role_info(r)->per_layer == inner && names_has_role(c->family, r))
                map->slots[map->n_slots++] = (struct plan_slot){ r, inner ? layer : -1, NULL };
        }
    return 0;
}

static struct plan_slot *find_slot(struct plan_map *map, enum role role, int layer)
{
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].role == role && map->slots[i].layer == layer)
            return &map->slots[i];
    return NULL;
}

static int place(struct mapper *mp, const struct st_tensor *t, const struct names_match *found, struct error *err)
{
    if (found->layer >= (int)mp->config->n_layer) {
        error_set(err, ERROR_MISMATCH, "%s: layer %d, but config.json's num_hidden_layers is %u", t->name, found->layer,
                  mp->config->n_layer);
        return plan_blame(mp->model, t, err);
    }
    struct plan_slot *s = find_slot(mp->map, found->role, found->layer);
    if (!s)
        return error_set(err, ERROR_INTERNAL, "%s: no place in the plan", t->name);
    if (s->tensor) {
        error_set(err, ERROR_MISMATCH, "%s and %s are two names for one tensor", s->tensor->name, t->name);
        return plan_blame(mp->model, t, err);
    }
    s->tensor = t;
    return 0;
}

static int refuse_unknown(const struct mapper *mp, const struct st_tensor *t, size_t n_unknown, struct error *err)
{
    char near[HFNAMES_MAX], quoted[300], more[64] = "";
    const char *known = names_nearest(mp->config->family, mp->prefix, t->name, near);
    text_quote(quoted, sizeof quoted, t->name, strlen(t->name));
    if (n_unknown > 1)
        snprintf(more, sizeof more, " (first of %zu such tensors)", n_unknown);
    if (n_unknown == mp->model->n_tensors)
        return error_set(err, ERROR_UNSUPPORTED, "none of the %zu tensors has a name known for %s, the first is %s",
                         n_unknown, mp->config->architecture, quoted);
    error_set(err, ERROR_UNSUPPORTED, "%s: no use for this tensor is known in %s%s%s%s; --allow-extra leaves it out",
              quoted, mp->config->architecture, more, known ? "; nearest known name: " : "", known ? known : "");
    return plan_blame(mp->model, t, err);
}

static int map_tensors(struct mapper *mp, struct error *err)
{
    const struct st_model *m = mp->model;
    const struct st_tensor *unknown = NULL;
    size_t n_unknown = 0;
    for (size_t i = 0; i < m->n_tensors; i++) {
        const struct st_tensor *t = &m->tensors[i];
        struct names_match found = names_of(mp->config->family, mp->prefix, t->name);
        struct plan_dropped *d = &mp->map->dropped[mp->map->n_dropped];
        if (found.use == NAMES_TENSOR) {
            int rc = place(mp, t, &found, err);
            if (rc)
                return rc;
        } else if (found.use == NAMES_DROP) {
            *d = (struct plan_dropped){ t->name, found.why };
            mp->map->n_dropped++;
        } else if (extras_match(mp->extras, t->name)) {
            *d = (struct plan_dropped){ t->name, "matches --allow-extra" };
            mp->map->n_dropped++;
        } else if (found.use == NAMES_QUANTISED) {
            error_set(err, ERROR_UNSUPPORTED,
                      "%s: the checkpoint is already quantised (%s), which is not supported (expected float weights)",
                      t->name, found.why);
            return plan_blame(m, t, err);
        } else if (!n_unknown++) {
            unknown = t;
        }
    }
    return n_unknown ? refuse_unknown(mp, unknown, n_unknown, err) : 0;
}

/* Bytes equal, compared a mebibyte at a time. */
static int same_bytes(const struct st_model *m, const struct st_tensor *a, const struct st_tensor *b, bool *same,
                      struct error *err)
{
    enum { STEP = 1 << 19 };
    uint64_t width = st_dtype_bits(a->dtype) / 8;
    uint8_t *buf = NULL;
    int rc = 0;
    *same = a->dtype == b->dtype && a->bytes == b->bytes && width;
    if (!*same)
        return 0;
    buf = mem_aligned(2 * STEP, width, "comparison buffer", err);
    if (!buf)
        return ERROR_NOMEM;
    for (uint64_t at = 0; !rc && *same && at < a->n_elements; at += STEP) {
        uint64_t n = a->n_elements - at < STEP ? a->n_elements - at : STEP;
        rc = st_read(m, a, at, n, buf, err);
        if (!rc)
            rc = st_read(m, b, at, n, buf + STEP * width, err);
        if (!rc)
            *same = !memcmp(buf, buf + STEP * width, n * width);
    }
    mem_free(buf);
    return rc;
}

/* The output head. Tied and stored all the same: an equal copy is dropped, a different one is what the weights say. */
static int decide_head(struct mapper *mp, struct notes *notes, struct error *err)
{
    struct plan_map *map = mp->map;
    struct plan_slot *head = find_slot(map, ROLE_OUTPUT, -1), *embd = find_slot(map, ROLE_TOKEN_EMBD, -1);
    bool same = false;
    char name[HFNAMES_MAX];

    if (!head->tensor) {
        map->tied = true;
        if (mp->config->tied == CONFIG_UNTIED)
            return error_set(err, ERROR_MISSING, "%s is missing, and config.json's tie_word_embeddings is false",
                             hfnames_make(ROLE_OUTPUT, -1, mp->prefix, name));
        if (mp->config->tied == CONFIG_TIED_UNSAID)
            return notes_add(
                notes, false, err,
                "no lm_head.weight and no tie_word_embeddings in config.json: the head is tied to the embedding");
        return 0;
    }
    if (mp->config->tied != CONFIG_TIED || !embd->tensor)
        return 0;
    int rc = same_bytes(mp->model, head->tensor, embd->tensor, &same, err);
    if (rc)
        return rc;
    if (!same)
        return notes_add(notes, true, err,
                         "%s differs from the embedding though tie_word_embeddings is true: kept as output.weight",
                         head->tensor->name);
    map->dropped[map->n_dropped++] = (struct plan_dropped){ head->tensor->name, "equal to the tied embedding" };
    head->tensor = NULL;
    map->tied = true;
    return 0;
}

static int check_complete(const struct mapper *mp, struct error *err)
{
    const struct plan_slot *first = NULL;
    size_t missing = 0, needed = 0;
    char name[HFNAMES_MAX];
    for (size_t i = 0; i < mp->map->n_slots; i++) {
        const struct plan_slot *s = &mp->map->slots[i];
        if (s->role == ROLE_ROPE_FREQS || s->role == ROLE_OUTPUT)
            continue;
        needed++;
        if (s->tensor)
            continue;
        if (!missing++)
            first = s;
    }
    if (!missing)
        return 0;
    return error_set(err, ERROR_MISSING, "%zu of %zu needed tensors %s missing, the first is %s", missing, needed,
                     missing == 1 ? "is" : "are", hfnames_make(first->role, first->layer, mp->prefix, name));
}

static void drop_absent(struct mapper *mp)
{
    for (size_t i = 0; i < mp->model->n_absent; i++)
        mp->map->dropped[mp->map->n_dropped++] =
            (struct plan_dropped){ mp->model->absent[i], "matches --allow-extra; in the index, in no shard" };
}

static int note_dropped(const struct mapper *mp, struct notes *notes, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < mp->map->n_dropped; i++) {
        char quoted[300];
        const struct plan_dropped *d = &mp->map->dropped[i];
        rc = notes_add(notes, false, err, "left out %s: %s",
                       text_quote(quoted, sizeof quoted, d->name, strlen(d->name)), d->why);
    }
    return rc ? rc : extras_note_unused(mp->extras, notes, err);
}

int plan_map_make(struct plan_map *map, const struct config *c, const struct st_model *m, struct extras *extras,
                  struct notes *notes, struct error *err)
{
    struct mapper mp = { .config = c, .model = m, .map = map, .extras = extras };
    int rc = 0;
    *map = (struct plan_map){ 0 };
    if (!m->n_tensors)
        return error_set(err, ERROR_MISSING, "nothing to convert: no tensors");

    map->dropped = mem_zalloc(m->n_tensors + m->n_absent, sizeof *map->dropped, "list of tensors left out", err);
    if (!map->dropped)
        rc = ERROR_NOMEM;
    mp.prefix = names_prefix(m);
    if (!rc)
        rc = make_slots(map, c, err);
    if (!rc)
        rc = map_tensors(&mp, err);
    if (!rc && mp.prefix && strcmp(mp.prefix, "model."))
        rc = notes_add(notes, false, err, "tensor names begin with \"%s\" instead of \"model.\"", mp.prefix);
    if (!rc)
        rc = check_complete(&mp, err);
    if (!rc)
        rc = decide_head(&mp, notes, err);
    if (!rc)
        drop_absent(&mp);
    if (!rc)
        rc = note_dropped(&mp, notes, err);

    if (rc)
        plan_map_free(map);
    return rc;
}

void plan_map_free(struct plan_map *map)
{
    mem_free(map->slots);
    mem_free(map->dropped);
    *map = (struct plan_map){ 0 };
}
