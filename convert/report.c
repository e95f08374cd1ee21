/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/block.h"
#include "base/util/json.h"
#include "base/util/text.h"
#include "convert/family.h"

static const char *const status_words[] = {
    [CONFIG_USED] = "used", [CONFIG_IGNORED] = "ignored", [CONFIG_UNKNOWN] = "unknown"
};

static const char *file_type_name(uint32_t file_type)
{
    static const uint32_t types[] = { BLOCK_F32, BLOCK_F16, BLOCK_BF16 };
    for (size_t i = 0; i < 3; i++)
        if (block_info(types[i])->file_type == file_type)
            return block_info(types[i])->name;
    return "?";
}

static const char *quoted(const char *s, char buf[300])
{
    return text_quote(buf, 300, s, strlen(s));
}

int report_plan(const struct job *j, struct buffer *out, struct error *err)
{
    const struct config *c = &j->config;
    char q[300];
    int rc = buffer_printf(out, err, "config.json\n");
    for (size_t i = 0; !rc && i < c->n_keys; i++)
        rc = buffer_printf(out, err, "  %-8s %s%s%s\n", status_words[c->keys[i].status], quoted(c->keys[i].name, q),
                           c->keys[i].why ? ": " : "", c->keys[i].why ? c->keys[i].why : "");
    if (!rc)
        rc = buffer_printf(out, err, "tensors\n");
    for (size_t i = 0; !rc && i < j->plan.n_tensors; i++) {
        const struct plan_tensor *t = &j->plan.tensors[i];
        char shape[48];
        if (t->n_dims > 1)
            snprintf(shape, sizeof shape, "%" PRIu64 "x%" PRIu64, t->ne[0], t->ne[1]);
        else
            snprintf(shape, sizeof shape, "%" PRIu64, t->ne[0]);
        rc = buffer_printf(out, err, "  %-28s %-4s %-14s <- %s%s\n", t->name, block_info(t->type)->name, shape,
                           t->src ? quoted(t->src->name, q) : "(computed)", t->permute_head ? " (rows regrouped)" : "");
    }
    if (!rc && j->plan.n_dropped)
        rc = buffer_printf(out, err, "left out\n");
    for (size_t i = 0; !rc && i < j->plan.n_dropped; i++)
        rc = buffer_printf(out, err, "  %s: %s\n", quoted(j->plan.dropped[i].name, q), j->plan.dropped[i].why);
    return rc;
}

int report_summary(const struct job *j, struct buffer *out, struct error *err)
{
    enum { FEW = 12 };
    char size[32], q[300];
    size_t skipped = 0;
    int rc = 0;
    for (size_t i = 0; !rc && i < j->notes.n; i++) {
        const struct note *n = &j->notes.items[i];
        if (!n->warning && i >= FEW && !j->opt->common.verbose)
            skipped++;
        else
            rc = buffer_printf(out, err, "%s: %s\n", n->warning ? "warning" : "note", n->text);
    }
    if (!rc && skipped)
        rc = buffer_printf(out, err, "note: %zu more with -v\n", skipped);
    if (rc)
        return rc;
    return buffer_printf(out, err, "%s%s: %s (%s), %zu tensors, %" PRIu64 " parameters, %s%s, %s\n",
                         j->opt->out ? quoted(j->opt->out, q) : "no output",
                         j->opt->common.dry_run ? " (dry run, nothing written)" : "", j->config.family->gguf,
                         j->config.architecture, j->plan.n_tensors, j->plan.n_params, file_type_name(j->plan.file_type),
                         j->plan.tied ? ", tied head" : "", text_bytes(size, sizeof size, j->file_bytes));
}

static int put_str(struct buffer *b, const char *key, const char *s, struct error *err)
{
    int rc = buffer_printf(b, err, "\"%s\":", key);
    if (!rc)
        rc = s ? json_put_str(b, s, strlen(s), err) : buffer_append(b, "null", 4, err);
    return rc;
}

