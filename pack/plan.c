/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util/text.h"
#include "pack/rules.h"
#include "pack/threshold.h"

static bool is_float(uint32_t type)
{
    return type == BLOCK_F32 || type == BLOCK_F16 || type == BLOCK_BF16;
}

double plan_bits_per_weight(const struct plan_tensor *t)
{
    return t->src->n_elements ? 8.0 * (double)t->bytes / (double)t->src->n_elements : 0;
}

/* ---- what may be packed at all ---- */

static int check_keys(const struct gguf *g, struct error *err)
{
    const char *path = g->file.path;
    struct gguf_str type = { 0 }, arch;
    int rc = gguf_opt_str(g, "general.type", &type, err);
    if (rc == 0)
        rc = gguf_need_str(g, "general.architecture", &arch, err);
    if (rc != 0)
        return rc;
    if (type.n && !(type.n == 5 && memcmp(type.s, "model", 5) == 0)) {
        char quoted[64];
        return error_set(err, ERROR_UNSUPPORTED, "%s: general.type is '%s', expected a model", path,
                         text_quote(quoted, sizeof quoted, type.s, type.n));
    }
    for (size_t i = 0; i < g->n_kv; i++)
        if (text_starts(g->kv[i].key, "prism.hadamard."))
            return error_set(err, ERROR_UNSUPPORTED,
                             "%s: key %s: the weights are in a rotated basis, which this version "
                             "does not pack",
                             path, g->kv[i].key);
    uint32_t parts = 0;
    if ((rc = gguf_opt_u32(g, "split.count", &parts, err)) != 0)
        return rc;
    if (parts > 1)
        return error_set(err, ERROR_UNSUPPORTED, "%s: part of a model split into %" PRIu32 " files; merge them first",
                         path, parts);
    return 0;
}

static int check_source(const struct gguf *g, struct error *err)
{
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        if (is_float(t->type))
            continue;
        return error_set(err, ERROR_UNSUPPORTED,
                         "%s: tensor %s is %s%s; give the full-precision model (F32, F16 or BF16)", g->file.path,
                         t->name, t->info->name,
                         t->info->weights > 1 ? ": the model is packed already" : ", which cannot be packed");
    }
    if (g->n_tensors == 0)
        return error_set(err, ERROR_FORMAT, "%s: no tensors, nothing to pack", g->file.path);
    return check_keys(g, err);
}

/* ---- types ---- */

/* The type wanted, before it is known whether rows are whole blocks; NULL: as it is. Rules are for matrices: a vector
 * is small, and readers expect norms and biases as they are. */
static const struct block_info *wanted_type(const struct pack_options *o, struct rules *rules,
                                            const struct gguf_tensor *t, enum role role)
{
    if (t->n_rows < 2 && t->n_dims < 2)
        return NULL;
    const struct rule *rule = rules_find(rules, t->name);
    if (rule)
        return rule->type;
    if (role == ROLE_TOKEN_EMBD)
        return o->embed_type;
    if (role == ROLE_OUTPUT)
        return o->output_type;
    return role_info(role)->linear && t->n_dims == 2 ? o->type : NULL;
}

/* A row of n that `want` does not divide: another type as --on-ragged says, or NULL and a line among the offenders. */
static int ragged_type(struct plan *p, const struct gguf_tensor *t, const struct block_info **want, struct error *err)
{
    uint64_t n = t->ne[0], block = (*want)->weights;
    char name[4 * GGUF_MAX_NAME + 1];
    int choice = p->options->on_ragged;
    if (choice == RAGGED_F16 || (choice == RAGGED_Q8_0 && n % 32 == 0)) {
        *want = block_by_name(choice == RAGGED_F16 ? "F16" : "Q8_0");
        p->n_ragged++;
        return 0;
    }
    int rc = buffer_printf(
        &p->offenders, err,
        "%s: row of %" PRIu64 " weights = %" PRIu64 " blocks of %" PRIu64 " (%s) and %" PRIu64 " left over\n",
        text_quote(name, sizeof name, t->name, strlen(t->name)), n, n / block, block, (*want)->name, n % block);
    *want = NULL;
    return rc;
}

static int plan_keep(const struct pack_options *o, const struct plan_tensor *t, int *keep, struct error *err)
{
    unsigned g = t->type->weights;
    uint64_t zeros = o->zeros_given ? o->zeros_per_group : (uint64_t)llround(o->sparsity_ratio * g);
    *keep = THRESHOLD_FREE;
    if (!o->zeros_given && !o->sparsity_given)
        return 0;
    if (zeros >= g)
        return error_set(err, ERROR_USAGE,
                         "tensor %s: %" PRIu64 " zeros in each group of %u (%s) would leave no weight", t->src->name,
                         zeros, g, t->type->name);
    *keep = (int)(g - zeros);
    return 0;
}

