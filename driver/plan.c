/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/util/file.h"
#include "driver/driver.h"
#include "driver/programs.h"

/* Each adds to a command and stops at the first failure: `code` is carried along. */
struct add {
    struct command *c;
    struct error *err;
    int code;
};

static void word(struct add *a, const char *w)
{
    if (!a->code)
        a->code = command_add(a->c, w, false, a->err);
}

static void flag(struct add *a, const char *name, bool given)
{
    if (!a->code && given)
        a->code = command_add(a->c, name, true, a->err);
}

static void path(struct add *a, const char *name, const char *value)
{
    if (!a->code && value)
        a->code = command_option(a->c, name, value, false, a->err);
}

static void option(struct add *a, const char *name, const char *value, bool given)
{
    if (!a->code && given)
        a->code = command_option(a->c, name, value, true, a->err);
}

static void list(struct add *a, const char *name, const struct cli_list *l, bool matters)
{
    for (size_t i = 0; i < l->n && !a->code; i++)
        a->code = command_option(a->c, name, l->items[i], matters, a->err);
}

static void number(struct add *a, const char *name, uint64_t value)
{
    if (!a->code)
        a->code = command_number(a->c, name, value, a->err);
}

/* The program, and the options that every step gets. */
static struct add begin(struct driver *d, enum step_id id, const char *program, const char *folder, struct error *err)
{
    struct add a = { .c = &d->steps[id].command, .err = err };
    char *found = programs_find(program, folder, err);
    char threads[24];
    if (!found) {
        a.code = err ? err->code : ERROR_IO;
        return a;
    }
    word(&a, found);
    mem_free(found);
    word(&a, "--json");
    word(&a, "--progress=json");
    if (d->o->common.threads) {
        snprintf(threads, sizeof threads, "-j%" PRIu64, d->o->common.threads);
        word(&a, threads);
    }
    return a;
}

static void end(struct add *a, const char *first, const char *second)
{
    word(a, "--");
    word(a, first);
    if (second)
        word(a, second);
}

static int plan_convert(struct driver *d, struct error *err)
{
    const struct driver_options *o = d->o;
    struct add a = begin(d, STEP_CONVERT, "tern-convert", "convert", err);
    path(&a, "-o", d->steps[STEP_CONVERT].output);
    word(&a, "--force");
    option(&a, "--dtype", driver_dtype(o), o->dtype_given);
    flag(&a, "--clamp", o->clamp);
    option(&a, "--pre", o->pre, o->pre != NULL);
    list(&a, "--allow-extra", &o->allow_extra, true);
    list(&a, "--metadata", &o->metadata, true);
    end(&a, o->model, NULL);
    return a.code;
}

static int plan_calib(struct driver *d, struct error *err)
{
    const struct driver_options *o = d->o;
    struct add a = begin(d, STEP_CALIB, "tern-calib", "calib", err);
    path(&a, "-o", d->steps[STEP_CALIB].output);
    word(&a, "--force");
    list(&a, "-f", &o->corpora, false);
    number(&a, "--samples", o->samples);
    number(&a, "--ctx", o->n_ctx);
    end(&a, d->steps[STEP_CONVERT].output, NULL);
    return a.code;
}

static int plan_pack(struct driver *d, struct error *err)
{
    const struct driver_options *o = d->o;
    char digits[40];
    struct add a = begin(d, STEP_PACK, "tern-pack", "pack", err);
    path(&a, "-o", d->steps[STEP_PACK].output);
    word(&a, "--force");
    path(&a, "--stats", d->steps[STEP_CALIB].output);
    option(&a, "--type", o->block->name, true);
    option(&a, "--method", driver_method(o), true);
    snprintf(digits, sizeof digits, "%" PRIu64, o->group_size);
    option(&a, "--group-size", digits, o->group_size_given);
    snprintf(digits, sizeof digits, "%.17g", o->sparsity_ratio);
    option(&a, "--sparsity-ratio", digits, o->sparsity_given);
    snprintf(digits, sizeof digits, "%" PRIu64, o->zeros_per_group);
    option(&a, "--zeros-per-group", digits, o->zeros_given);
    option(&a, "--embed-type", driver_head_type(o->embed_type), o->embed_type_given);
    option(&a, "--output-type", driver_head_type(o->output_type), o->output_type_given);
    list(&a, "--override", &o->overrides, true);
    option(&a, "--on-ragged", driver_on_ragged(o), o->on_ragged_given);
    option(&a, "--lossless", driver_lossless(o), o->lossless_given);
    end(&a, d->steps[STEP_CONVERT].output, NULL);
    return a.code;
}

