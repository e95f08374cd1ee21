/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/bytes.h"
#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/mem.h"
#include "runtime/commands.h"

enum { TILE_ROWS = 32, MAX_IDS = 1 << 24 };

static int read_ids(const char *path, int32_t **ids, size_t *n, struct error *err)
{
    struct json_doc *doc = NULL;
    int rc = json_parse_file(&doc, path, (uint64_t)1 << 28, 2, err);
    if (rc)
        return rc;
    const struct json *list = json_root(doc);
    *n = json_count(list);
    if (json_kind(list) != JSON_ARRAY || !*n || *n > MAX_IDS)
        rc = error_set(err, ERROR_FORMAT, "%s: expected an array of 1 to %d token ids, found %s of %zu", path, MAX_IDS,
                       json_kind_name(list), *n);
    else if (!(*ids = mem_zalloc(*n, sizeof **ids, "token ids", err)))
        rc = ERROR_NOMEM;
    size_t i = 0;
    for (const struct json *v = rc ? NULL : json_first(list); v && !rc; v = json_next(v), i++) {
        uint64_t id;
        if (!json_u64(v, &id) || id > INT32_MAX)
            rc = error_set(err, ERROR_FORMAT, "%s: element %zu is no token id", path, i);
        else
            (*ids)[i] = (int32_t)id;
    }
    json_free(doc);
    return rc;
}

/* Evaluate all ids, streaming rows of logits. */
static int write_logits(const struct run_options *o, const struct run_env *e, const int32_t *ids, size_t n,
                        struct writer *w, struct error *err)
{
    size_t n_embd = model_hparams(e->model)->n_embd, n_vocab = model_hparams(e->model)->n_vocab;
    struct context *c = NULL;
    float *hidden = NULL, *logits = NULL;
    int rc = context_open(&c, e->model, (uint32_t)n, (uint32_t)o->n_batch, o->kv_type, err);
    if (rc)
        return rc;
    size_t batch = context_batch(c);
    if (!(hidden = mem_aligned(batch * n_embd, sizeof *hidden, "hidden states", err)) ||
        !(logits = mem_aligned(TILE_ROWS * n_vocab, sizeof *logits, "logits", err)))
        rc = ERROR_NOMEM;
    progress_phase(e->progress, "logits", n, 0);
    for (size_t at = 0; at < n && !rc; at += batch) {
        size_t m = n - at < batch ? n - at : batch;
        rc = context_eval(c, ids + at, m, 0, hidden, err);
        for (size_t row = 0; row < m && !rc; row += TILE_ROWS) {
            size_t rows = m - row < TILE_ROWS ? m - row : TILE_ROWS;
            if ((rc = context_logits(c, hidden + row * n_embd, rows, logits, err)) ||
                (rc = run_check_logits(o, logits, rows * n_vocab, err)))
                break;
            for (size_t i = 0; i < rows * n_vocab; i++)
                bytes_put_f32(&logits[i], logits[i]);
            rc = writer_write(w, logits, rows * n_vocab * sizeof *logits, err);
        }
        progress_add(e->progress, m, 0);
    }
    progress_end(e->progress);
    mem_free(hidden);
    mem_free(logits);
    context_close(c);
    return rc;
}

int cmd_logits(const struct run_options *o, struct error *err)
{
    struct run_env e = { 0 };
    struct writer w = WRITER_INIT;
    int32_t *ids = NULL;
    size_t n;
    const char *inputs[] = { o->model, o->ids };
    int rc = file_not_same(o->output, inputs, 2, err);
    if (rc || (rc = read_ids(o->ids, &ids, &n, err)) || (rc = run_env_open(&e, o, err)))
        goto out;
    uint64_t planned = (uint64_t)n * model_hparams(e.model)->n_vocab * sizeof(float);
    if ((rc = file_check_output(o->output, planned, o->common.force, err)))
        goto out;
    run_say(o, "%s: %zu rows of %u values, %llu bytes", o->output, n, model_hparams(e.model)->n_vocab,
            (unsigned long long)planned);
    if (!o->common.dry_run && !(rc = writer_open(&w, o->output, o->common.force, err)) &&
        !(rc = write_logits(o, &e, ids, n, &w, err)))
        rc = writer_commit(&w, err);
out:
    writer_abort(&w);
    mem_free(ids);
    run_env_close(&e);
    return rc;
}