static const char *convert_name(uint32_t type)
{
    return type == BLOCK_Q8_0 ? "q8_0" : type == BLOCK_F16 ? "f16" : type == BLOCK_BF16 ? "bf16" : "f32";
}

static int plan_tensor(struct plan *p, struct rules *rules, const struct gguf_tensor *src, struct plan_tensor *t,
                       struct error *err)
{
    int layer, rc = 0;
    *t = (struct plan_tensor){ .src = src, .type = src->info, .role = role_of(src->name, &layer), .method = "copy" };
    const struct block_info *want = wanted_type(p->options, rules, src, t->role);
    if (want && src->ne[0] % want->weights != 0)
        rc = ragged_type(p, src, &want, err);
    if (want)
        t->type = want;
    if (rc == 0 && t->type->ternary) {
        t->kind = PLAN_TERNARY;
        t->method = options_method_name(p->options->method);
        rc = plan_keep(p->options, t, &t->keep, err);
    } else if (t->type->id != src->type) {
        t->kind = PLAN_CONVERT;
        t->method = convert_name(t->type->id);
    }
    if (rc != 0)
        return rc;
    uint64_t row;
    if (!block_row_bytes(t->type, src->ne[0], &row) || !mem_mul(row, src->n_rows, &t->bytes) ||
        !mem_add(p->data_bytes, t->bytes, &p->data_bytes))
        return error_set(err, ERROR_FORMAT, "%s: tensor %s: size overflows", p->model->file.path, src->name);
    p->n_weights += src->n_elements;
    p->n_ternary += t->kind == PLAN_TERNARY;
    return 0;
}

static int check_offenders(const struct plan *p, struct error *err)
{
    size_t n = 0;
    for (size_t i = 0; i < p->offenders.len; i++)
        n += p->offenders.data[i] == '\n';
    if (n == 0)
        return 0;
    size_t first = strcspn(p->offenders.data, "\n");
    return error_set(err, ERROR_UNSUPPORTED,
                     "%s: %zu tensor%s with rows that are no whole number of blocks: %.*s%s; choose "
                     "another --type, or --on-ragged f16 or q8_0",
                     p->model->file.path, n, n == 1 ? "" : "s", (int)(first < 200 ? first : 200), p->offenders.data,
                     n == 1 ? "" : " (and so on)");
}

static int type_warnings(struct plan *p, const struct rules *rules, struct error *err)
{
    int rc = 0;
    if (p->n_ragged)
        rc = buffer_printf(&p->warnings, err, "%zu tensor%s with rows that are no whole number of blocks become%s %s\n",
                           p->n_ragged, p->n_ragged == 1 ? "" : "s", p->n_ragged == 1 ? "s" : "",
                           p->options->on_ragged == RAGGED_F16 ? "F16" : "Q8_0");
    for (size_t i = 0; i < rules->n && rc == 0; i++)
        if (rules->items[i].matched == 0)
            rc = buffer_printf(&p->warnings, err, "--override '%s' decides no matrix of this model\n",
                               rules->items[i].text);
    return rc;
}

int plan_open(struct plan *p, const struct gguf *model, const struct pack_options *o, struct error *err)
{
    struct rules rules = { 0 };
    *p = (struct plan){ .model = model, .options = o };
    int rc = check_source(model, err);
    if (rc == 0)
        rc = rules_open(&rules, &o->overrides, err);
    if (rc == 0) {
        p->tensors = mem_zalloc(model->n_tensors, sizeof *p->tensors, "plan", err);
        rc = p->tensors ? 0 : ERROR_NOMEM;
    }
    for (; rc == 0 && p->n < model->n_tensors; p->n++)
        rc = plan_tensor(p, &rules, &model->tensors[p->n], &p->tensors[p->n], err);
    if (rc == 0)
        rc = check_offenders(p, err);
    if (rc == 0)
        rc = type_warnings(p, &rules, err);
    if (rc == 0 && p->n_ternary == 0)
        rc = error_set(err, ERROR_UNSUPPORTED,
                       "%s: no tensor would become ternary (no known linear layer among %zu tensors)", model->file.path,
                       p->n);
    rules_free(&rules);
    return rc;
}

void plan_free(struct plan *p)
{
    mem_free(p->tensors);
    buffer_free(&p->warnings);
    buffer_free(&p->offenders);
    arena_free(&p->arena);
    *p = (struct plan){ 0 };
}
