/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/emit.h"

#include <inttypes.h>
#include <string.h>

#include "base/format/manifest.h"
#include "base/util/bytes.h"
#include "base/util/text.h"
#include "pack/stream.h"

static const char zeros64[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* ---- header ---- */

static int put_text(struct gguf_writer *w, const char *key, const char *s, struct error *err)
{
    return gguf_put_str(w, key, s, strlen(s), err);
}

/* Keys that tell how a file was packed; what else stands under "ternpack." describes the model (its stop tokens, say).
 */
static bool is_own_key(const char *key)
{
    static const char *const own[] = { "version",       "method",       "type",           "group_size",
                                       "source.sha256", "stats.sha256", "sparsity_ratio", "zeros_per_group",
                                       "overrides",     "tensor.names", "tensor.methods", "tensor.xxh3",
                                       "tensor.sha256", "header_crc32" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (text_starts(key, "ternpack.") && strcmp(key + strlen("ternpack."), own[i]) == 0)
            return true;
    return false;
}

/* The source's keys in order; file_type and quantization_version changed in place, or added. The writer has put the
 * alignment. */
static int put_model_keys(const struct plan *p, struct gguf_writer *w, struct error *err)
{
    static const char file_type[] = "general.file_type", version[] = "general.quantization_version";
    const struct gguf *g = p->model;
    int rc = 0;
    for (size_t i = 0; i < g->n_kv && rc == 0; i++) {
        const struct gguf_kv *kv = &g->kv[i];
        if (strcmp(kv->key, file_type) == 0)
            rc = gguf_put_u32(w, file_type, p->options->type->file_type, err);
        else if (strcmp(kv->key, version) == 0)
            rc = gguf_put_u32(w, version, 2, err);
        else if (!is_own_key(kv->key) && strcmp(kv->key, "general.alignment") != 0)
            rc = gguf_put_copy(w, kv, err);
    }
    if (rc == 0 && !gguf_writer_has(w, file_type))
        rc = gguf_put_u32(w, file_type, p->options->type->file_type, err);
    if (rc == 0 && !gguf_writer_has(w, version))
        rc = gguf_put_u32(w, version, 2, err);
    return rc;
}

static int put_how(const struct plan *p, struct gguf_writer *w, struct error *err)
{
    const struct pack_options *o = p->options;
    int rc = gguf_put_u32(w, "ternpack.version", 1, err);
    if (rc == 0)
        rc = put_text(w, "ternpack.method", options_method_name(o->method), err);
    if (rc == 0)
        rc = put_text(w, "ternpack.type", o->type->name, err);
    if (rc == 0)
        rc = gguf_put_u32(w, "ternpack.group_size", o->type->weights, err);
    if (rc == 0)
        rc = put_text(w, "ternpack.source.sha256", p->source_sha256[0] ? p->source_sha256 : zeros64, err);
    if (rc == 0 && p->stats_sha256[0])
        rc = put_text(w, "ternpack.stats.sha256", p->stats_sha256, err);
    if (rc == 0 && o->sparsity_given)
        rc = gguf_put_f32(w, "ternpack.sparsity_ratio", (float)o->sparsity_ratio, err);
    if (rc == 0 && o->zeros_given)
        rc = gguf_put_u32(w, "ternpack.zeros_per_group", (uint32_t)o->zeros_per_group, err);
    return rc;
}

/* Names, methods, and room for the digests. */
static int put_lists(const struct plan *p, struct gguf_writer *w, struct error *err)
{
    size_t n_rules = p->options->overrides.n, n = p->n > n_rules ? p->n : n_rules;
    struct gguf_str *s = mem_zalloc(n, sizeof *s, "key values", err);
    uint64_t *xxh3 = mem_zalloc(p->n, sizeof *xxh3, "key values", err);
    int rc = s && xxh3 ? 0 : ERROR_NOMEM;
    for (size_t i = 0; i < n_rules && rc == 0; i++)
        s[i] = (struct gguf_str){ p->options->overrides.items[i], strlen(p->options->overrides.items[i]) };
    if (rc == 0 && n_rules)
        rc = gguf_put_strs(w, "ternpack.overrides", s, n_rules, err);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        s[i] = (struct gguf_str){ p->tensors[i].src->name, strlen(p->tensors[i].src->name) };
    if (rc == 0)
        rc = gguf_put_strs(w, "ternpack.tensor.names", s, p->n, err);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        s[i] = (struct gguf_str){ p->tensors[i].method, strlen(p->tensors[i].method) };
    if (rc == 0)
        rc = gguf_put_strs(w, "ternpack.tensor.methods", s, p->n, err);
    if (rc == 0)
        rc = gguf_put_array(w, "ternpack.tensor.xxh3", GGUF_U64, xxh3, p->n, err);
    for (size_t i = 0; i < p->n && rc == 0; i++)
        s[i] = (struct gguf_str){ zeros64, 64 };
    if (rc == 0)
        rc = gguf_put_strs(w, "ternpack.tensor.sha256", s, p->n, err);
    if (rc == 0)
        rc = gguf_put_u32(w, "ternpack.header_crc32", 0, err);
    mem_free(s);
    mem_free(xxh3);
    return rc;
}

int emit_open(struct emit *e, const struct plan *p, struct error *err)
{
    *e = (struct emit){ .plan = p };
    e->tensors = mem_zalloc(p->n, sizeof *e->tensors, "tensor results", err);
    uint32_t alignment = p->model->alignment < 8 ? 32 : p->model->alignment;
    int rc = e->tensors ? gguf_writer_new(&e->writer, alignment, err) : ERROR_NOMEM;
    if (rc == 0)
        rc = put_model_keys(p, e->writer, err);
    if (rc == 0)
        rc = put_how(p, e->writer, err);
    if (rc == 0)
        rc = put_lists(p, e->writer, err);
    for (size_t i = 0; i < p->n && rc == 0; i++) {
        const struct plan_tensor *t = &p->tensors[i];
        rc = gguf_put_tensor(e->writer, t->src->name, t->type->id, t->src->n_dims, t->src->ne, err);
    }
    if (rc == 0)
        e->file_bytes = gguf_writer_size(e->writer);
    return rc;
}

void emit_close(struct emit *e)
{
    gguf_writer_free(e->writer);
    mem_free(e->tensors);
    *e = (struct emit){ 0 };
}

/* ---- files beside each other ---- */

static char *checksum_path(const char *out, struct error *err)
{
    struct buffer b = { 0 };
    if (buffer_printf(&b, err, "%s.sha256", out) != 0)
        buffer_free(&b);
    return b.data;
}

int emit_check_output(const struct pack_options *o, uint64_t bytes, struct error *err)
{
    const char *inputs[] = { o->model, o->stats };
    if (!o->output) /* a dry run without one */
        return 0;
    char *sums = checksum_path(o->output, err);
    int rc = sums ? file_not_same(o->output, inputs, o->stats ? 2 : 1, err) : ERROR_NOMEM;
    if (rc == 0)
        rc = file_not_same(sums, inputs, o->stats ? 2 : 1, err);
    if (rc == 0)
        rc = file_check_output(o->output, bytes, o->common.force, err);
    if (rc == 0)
        rc = file_check_output(sums, 0, o->common.force, err);
    mem_free(sums);
    return rc;
}

static int write_checksum(const struct emit *e, struct error *err)
{
    const char *out = e->plan->options->output;
    struct buffer line = { 0 };
    char *path = checksum_path(out, err);
    int rc = path ? manifest_line(&line, e->sha256, file_basename(out), err) : ERROR_NOMEM;
    if (rc == 0)
        rc = file_write_all(path, line.data, line.len, e->plan->options->common.force, err);
    buffer_free(&line);
    mem_free(path);
    return rc;
}

/* ---- digests and checks ---- */

static int patch_digests(struct emit *e, struct error *err)
{
    struct digest_result crc;
    size_t n;
    int rc = 0;
    for (size_t i = 0; i < e->plan->n && rc == 0; i++) {
        char hex[65];
        digest_hex(e->tensors[i].digest.sha256, 32, hex);
        rc = gguf_writer_patch_str(e->writer, "ternpack.tensor.sha256", i, hex, 64, err);
        if (rc == 0)
            rc = gguf_writer_patch_num(e->writer, "ternpack.tensor.xxh3", i, &e->tensors[i].digest.xxh3, err);
    }
    if (rc != 0)
        return rc;
    const uint8_t *header = gguf_writer_header(e->writer, &n); /* its own value is still 0 in there */
    if ((rc = digest_bytes(DIGEST_CRC32, header, n, &crc, err)) == 0)
        rc = gguf_writer_patch_num(e->writer, "ternpack.header_crc32", 0, &crc.crc32, err);
    return rc;
}

/* A tensor of nothing but zeros whose source was not: something went wrong on the way, whatever it was. */
static int check_emptied(const struct emit *e, struct error *err)
{
    for (size_t i = 0; i < e->plan->n; i++) {
        const struct encode_sums *s = &e->tensors[i].sums;
        if (s->nonzero == 0 && s->source_nonzero != 0)
            return error_set(err, ERROR_FORMAT,
                             "tensor %s: all %" PRIu64 " weights became zero, %" PRIu64 " were not (%" PRIu64
                             " scales are too small for fp16)",
                             e->plan->tensors[i].src->name, s->weights, s->source_nonzero, s->scales.flushed);
    }
    return 0;
}

/* What the file holds must be what was handed to the writer: tensors read back, digests compared. */
static int check_written(struct emit *e, struct progress *progress, struct error *err)
{
    enum { CHUNK = 1 << 18 };
    struct digest *d = NULL;
    void *buf = mem_zalloc(CHUNK, 1, "read-back buffer", err);
    int rc = buf ? digest_open(&d, DIGEST_XXH3, err) : ERROR_NOMEM;
    progress_phase(progress, "check", e->plan->n, e->plan->data_bytes);
    for (size_t i = 0; i < e->plan->n && rc == 0; i++) {
        const struct plan_tensor *t = &e->plan->tensors[i];
        struct digest_result found;
        digest_reset(d);
        for (uint64_t off = 0, n; off < t->bytes && rc == 0; off += n) {
            n = t->bytes - off < CHUNK ? t->bytes - off : CHUNK;
            rc = gguf_writer_read_back(e->writer, i, off, buf, n, err);
            if (rc == 0 && (rc = interrupt_check(err)) == 0)
                digest_update(d, buf, n);
        }
        if (rc != 0)
            break;
        digest_result(d, &found);
        if (found.xxh3 != e->tensors[i].digest.xxh3)
            rc = error_set(err, ERROR_IO, "%s: tensor %s: read back other bytes than were written",
                           e->plan->options->output, t->src->name);
        progress_add(progress, 1, t->bytes);
    }
    progress_end(progress);
    digest_close(d);
    mem_free(buf);
    return rc;
}

/* Open the finished file as any reader would. */
static int check_finished(struct emit *e, struct error *err)
{
    struct gguf g;
    struct digest_result d;
    const char *out = e->plan->options->output;
    int rc = gguf_open(&g, out, 0, err);
    if (rc != 0)
        return error_prefix(err, "just written, but not readable");
    if (g.n_tensors != e->plan->n || g.file.size != e->file_bytes)
        rc = error_set(err, ERROR_INTERNAL, "%s: %zu tensors in %" PRIu64 " bytes written, expected %zu in %" PRIu64,
                       out, g.n_tensors, g.file.size, e->plan->n, e->file_bytes);
    gguf_close(&g);
    if (rc == 0 && (rc = digest_file(DIGEST_SHA256, out, &d, err)) == 0)
        memcpy(e->sha256, d.sha256, 32);
    return rc;
}

int emit_run(struct emit *e, const struct kernels *k, struct pool *pool, struct progress *progress, struct error *err)
{
    const struct pack_options *o = e->plan->options;
    int rc = emit_check_output(o, e->file_bytes, err);
    if (rc == 0)
        rc = gguf_writer_begin(e->writer, o->output, o->common.force, err);
    if (rc == 0)
        rc = stream_tensors(e->plan, e->writer, k, pool, progress, e->tensors, err);
    if (rc == 0)
        rc = check_emptied(e, err);
    if (rc == 0)
        rc = patch_digests(e, err);
    if (rc == 0)
        rc = check_written(e, progress, err);
    if (rc == 0)
        rc = gguf_writer_commit(e->writer, err);
    if (rc == 0)
        rc = check_finished(e, err);
    if (rc == 0)
        rc = write_checksum(e, err);
    e->done = rc == 0;
    return rc;
}
