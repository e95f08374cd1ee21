/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/model.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

#include "base/util/mem.h"
#include "base/util/text.h"
#include "runtime/model_internal.h"
#include "runtime/rope.h"

static const uint8_t *tensor_data(const struct model *m, const struct gguf_tensor *t)
{
    return m->data ? m->data + (t->offset - m->g.data_offset) : m->g.file.map + t->offset;
}

/* hparams_read has checked that the tensors of the family are there and have the right shapes. */
static const struct gguf_tensor *role_tensor(const struct model *m, enum role role, int layer)
{
    char name[64];
    return gguf_tensor(&m->g, role_name(role, layer, name));
}

static int check_type(const struct model *m, const struct gguf_tensor *t, struct error *err)
{
    if (t->info->decodes)
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "%s: tensor %s: type %s cannot be run; F32, F16, BF16, Q8_0, Q4_0 and the ternary types can",
                     m->g.file.path, t->name, t->info->name);
}

static int weight_init(const struct model *m, struct weight *w, enum role role, int layer, struct error *err)
{
    const struct gguf_tensor *t = role_tensor(m, role, layer);
    *w = (struct weight){ .name = t->name,
                          .data = tensor_data(m, t),
                          .type = t->type,
                          .ternary = t->info->ternary,
                          .n_in = t->ne[0],
                          .n_out = t->n_rows,
                          .row_bytes = t->row_bytes };
    return check_type(m, t, err);
}

/* A vector as FP32, finite. */
static int vector_init(struct model *m, float **out, enum role role, int layer, struct error *err)
{
    const struct gguf_tensor *t = role_tensor(m, role, layer);
    size_t n = t->n_elements;
    int rc = check_type(m, t, err);
    if (rc)
        return rc;
    *out = arena_alloc(&m->arena, n, sizeof **out, err);
    if (!*out)
        return ERROR_NOMEM;
    m->opt.kernels->dequantize(t->type, tensor_data(m, t), *out, n);
    for (size_t i = 0; i < n; i++)
        if (!isfinite((*out)[i]))
            return error_set(err, ERROR_FORMAT, "%s: tensor %s: value %zu is not finite", m->g.file.path, t->name, i);
    return 0;
}

static int layer_init(struct model *m, int i, struct error *err)
{
    struct layer *l = &m->layers[i];
    int rc;
    if ((rc = vector_init(m, &l->attn_norm, ROLE_ATTN_NORM, i, err)) ||
        (rc = weight_init(m, &l->q, ROLE_ATTN_Q, i, err)) || (rc = weight_init(m, &l->k, ROLE_ATTN_K, i, err)) ||
        (rc = weight_init(m, &l->v, ROLE_ATTN_V, i, err)) || (rc = weight_init(m, &l->o, ROLE_ATTN_OUTPUT, i, err)) ||
        (rc = vector_init(m, &l->ffn_norm, ROLE_FFN_NORM, i, err)) ||
        (rc = weight_init(m, &l->gate, ROLE_FFN_GATE, i, err)) || (rc = weight_init(m, &l->up, ROLE_FFN_UP, i, err)) ||
        (rc = weight_init(m, &l->down, ROLE_FFN_DOWN, i, err)))
        return rc;
    if (m->h.arch == ARCH_QWEN3 && ((rc = vector_init(m, &l->q_norm, ROLE_ATTN_Q_NORM, i, err)) ||
                                    (rc = vector_init(m, &l->k_norm, ROLE_ATTN_K_NORM, i, err))))
        return rc;
    return 0;
}

