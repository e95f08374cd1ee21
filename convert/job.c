/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/job.h"

#include <inttypes.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/mem.h"
#include "convert/family.h"
#include "convert/header.h"

enum { ALIGNMENT = 32 };

/* Everything in the folder is read by name; the output must be none of the files that were opened. */
static int check_output(const struct job *j, struct error *err)
{
    static const char *const texts[] = { "config.json",
                                         "tokenizer.json",
                                         "tokenizer_config.json",
                                         "generation_config.json",
                                         "special_tokens_map.json",
                                         "model.safetensors.index.json" };
    enum { N_TEXTS = sizeof texts / sizeof texts[0] };
    size_t n = j->model.n_shards + N_TEXTS;
    const char **inputs = mem_zalloc(n, sizeof *inputs, "list of inputs", err);
    char *joined[N_TEXTS] = { 0 };
    int rc = inputs ? 0 : ERROR_NOMEM;

    for (size_t i = 0; !rc && i < N_TEXTS; i++) {
        joined[i] = file_join(j->opt->dir, texts[i], err);
        inputs[i] = joined[i];
        rc = joined[i] ? 0 : ERROR_NOMEM;
    }
    for (size_t i = 0; !rc && i < j->model.n_shards; i++)
        inputs[N_TEXTS + i] = j->model.shards[i].file.path;
    if (!rc)
        rc = file_not_same(j->opt->out, inputs, n, err);
    if (!rc)
        rc = file_check_output(j->opt->out, j->file_bytes, j->opt->common.force, err);
    for (size_t i = 0; i < N_TEXTS; i++)
        mem_free(joined[i]);
    mem_free(inputs);
    return rc;
}

static int plan_tensors(struct job *j, struct error *err)
{
    const struct convert_options *o = j->opt;
    struct extras extras = { 0 };
    if (o->vocab_only) {
        plan_make_empty(&j->plan, &j->config, o);
        return 0;
    }
    int rc = extras_open(&extras, &o->allow_extra, err);
    if (!rc)
        rc = st_open_dir_except(&j->model, o->dir, extras.n ? extras_leave_out : NULL, &extras, err);
    if (!rc && (rc = plan_make(&j->plan, &j->config, &j->model, o, &extras, &j->notes, err)))
        error_prefix(err, "%s", o->dir);
    extras_free(&extras);
    return rc;
}

static int plan_header(struct job *j, struct error *err)
{
    struct vocab *v = NULL;
    int rc = vocab_open(&v, j->opt->dir, j->config.doc, j->config.n_vocab, j->opt->pre, err);
    if (!rc)
        rc = gguf_writer_new(&j->writer, ALIGNMENT, err);
    if (!rc)
        rc = header_put(j->writer, j->opt->dir, &j->config, &j->plan, v, &j->metadata, &j->notes, err);
    if (!rc)
        j->file_bytes = gguf_writer_size(j->writer);
    vocab_free(v);
    return rc;
}

int job_open(struct job *j, const struct convert_options *opt, struct error *err)
{
    *j = (struct job){ .opt = opt };
    int rc = 0;
    if (!file_is_dir(opt->dir))
        rc = error_set(err, ERROR_MISSING, "%s: no such folder (expected one with config.json and model.safetensors)",
                       opt->dir);
    if (!rc)
        rc = config_open(&j->config, opt->dir, &j->notes, err);
    if (!rc)
        rc = metadata_parse(&j->metadata, &opt->metadata, j->config.family->gguf, err);
    if (!rc)
        rc = plan_tensors(j, err);
    if (!rc)
        rc = plan_header(j, err);
    if (!rc && opt->out)
        rc = check_output(j, err);
    if (!rc)
        rc = emit_open(&j->emit, &j->plan, &j->model, opt->clamp, (unsigned)opt->common.threads,
                       (enum progress_mode)opt->common.progress, err);
    if (!rc && emit_needs_scan(&j->emit) && (rc = emit_scan(&j->emit, err)))
        error_prefix(err, "%s", opt->dir);
    if (rc)
        job_close(j);
    return rc;
}

/* What a reader sees must be what was planned. */
static int read_back(const struct job *j, struct error *err)
{
    struct gguf g = { 0 };
    int rc = gguf_open(&g, j->opt->out, 0, err);
    if (!rc && (g.n_tensors != j->plan.n_tensors || g.file.size != j->file_bytes))
        rc = error_set(err, ERROR_INTERNAL, "%s: read back %zu tensors in %" PRIu64 " bytes, planned %zu in %" PRIu64,
                       j->opt->out, g.n_tensors, g.file.size, j->plan.n_tensors, j->file_bytes);
    for (size_t i = 0; !rc && i < g.n_tensors; i++)
        if (strcmp(g.tensors[i].name, j->plan.tensors[i].name) || g.tensors[i].type != j->plan.tensors[i].type)
            rc = error_set(err, ERROR_INTERNAL, "%s: tensor %zu read back as %s, planned %s", j->opt->out, i,
                           g.tensors[i].name, j->plan.tensors[i].name);
    gguf_close(&g);
    return rc;
}

int job_write(struct job *j, struct error *err)
{
    int rc = gguf_writer_begin(j->writer, j->opt->out, j->opt->common.force, err);
    if (!rc)
        rc = emit_data(&j->emit, j->writer, err);
    if (!rc)
        rc = emit_notes(&j->emit, &j->notes, err);
    if (!rc)
        rc = gguf_writer_commit(j->writer, err);
    return rc ? rc : read_back(j, err);
}

void job_close(struct job *j)
{
    emit_close(&j->emit);
    gguf_writer_free(j->writer);
    notes_free(&j->notes);
    metadata_free(&j->metadata);
    plan_free(&j->plan);
    st_close(&j->model);
    config_close(&j->config);
    *j = (struct job){ 0 };
}
