/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/dump.h"

#include <inttypes.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/safetensors.h"
#include "base/util/bytes.h"
#include "base/util/json.h"
#include "base/util/text.h"
#include "verify/verify.h"

enum { SHOWN_ELEMENTS = 8, SHOWN_BYTES = 60 };

static double f64_from_bits(uint64_t u)
{
    double d;
    memcpy(&d, &u, sizeof d);
    return d;
}

/* A string in double quotes; a long one is cut with "..." and its length follows. */
static int put_string(struct buffer *b, const char *s, size_t n, struct error *err)
{
    char quoted[SHOWN_BYTES + 8];
    int code;

    text_quote(quoted, sizeof quoted, s, n);
    code = buffer_printf(b, err, "\"%s\"", quoted);
    return code || n <= SHOWN_BYTES ? code : buffer_printf(b, err, " (%zu bytes)", n);
}

static int put_scalar(struct buffer *b, enum gguf_type t, const uint8_t *p, struct error *err)
{
    switch (t) {
    case GGUF_U8:
        return buffer_printf(b, err, "%u", *p);
    case GGUF_I8:
        return buffer_printf(b, err, "%d", (int8_t)*p);
    case GGUF_U16:
        return buffer_printf(b, err, "%u", bytes_get_u16(p));
    case GGUF_I16:
        return buffer_printf(b, err, "%d", (int16_t)bytes_get_u16(p));
    case GGUF_U32:
        return buffer_printf(b, err, "%" PRIu32, bytes_get_u32(p));
    case GGUF_I32:
        return buffer_printf(b, err, "%" PRId32, (int32_t)bytes_get_u32(p));
    case GGUF_F32:
        return buffer_printf(b, err, "%.9g", (double)bytes_get_f32(p));
    case GGUF_BOOL:
        return buffer_printf(b, err, "%s", *p ? "true" : "false");
    case GGUF_U64:
        return buffer_printf(b, err, "%" PRIu64, bytes_get_u64(p));
    case GGUF_I64:
        return buffer_printf(b, err, "%" PRId64, (int64_t)bytes_get_u64(p));
    case GGUF_F64:
        return buffer_printf(b, err, "%.17g", f64_from_bits(bytes_get_u64(p)));
    case GGUF_STRING:
    case GGUF_ARRAY:
        break;
    }
    return error_set(err, ERROR_INTERNAL, "%s is no scalar", gguf_type_name(t));
}

static int put_kv(struct buffer *b, const struct gguf_kv *kv, struct error *err)
{
    char key[160];
    struct gguf_str s;
    size_t cursor = 0;
    uint64_t n = kv->count < SHOWN_ELEMENTS ? kv->count : SHOWN_ELEMENTS;
    int code = buffer_printf(b, err, "  %s ", text_quote(key, sizeof key, kv->key, strlen(kv->key)));

    if (!code && kv->type == GGUF_ARRAY)
        code = buffer_printf(b, err, "%s[%" PRIu64 "] = [", gguf_type_name(kv->elem), kv->count);
    else if (!code)
        code = buffer_printf(b, err, "%s = ", gguf_type_name(kv->type));
    for (uint64_t i = 0; i < n && !code; i++) {
        if (i)
            code = buffer_printf(b, err, ", ");
        if (!code && kv->elem == GGUF_STRING && gguf_next_str(kv, &cursor, &s))
            code = put_string(b, s.s, s.n, err);
        else if (!code)
            code = put_scalar(b, kv->elem, kv->value + i * gguf_scalar_size(kv->elem), err);
    }
    if (!code && kv->type == GGUF_ARRAY)
        code = buffer_printf(b, err, "%s]", n < kv->count ? ", ..." : "");
    return code ? code : buffer_append(b, "\n", 1, err);
}

static int put_gguf_tensor(struct buffer *b, const struct gguf_tensor *t, struct error *err)
{
    char name[160];
    int code = buffer_printf(b, err, "  %s %s [%" PRIu64, text_quote(name, sizeof name, t->name, strlen(t->name)),
                             t->info->name, t->ne[0]);
    for (uint32_t d = 1; d < t->n_dims && !code; d++)
        code = buffer_printf(b, err, ", %" PRIu64, t->ne[d]);
    return code ? code : buffer_printf(b, err, "] offset %" PRIu64 " bytes %" PRIu64 "\n", t->offset, t->bytes);
}

