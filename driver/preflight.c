/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/model/roles.h"
#include "base/util/file.h"
#include "base/util/text.h"
#include "driver/child.h"
#include "driver/driver.h"

/* tern-convert's own plan: its command with --dry-run instead of the output, whose folder is not there yet. */
static int ask_convert(struct driver *d, struct json_doc **plan, struct error *err)
{
    const struct command *c = &d->steps[STEP_CONVERT].command;
    struct command dry = { 0 };
    struct child child = { .label = "check" };
    int code = 0;
    for (size_t i = 0; !code && i < c->n; i++) {
        if (strcmp(c->argv[i], "--") == 0)
            code = command_add(&dry, "--dry-run", false, err);
        if (!code && strcmp(c->argv[i], "-o") == 0)
            i++;
        else if (!code)
            code = command_add(&dry, c->argv[i], false, err);
    }
    if (!code && (code = child_run(&child, &dry, err)) && code != ERROR_INTERRUPTED) {
        report_talk(d, "convert", &child.talk, true);
        error_prefix(err, "convert");
    }
    if (!code)
        code =
            json_parse(plan, child.out.data ? child.out.data : "", child.out.len, "plan of tern-convert", 16, 0, err);
    child_free(&child);
    command_free(&dry);
    return code;
}

/* Type a matrix of the plan will have, as tern-pack chooses without overrides. */
static const struct block_info *target_of(const struct driver *d, const char *name, const struct block_info *source)
{
    int layer;
    enum role role = role_of(name, &layer);
    if (role_info(role)->linear)
        return d->o->block;
    if (role == ROLE_TOKEN_EMBD)
        return block_by_name(driver_head_type(d->o->embed_type));
    return role == ROLE_OUTPUT ? block_by_name(driver_head_type(d->o->output_type)) : source;
}

/* Matrices whose rows the block does not divide. */
struct ragged {
    size_t n;
    uint64_t cols;    /* of the first */
    uint64_t divisor; /* greatest one that all of them have */
    char first[128];
};

static void ragged_add(struct ragged *r, const char *name, uint64_t cols)
{
    uint64_t a = cols, b = r->divisor;
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    r->divisor = a;
    if (r->n++ == 0) {
        r->cols = cols;
        text_quote(r->first, sizeof r->first, name, strlen(name));
    }
}

static int ragged_refuse(const struct ragged *r, const struct block_info *block, struct error *err)
{
    return error_set(err, ERROR_UNSUPPORTED,
                     "%zu matrices have rows that are no whole number of %s blocks of %u, %s (%" PRIu64
                     " weights) is the "
                     "first; %s or --on-ragged f16 or q8_0",
                     r->n, block->name, block->weights, r->first, r->cols,
                     r->divisor % 128 == 0  ? "choose --type PQ2_0, PTQ1_0 or Q2_0,"
                     : r->divisor % 64 == 0 ? "choose --type Q2_0,"
                                            : "no type fits;");
}

/* Add one tensor's bytes to the estimate. A row that the block does not divide is refused before the first step, unless
 * an option says what to do with it. */
static int add_tensor(struct driver *d, const struct json_doc *plan, const struct json *t, uint64_t *source,
                      struct ragged *ragged, struct error *err)
{
    const struct json *ne = json_get(t, "ne");
    const char *name, *type;
    uint64_t cols = 0, rows = 1, before, after;
    int code = json_need_str(plan, t, "name", &name, err);
    if (!code)
        code = json_need_str(plan, t, "type", &type, err);
    if (code)
        return code;
    const struct block_info *from = block_by_name(type), *to = from;
    if (!from || !json_u64(json_first(ne), &cols))
        return error_set(err, ERROR_INTERNAL, "plan of tern-convert: tensor without type or shape");
    if (json_count(ne) > 1) {
        json_u64(json_next(json_first(ne)), &rows);
        to = target_of(d, name, from);
    }
    bool open = d->o->overrides.n || d->o->on_ragged;
    if (!block_row_bytes(to, cols, &after)) {
        if (!open && to->ternary)
            ragged_add(ragged, name, cols);
        to = strcmp(driver_on_ragged(d->o), "q8_0") == 0 ? block_by_name("Q8_0") : from;
        if (!block_row_bytes(to, cols, &after))
            to = from;
    }
    if (!block_row_bytes(from, cols, &before) || !block_row_bytes(to, cols, &after))
        return error_set(err, ERROR_INTERNAL, "plan of tern-convert: %s: odd shape", name);
    *source += before * rows;
    d->packed_bytes += after * rows;
    return 0;
}

int preflight(struct driver *d, struct error *err)
{
    struct json_doc *plan = NULL;
    const char *architecture = "?";
    uint64_t tensors = 0;
    struct ragged ragged = { 0 };
    int code = ask_convert(d, &plan, err);
    if (code)
        return code;
    const struct json *o = json_root(plan);
    if ((code = json_need_u64(plan, o, "bytes", 0, UINT64_MAX, &d->source_bytes, err)) ||
        (code = json_need_u64(plan, o, "parameters", 1, UINT64_MAX, &d->parameters, err)) ||
        (code = json_opt_str(plan, o, "architecture", &architecture, err)))
        goto out;
    snprintf(d->architecture, sizeof d->architecture, "%s", architecture);
    for (const struct json *t = json_first(json_get(o, "plan")); !code && t; t = json_next(t))
        code = add_tensor(d, plan, t, &tensors, &ragged, err);
    if (!code && ragged.n)
        code = ragged_refuse(&ragged, d->o->block, err);
    if (code)
        goto out;
    /* What is no tensor data - the vocabulary - is the same in both files. */
    if (d->source_bytes > tensors)
        d->packed_bytes += d->source_bytes - tensors;
    code = file_check_output(d->out, d->source_bytes + d->packed_bytes, d->o->common.force, err);
out:
    json_free(plan);
    return code;
}