static int put_notes(struct buffer *b, const struct notes *notes, bool warnings, struct error *err)
{
    bool any = false;
    int rc = buffer_printf(b, err, ",\"%s\":[", warnings ? "warnings" : "notes");
    for (size_t i = 0; !rc && i < notes->n; i++) {
        if (notes->items[i].warning != warnings)
            continue;
        if (any)
            rc = buffer_append(b, ",", 1, err);
        if (!rc)
            rc = json_put_str(b, notes->items[i].text, strlen(notes->items[i].text), err);
        any = true;
    }
    return rc ? rc : buffer_append(b, "]", 1, err);
}

static int put_config(struct buffer *b, const struct config *c, struct error *err)
{
    int rc = buffer_printf(b, err, ",\"config\":[");
    for (size_t i = 0; !rc && i < c->n_keys; i++) {
        rc = buffer_printf(b, err, "%s{", i ? "," : "");
        if (!rc)
            rc = put_str(b, "key", c->keys[i].name, err);
        if (!rc)
            rc = buffer_printf(b, err, ",\"status\":\"%s\"}", status_words[c->keys[i].status]);
    }
    return rc ? rc : buffer_append(b, "]", 1, err);
}

static int put_tensors(struct buffer *b, const struct plan *p, struct error *err)
{
    int rc = buffer_printf(b, err, ",\"plan\":[");
    for (size_t i = 0; !rc && i < p->n_tensors; i++) {
        const struct plan_tensor *t = &p->tensors[i];
        rc = buffer_printf(b, err, "%s{\"name\":\"%s\",\"type\":\"%s\",\"ne\":[%" PRIu64, i ? "," : "", t->name,
                           block_info(t->type)->name, t->ne[0]);
        if (!rc && t->n_dims > 1)
            rc = buffer_printf(b, err, ",%" PRIu64, t->ne[1]);
        if (!rc)
            rc = buffer_printf(b, err, "],");
        if (!rc)
            rc = put_str(b, "source", t->src ? t->src->name : NULL, err);
        if (!rc)
            rc = buffer_append(b, "}", 1, err);
    }
    return rc ? rc : buffer_append(b, "]", 1, err);
}

static int put_dropped(struct buffer *b, const struct plan *p, struct error *err)
{
    int rc = buffer_printf(b, err, ",\"left_out\":[");
    for (size_t i = 0; !rc && i < p->n_dropped; i++) {
        rc = buffer_printf(b, err, "%s{", i ? "," : "");
        if (!rc)
            rc = put_str(b, "name", p->dropped[i].name, err);
        if (!rc)
            rc = buffer_append(b, ",", 1, err);
        if (!rc)
            rc = put_str(b, "why", p->dropped[i].why, err);
        if (!rc)
            rc = buffer_append(b, "}", 1, err);
    }
    return rc ? rc : buffer_append(b, "]", 1, err);
}

int report_json(const struct job *j, bool with_plan, struct buffer *b, struct error *err)
{
    int rc = buffer_append(b, "{", 1, err);
    if (!rc)
        rc = put_str(b, "output", j->opt->out, err);
    if (!rc)
        rc = buffer_printf(b, err, ",\"written\":%s,\"architecture\":\"%s\",",
                           j->opt->common.dry_run ? "false" : "true", j->config.family->gguf);
    if (!rc)
        rc = put_str(b, "hf_architecture", j->config.architecture, err);
    if (!rc)
        rc = buffer_printf(b, err,
                           ",\"tensors\":%zu,\"parameters\":%" PRIu64 ",\"bytes\":%" PRIu64
                           ",\"dtype\":\"%s\",\"file_type\":%u,\"tied\":%s",
                           j->plan.n_tensors, j->plan.n_params, j->file_bytes, file_type_name(j->plan.file_type),
                           j->plan.file_type, j->plan.tied ? "true" : "false");
    if (!rc)
        rc = put_dropped(b, &j->plan, err);
    if (!rc && with_plan)
        rc = put_config(b, &j->config, err);
    if (!rc && with_plan)
        rc = put_tensors(b, &j->plan, err);
    if (!rc)
        rc = put_notes(b, &j->notes, true, err);
    if (!rc)
        rc = put_notes(b, &j->notes, false, err);
    return rc ? rc : buffer_append(b, "}\n", 2, err);
}