static int no_such(const char *path, const char *tensor, struct error *err)
{
    char quoted[160];
    return error_set(err, ERROR_MISSING, "%s: no tensor %s", path,
                     text_quote(quoted, sizeof quoted, tensor, strlen(tensor)));
}

static int dump_gguf(const char *path, const char *tensor, struct buffer *b, struct error *err)
{
    struct gguf g = { 0 };
    int code = gguf_open(&g, path, GGUF_ALLOW_TRUNCATED, err);

    if (code)
        goto out;
    if (tensor) {
        const struct gguf_tensor *t = gguf_tensor(&g, tensor);
        code = t ? put_gguf_tensor(b, t, err) : no_such(path, tensor, err);
        goto out;
    }
    if ((code = report_path(path, b, err)))
        goto out;
    code = buffer_printf(b, err,
                         ": GGUF version %" PRIu32 ", %zu keys, %zu tensors, alignment %" PRIu32 ", data at %" PRIu64
                         ", %" PRIu64 " bytes\nkeys\n",
                         g.version, g.n_kv, g.n_tensors, g.alignment, g.data_offset, g.file.size);
    for (size_t i = 0; i < g.n_kv && !code; i++)
        code = put_kv(b, &g.kv[i], err);
    if (!code)
        code = buffer_printf(b, err, "tensors (shape: row length first)\n");
    for (size_t i = 0; i < g.n_tensors && !code; i++)
        code = put_gguf_tensor(b, &g.tensors[i], err);
out:
    gguf_close(&g);
    return code;
}

static int put_st_tensor(struct buffer *b, const struct st_model *m, const struct st_tensor *t, struct error *err)
{
    char name[512];
    int code = buffer_printf(b, err, "  %s %s [", text_quote(name, sizeof name, t->name, strlen(t->name)),
                             st_dtype_name(t->dtype));
    for (uint32_t d = 0; d < t->n_dims && !code; d++)
        code = buffer_printf(b, err, "%s%" PRIu64, d ? ", " : "", t->shape[d]);
    if (!code)
        code = buffer_printf(b, err, "] offset %" PRIu64 " bytes %" PRIu64, t->offset, t->bytes);
    if (!code && m->n_shards > 1)
        code = buffer_printf(b, err, " in %s", file_basename(m->shards[t->shard].file.path));
    return code ? code : buffer_append(b, "\n", 1, err);
}

static int dump_safetensors(const char *path, bool folder, const char *tensor, struct buffer *b, struct error *err)
{
    struct st_model m = { 0 };
    int code = folder ? st_open_dir(&m, path, err) : st_open_file(&m, path, err);

    if (code)
        goto out;
    if (tensor) {
        const struct st_tensor *t = st_find(&m, tensor);
        code = t ? put_st_tensor(b, &m, t, err) : no_such(path, tensor, err);
        goto out;
    }
    if ((code = report_path(path, b, err)))
        goto out;
    code = buffer_printf(b, err, ": safetensors, %zu file%s, %zu tensors (shape: slowest first)\n", m.n_shards,
                         m.n_shards == 1 ? "" : "s", m.n_tensors);
    for (size_t i = 0; i < m.n_tensors && !code; i++)
        code = put_st_tensor(b, &m, &m.tensors[i], err);
out:
    st_close(&m);
    return code;
}

int dump_path(const char *path, const char *tensor, struct buffer *out, struct error *err)
{
    enum verify_kind kind;
    int code = verify_kind(path, &kind, err);

    if (code)
        return code;
    if (kind == VERIFY_GGUF)
        return dump_gguf(path, tensor, out, err);
    if (kind == VERIFY_UNKNOWN)
        return error_set(err, ERROR_FORMAT, "%s: neither a GGUF file, nor a safetensors file, nor a folder", path);
    return dump_safetensors(path, kind == VERIFY_FOLDER, tensor, out, err);
}
