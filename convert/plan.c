/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/block.h"
#include "base/util/mem.h"
#include "convert/family.h"
#include "convert/plan_map.h"

/* Rows and columns a role's tensor must have, and which members of config.json say so. */
struct expected {
    uint32_t n_dims;
    uint64_t shape[2]; /* as the checkpoint writes it: slowest first */
    const char *from;
};

static struct expected expected_shape(const struct config *c, enum role role)
{
    uint64_t q = (uint64_t)c->n_head * c->head_dim, kv = (uint64_t)c->n_head_kv * c->head_dim;
    switch (role) {
    case ROLE_TOKEN_EMBD:
    case ROLE_OUTPUT:
        return (struct expected){ 2, { c->n_vocab, c->n_embd }, "vocab_size, hidden_size" };
    case ROLE_ATTN_Q:
        return (struct expected){ 2, { q, c->n_embd }, "num_attention_heads x head_dim, hidden_size" };
    case ROLE_ATTN_K:
    case ROLE_ATTN_V:
        return (struct expected){ 2, { kv, c->n_embd }, "num_key_value_heads x head_dim, hidden_size" };
    case ROLE_ATTN_OUTPUT:
        return (struct expected){ 2, { c->n_embd, q }, "hidden_size, num_attention_heads x head_dim" };
    case ROLE_FFN_GATE:
    case ROLE_FFN_UP:
        return (struct expected){ 2, { c->n_ff, c->n_embd }, "intermediate_size, hidden_size" };
    case ROLE_FFN_DOWN:
        return (struct expected){ 2, { c->n_embd, c->n_ff }, "hidden_size, intermediate_size" };
    case ROLE_ATTN_Q_NORM:
    case ROLE_ATTN_K_NORM:
        return (struct expected){ 1, { c->head_dim }, "head_dim" };
    default:
        return (struct expected){ 1, { c->n_embd }, "hidden_size" };
    }
}

static char *shape_text(char *buf, size_t cap, uint32_t n_dims, const uint64_t *shape)
{
    size_t used = (size_t)snprintf(buf, cap, "[");
    for (uint32_t i = 0; i < n_dims && used < cap; i++)
        used += (size_t)snprintf(buf + used, cap - used, "%s%" PRIu64, i ? ", " : "", shape[i]);
    if (used < cap)
        snprintf(buf + used, cap - used, "]");
    return buf;
}

static int check_shape(const struct config *c, const struct plan_tensor *t, struct error *err)
{
    struct expected e = expected_shape(c, t->role);
    char found[256], wanted[64];
    const struct st_tensor *s = t->src;
    if (s->n_dims == e.n_dims && !memcmp(s->shape, e.shape, e.n_dims * sizeof e.shape[0]))
        return 0;
    return error_set(err, ERROR_MISMATCH, "%s: shape %s, expected %s (%s in config.json)", s->name,
                     shape_text(found, sizeof found, s->n_dims, s->shape),
                     shape_text(wanted, sizeof wanted, e.n_dims, e.shape), e.from);
}

static int stored_type(const struct st_tensor *s, uint32_t *type, struct error *err)
{
    switch (s->dtype) {
    case ST_F32:
        *type = BLOCK_F32;
        return 0;
    case ST_F16:
        *type = BLOCK_F16;
        return 0;
    case ST_BF16:
        *type = BLOCK_BF16;
        return 0;
    default:
        return error_set(err, ERROR_UNSUPPORTED, "%s: dtype %s is not supported (expected F32, F16 or BF16)", s->name,
                         st_dtype_name(s->dtype));
    }
}

/* Readers take norms and other vectors only in F32. */
static uint32_t written_type(const struct convert_options *o, uint32_t n_dims, uint32_t stored)
{
    if (n_dims < 2)
        return BLOCK_F32;
    switch (o->dtype) {
    case DTYPE_F16:
        return BLOCK_F16;
    case DTYPE_BF16:
        return BLOCK_BF16;
    case DTYPE_F32:
        return BLOCK_F32;
    default:
        return stored;
    }
}

static int fill_tensor(struct plan_tensor *t, const struct config *c, const struct convert_options *o,
                       struct error *err)
{
    uint32_t stored = 0;
    int rc = stored_type(t->src, &stored, err);
    if (!rc)
        rc = check_shape(c, t, err);
    if (rc)
        return rc;
    t->n_dims = t->src->n_dims;
    t->ne[0] = t->src->shape[t->n_dims - 1];
    t->ne[1] = t->n_dims > 1 ? t->src->shape[0] : 1;
    t->n_elements = t->src->n_elements;
    t->type = written_type(o, t->n_dims, stored);
    if (c->family->permute_qk && (t->role == ROLE_ATTN_Q || t->role == ROLE_ATTN_K))
        t->permute_head = c->head_dim;
    return 0;
}