static int rope_init(struct model *m, struct error *err)
{
    size_t n_pairs = m->h.n_rot / 2;
    float *factors = NULL;
    if (role_tensor(m, ROLE_ROPE_FREQS, -1)) {
        int rc = vector_init(m, &factors, ROLE_ROPE_FREQS, -1, err);
        if (rc)
            return rc;
        for (size_t i = 0; i < n_pairs; i++)
            if (!(factors[i] > 0))
                return error_set(err, ERROR_FORMAT, "%s: tensor rope_freqs.weight: value %zu is %g, expected > 0",
                                 m->g.file.path, i, factors[i]);
    }
    m->rope_freq = arena_alloc(&m->arena, n_pairs, sizeof *m->rope_freq, err);
    if (!m->rope_freq)
        return ERROR_NOMEM;
    rope_frequencies(&m->h, factors, m->rope_freq, &m->rope_gain);
    return 0;
}

static int refuse_rotated(const struct model *m, struct error *err)
{
    for (size_t i = 0; i < m->g.n_kv; i++)
        if (text_starts(m->g.kv[i].key, "prism.hadamard."))
            return error_set(err, ERROR_UNSUPPORTED,
                             "%s: key %s: the weights are stored in a rotated basis, which tern-run cannot undo",
                             m->g.file.path, m->g.kv[i].key);
    return 0;
}

static int read_weights(struct model *m, struct error *err)
{
    uint64_t n = m->g.file.size - m->g.data_offset;
    m->data = mem_aligned(n, 1, "model weights", err);
    if (!m->data)
        return ERROR_NOMEM;
    for (uint64_t off = 0; off < n;) {
        size_t part = n - off < 64 << 20 ? (size_t)(n - off) : 64 << 20;
        int rc = file_read_at(&m->g.file, m->data + off, part, m->g.data_offset + off, err);
        if (rc || (rc = interrupt_check(err)))
            return rc;
        off += part;
    }
    return 0;
}

static int lock_weights(const struct model *m, struct error *err)
{
    const void *p = m->data ? (const void *)m->data : m->g.file.map;
    size_t n = m->g.file.size - (m->data ? m->g.data_offset : 0);
    if (mlock(p, n))
        return error_set(err, ERROR_IO, "%s: cannot lock %zu bytes in memory: %s (raise the limit with ulimit -l)",
                         m->g.file.path, n, strerror(errno));
    return 0;
}

static int model_init(struct model *m, const char *path, struct error *err)
{
    int rc;
    if ((rc = gguf_open(&m->g, path, m->opt.no_mmap ? 0 : FILE_MAP, err)) || (rc = refuse_rotated(m, err)) ||
        (rc = hparams_read(&m->h, &m->g, err)))
        return rc;
    if ((m->opt.no_mmap && (rc = read_weights(m, err))) || (m->opt.mlock && (rc = lock_weights(m, err))))
        return rc;
    m->layers = arena_alloc(&m->arena, m->h.n_layer, sizeof *m->layers, err);
    if (!m->layers)
        return ERROR_NOMEM;
    if ((rc = weight_init(m, &m->embd, ROLE_TOKEN_EMBD, -1, err)) ||
        (rc = weight_init(m, &m->head, m->h.tied ? ROLE_TOKEN_EMBD : ROLE_OUTPUT, -1, err)) ||
        (rc = vector_init(m, &m->output_norm, ROLE_OUTPUT_NORM, -1, err)) || (rc = rope_init(m, err)))
        return rc;
    for (uint32_t i = 0; i < m->h.n_layer && !rc; i++)
        rc = layer_init(m, (int)i, err);
    return rc;
}

int model_open(struct model **out, const char *path, const struct model_options *opt, struct error *err)
{
    struct model *m = *out = mem_zalloc(1, sizeof *m, "model", err);
    if (!m)
        return ERROR_NOMEM;
    m->g.file = (struct file)FILE_INIT;
    m->opt = *opt;
    int rc = model_init(m, path, err);
    if (rc) {
        model_close(m);
        *out = NULL;
    }
    return rc;
}

void model_close(struct model *m)
{
    if (!m)
        return;
    arena_free(&m->arena);
    mem_free(m->data);
    gguf_close(&m->g);
    mem_free(m);
}

const struct hparams *model_hparams(const struct model *m)
{
    return &m->h;
}

const struct gguf *model_gguf(const struct model *m)
{
    return &m->g;
}