static int plan_verify(struct driver *d, struct error *err)
{
    struct add a = begin(d, STEP_VERIFY, "tern-verify", "verify", err);
    path(&a, "--against", d->steps[STEP_CONVERT].output);
    path(&a, "--stats", d->steps[STEP_CALIB].output);
    end(&a, d->steps[STEP_PACK].output, NULL);
    return a.code;
}

/* One pass over the text gives both perplexities and the divergence. */
static int plan_eval(struct driver *d, struct error *err)
{
    const struct driver_options *o = d->o;
    struct add a = begin(d, STEP_EVAL, "tern-run", "runtime", err);
    path(&a, "--ref", d->steps[STEP_CONVERT].output);
    path(&a, "-f", o->eval);
    number(&a, "--ctx", o->n_ctx);
    number(&a, "--chunks", o->chunks);
    flag(&a, "--exact", o->exact);
    end(&a, "kl", d->steps[STEP_PACK].output);
    return a.code;
}

static char *joined(const char *head, const char *tail, struct error *err)
{
    struct buffer b = { 0 };
    if (!head || buffer_printf(&b, err, "%s%s", head, tail))
        buffer_free(&b);
    return b.data;
}

/* Where the result goes. A symbolic link stays one, what it points to is replaced. */
static int plan_paths(struct driver *d, struct error *err)
{
    struct stat st;
    if (lstat(d->o->output, &st) == 0 && S_ISLNK(st.st_mode)) {
        char *real = realpath(d->o->output, NULL);
        if (!real)
            return error_set(err, ERROR_IO, "%s: a symbolic link that leads nowhere", d->o->output);
        d->out = mem_strdup(real, err);
        free(real);
    } else {
        d->out = mem_strdup(d->o->output, err);
    }
    d->sums = joined(d->out, ".sha256", err);
    d->work = joined(d->out, ".work", err);
    d->packed = joined(d->work, "/packed", err);
    d->state = joined(d->work, "/state.json", err);
    if (!d->sums || !d->work || !d->packed || !d->state)
        return ERROR_NOMEM;
    d->steps[STEP_CONVERT].output = joined(d->work, "/source.gguf", err);
    d->steps[STEP_PACK].output = file_join(d->packed, file_basename(d->out), err);
    if (!d->steps[STEP_CONVERT].output || !d->steps[STEP_PACK].output)
        return ERROR_NOMEM;
    if (d->steps[STEP_CALIB].wanted && !(d->steps[STEP_CALIB].output = joined(d->work, "/stats.gguf", err)))
        return ERROR_NOMEM;
    return 0;
}

int driver_plan(struct driver *d, const struct driver_options *o, struct error *err)
{
    static const char *const names[N_STEPS] = { "convert", "calib", "pack", "verify", "eval" };
    *d = (struct driver){ .o = o, .lock = -1 };
    for (int i = 0; i < N_STEPS; i++)
        d->steps[i] = (struct step){ .name = names[i], .wanted = true };
    d->steps[STEP_CALIB].wanted = o->corpora.n > 0;
    d->steps[STEP_EVAL].wanted = o->eval != NULL;
    return plan_paths(d, err);
}

int driver_commands(struct driver *d, struct error *err)
{
    int code = plan_convert(d, err);
    if (!code && d->steps[STEP_CALIB].wanted)
        code = plan_calib(d, err);
    if (!code)
        code = plan_pack(d, err);
    if (!code)
        code = plan_verify(d, err);
    if (!code && d->steps[STEP_EVAL].wanted)
        code = plan_eval(d, err);
    return code;
}

void driver_free(struct driver *d)
{
    for (int i = 0; i < N_STEPS; i++) {
        command_free(&d->steps[i].command);
        mem_free(d->steps[i].output);
        mem_free(d->steps[i].result_text);
        json_free(d->steps[i].result);
    }
    for (size_t i = 0; i < d->n_inputs; i++)
        mem_free(d->inputs[i].path);
    mem_free(d->inputs);
    mem_free(d->out);
    mem_free(d->sums);
    mem_free(d->work);
    mem_free(d->packed);
    mem_free(d->state);
    json_free(d->old);
}