static int add_rope_freqs(struct plan *p, const struct config *c, struct plan_tensor *t, struct error *err)
{
    uint32_t n = c->head_dim / 2;
    p->rope_freqs = mem_zalloc(n, sizeof *p->rope_freqs, "rotary factors", err);
    if (!p->rope_freqs)
        return ERROR_NOMEM;
    family_llama3_freqs(c, p->rope_freqs);
    *t = (struct plan_tensor){ .role = ROLE_ROPE_FREQS,
                               .values = p->rope_freqs,
                               .type = BLOCK_F32,
                               .n_dims = 1,
                               .ne = { n, 1 },
                               .n_elements = n };
    role_name(ROLE_ROPE_FREQS, -1, t->name);
    return 0;
}

/* The type most matrix elements have decides; ties go to the earlier of F32, F16, BF16. */
static void sum_up(struct plan *p)
{
    static const uint32_t types[] = { BLOCK_F32, BLOCK_F16, BLOCK_BF16 };
    uint64_t elements[3] = { 0 };
    size_t most = 0;
    for (size_t i = 0; i < p->n_tensors; i++) {
        const struct plan_tensor *t = &p->tensors[i];
        p->n_params += t->n_elements;
        p->data_bytes += t->n_elements * block_info(t->type)->bytes;
        for (size_t k = 0; k < 3; k++)
            if (t->type == types[k] && t->n_dims > 1)
                elements[k] += t->n_elements;
    }
    for (size_t k = 1; k < 3; k++)
        if (elements[k] > elements[most])
            most = k;
    p->file_type = block_info(types[most])->file_type;
}

static int build(struct plan *p, const struct plan_map *map, const struct config *c, const struct st_model *m,
                 const struct convert_options *o, struct error *err)
{
    p->tensors = mem_zalloc(map->n_slots + 1, sizeof *p->tensors, "tensor plan", err);
    if (!p->tensors)
        return ERROR_NOMEM;
    for (size_t i = 0; i < map->n_slots; i++) {
        const struct plan_slot *s = &map->slots[i];
        if (s->role == ROLE_ROPE_FREQS && c->rope.type == CONFIG_ROPE_LLAMA3) {
            int rc = add_rope_freqs(p, c, &p->tensors[p->n_tensors++], err);
            if (rc)
                return rc;
        }
        if (!s->tensor)
            continue;
        struct plan_tensor *t = &p->tensors[p->n_tensors++];
        *t = (struct plan_tensor){ .role = s->role, .src = s->tensor };
        role_name(s->role, s->layer, t->name);
        if (fill_tensor(t, c, o, err))
            return plan_blame(m, s->tensor, err);
    }
    sum_up(p);
    return 0;
}

int plan_make(struct plan *p, const struct config *c, const struct st_model *m, const struct convert_options *o,
              struct extras *extras, struct notes *notes, struct error *err)
{
    struct plan_map map = { 0 };
    *p = (struct plan){ 0 };
    int rc = plan_map_make(&map, c, m, extras, notes, err);
    if (!rc)
        rc = build(p, &map, c, m, o, err);
    if (!rc) {
        p->tied = map.tied;
        p->dropped = map.dropped;
        p->n_dropped = map.n_dropped;
        map.dropped = NULL;
    }
    plan_map_free(&map);
    if (rc)
        plan_free(p);
    return rc;
}

void plan_make_empty(struct plan *p, const struct config *c, const struct convert_options *o)
{
    static const struct {
        const char *name;
        uint32_t type;
    } stored[] = { { "float16", BLOCK_F16 }, { "bfloat16", BLOCK_BF16 } };
    uint32_t type = BLOCK_F32;
    for (size_t i = 0; i < 2; i++)
        if (c->stored_dtype && !strcmp(c->stored_dtype, stored[i].name))
            type = stored[i].type;
    *p = (struct plan){ .file_type = block_info(written_type(o, 2, type))->file_type };
}

void plan_free(struct plan *p)
{
    mem_free(p->tensors);
    mem_free(p->dropped);
    mem_free(p->rope_freqs);
    *p = (struct plan){ 0 };
}
