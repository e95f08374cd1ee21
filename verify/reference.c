/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/reference.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/model/hfnames.h"
#include "base/model/roles.h"
#include "base/util/file.h"
#include "kernels/codec.h"
#include "verify/verify.h"

/* The converter regroups the rows of Q and K for the llama architecture, whose rotary pairs are neighbours
 * (docs/convert.md): within a head of d rows, row 2j+k of the GGUF is row k*d/2+j of the checkpoint. */
static int read_heads(struct reference *r, const struct gguf *like, struct error *err)
{
    struct gguf_str arch;
    int code = gguf_need_str(like, "general.architecture", &arch, err);

    if (code || arch.n != 5 || memcmp(arch.s, "llama", 5))
        return code;
    if ((code = gguf_need_u32(like, "llama.attention.head_count", &r->n_head, err)))
        return code;
    r->n_head_kv = r->n_head;
    return gguf_opt_u32(like, "llama.attention.head_count_kv", &r->n_head_kv, err);
}

/* The prefix under which the embedding, or else any tensor we know, is found. */
static const char *find_prefix(const struct st_model *m)
{
    char name[HFNAMES_MAX], gguf[64];
    for (size_t i = 0; hfnames_prefix(i); i++)
        if (hfnames_of_gguf("token_embd.weight", hfnames_prefix(i), name) && st_find(m, name))
            return hfnames_prefix(i);
    for (size_t i = 0; hfnames_prefix(i); i++)
        for (size_t k = 0; k < m->n_tensors; k++)
            if (hfnames_to_gguf(m->tensors[k].name, hfnames_prefix(i), gguf))
                return hfnames_prefix(i);
    return "model.";
}

int reference_open(struct reference *r, const char *path, const struct gguf *like, struct error *err)
{
    enum verify_kind kind;
    int code;

    memset(r, 0, sizeof *r);
    if ((code = verify_kind(path, &kind, err)))
        return code;
    if (kind == VERIFY_GGUF) {
        code = gguf_open(&r->gguf, path, FILE_SEQUENTIAL, err);
    } else if (kind == VERIFY_FOLDER) {
        r->folder = true;
        if (!(code = read_heads(r, like, err)))
            code = st_open_dir(&r->model, path, err);
        if (!code)
            r->prefix = find_prefix(&r->model);
    } else {
        code = error_set(err, ERROR_FORMAT, "%s: a reference is a GGUF file or a Hugging Face folder", path);
    }
    if (code)
        reference_close(r);
    return code;
}

void reference_close(struct reference *r)
{
    gguf_close(&r->gguf);
    st_close(&r->model);
    memset(r, 0, sizeof *r);
}

static uint32_t heads_of(const struct reference *r, const char *name, uint64_t n_rows)
{
    int layer;
    enum role role = role_of(name, &layer);
    uint32_t heads = role == ROLE_ATTN_Q ? r->n_head : role == ROLE_ATTN_K ? r->n_head_kv : 0;
    return heads && n_rows % heads == 0 && n_rows / heads % 2 == 0 ? heads : 0;
}

static bool find_in_folder(const struct reference *r, const char *name, struct reference_tensor *out)
{
    char hf[HFNAMES_MAX];

    if (hfnames_of_gguf(name, r->prefix, hf))
        out->st = st_find(&r->model, hf);
    if (!out->st || out->st->n_dims > 4)
        return false;
    for (uint32_t d = 0; d < 4; d++)
        out->ne[d] = d < out->st->n_dims ? out->st->shape[out->st->n_dims - 1 - d] : 1;
    out->n_elements = out->st->n_elements;
    out->heads = heads_of(r, name, out->ne[1]);
    return true;
}

bool reference_find(const struct reference *r, const char *name, struct reference_tensor *out)
{
    memset(out, 0, sizeof *out);
    if (r->folder)
        return find_in_folder(r, name, out);
    if (!(out->gguf = gguf_tensor(&r->gguf, name)))
        return false;
    memcpy(out->ne, out->gguf->ne, sizeof out->ne);
    out->n_elements = out->gguf->n_elements;
    return true;
}

static bool float_type(enum st_dtype d, uint32_t *type)
{
    *type = d == ST_F16 ? BLOCK_F16 : d == ST_BF16 ? BLOCK_BF16 : BLOCK_F32;
    return d == ST_F16 || d == ST_BF16 || d == ST_F32;
}

bool reference_decodes(const struct reference_tensor *t)
{
    uint32_t type;
    return t->st ? float_type(t->st->dtype, &type) : t->gguf->info->decodes;
}

size_t reference_count(const struct reference *r)
{
    return r->folder ? r->model.n_tensors : r->gguf.n_tensors;
}

const char *reference_name(const struct reference *r, size_t i, char buf[64])
{
    if (!r->folder)
        return r->gguf.tensors[i].name;
    return hfnames_to_gguf(r->model.tensors[i].name, r->prefix, buf) ? buf : NULL;
}

/* GGUF element order of a tensor whose rows are interleaved within heads: row by row. */
static int read_interleaved(const struct reference *r, const struct reference_tensor *t, uint64_t first, uint64_t n,
                            uint8_t *raw, struct error *err)
{
    uint64_t d = t->ne[1] / t->heads; /* rows of a head */
    size_t size = st_dtype_bits(t->st->dtype) / 8;

    while (n) {
        uint64_t row = first / t->ne[0], col = first % t->ne[0], m = t->ne[0] - col < n ? t->ne[0] - col : n;
        uint64_t in_head = row % d, from = row - in_head + in_head % 2 * (d / 2) + in_head / 2;
        int code = st_read(&r->model, t->st, from * t->ne[0] + col, m, raw, err);
        if (code)
            return code;
        raw += m * size;
        first += m;
        n -= m;
    }
    return 0;
}

int reference_read(const struct reference *r, const struct reference_tensor *t, uint64_t first, uint64_t n, void *raw,
                   float *out, struct error *err)
{
    uint32_t type;
    int code;

    if (t->gguf) {
        const struct block_info *b = t->gguf->info;
        type = t->gguf->type;
        code = file_read_at(&r->gguf.file, raw, n / b->weights * b->bytes,
                            t->gguf->offset + first / b->weights * b->bytes, err);
    } else if (!float_type(t->st->dtype, &type)) {
        return error_set(err, ERROR_UNSUPPORTED, "%s: dtype %s cannot be compared", t->st->name,
                         st_dtype_name(t->st->dtype));
    } else {
        code = t->heads ? read_interleaved(r, t, first, n, raw, err) : st_read(&r->model, t->st, first, n, raw, err);
    }
    if (!code && !codec_dequantize(type, raw, out, n))
        code = error_set(err, ERROR_UNSUPPORTED, "type %" PRIu32 " cannot be decoded", type);
    return code;
}
