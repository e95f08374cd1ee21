/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and values of an open GGUF file. */
#include <inttypes.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/gguf_index.h"
#include "base/util/bytes.h"
#include "base/util/text.h"

static const struct {
    const char *name;
    uint8_t size;
} types[] = {
    [GGUF_U8] = { "u8", 1 },   [GGUF_I8] = { "i8", 1 },         [GGUF_U16] = { "u16", 2 },
    [GGUF_I16] = { "i16", 2 }, [GGUF_U32] = { "u32", 4 },       [GGUF_I32] = { "i32", 4 },
    [GGUF_F32] = { "f32", 4 }, [GGUF_BOOL] = { "bool", 1 },     [GGUF_U64] = { "u64", 8 },
    [GGUF_I64] = { "i64", 8 }, [GGUF_STRING] = { "string", 0 }, [GGUF_ARRAY] = { "array", 0 },
    [GGUF_F64] = { "f64", 8 },
};

const char *gguf_type_name(enum gguf_type t)
{
    return (unsigned)t < sizeof types / sizeof *types ? types[t].name : "unknown";
}

size_t gguf_scalar_size(enum gguf_type t)
{
    return (unsigned)t < sizeof types / sizeof *types ? types[t].size : 0;
}

const struct gguf_kv *gguf_find(const struct gguf *g, const char *key)
{
    size_t i = g->index ? names_find(&g->index->keys, key) : NAMES_NONE;
    return i == NAMES_NONE ? NULL : &g->kv[i];
}

const struct gguf_tensor *gguf_tensor(const struct gguf *g, const char *name)
{
    size_t i = g->index ? names_find(&g->index->tensors, name) : NAMES_NONE;
    return i == NAMES_NONE ? NULL : &g->tensors[i];
}

static int put_place(const struct gguf *g, struct error *err)
{
    char path[512];
    return error_prefix(err, "%s", text_quote(path, sizeof path, g->file.path, strlen(g->file.path)));
}

static int missing(const struct gguf *g, const char *key, struct error *err)
{
    int rc = error_set(err, ERROR_FORMAT, "%s: missing", key);
    put_place(g, err);
    return rc;
}

static int wrong_type(const struct gguf *g, const struct gguf_kv *kv, const char *expected, struct error *err)
{
    bool array = kv->type == GGUF_ARRAY;
    int rc = error_set(err, ERROR_FORMAT, "%s: expected %s, found %s%s", kv->key, expected, array ? "array of " : "",
                       gguf_type_name(array ? kv->elem : kv->type));
    put_place(g, err);
    return rc;
}

int gguf_opt_u32(const struct gguf *g, const char *key, uint32_t *out, struct error *err)
{
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv)
        return 0;
    const uint8_t *p = kv->value;
    int64_t v;
    switch (kv->type) {
    case GGUF_U8:
        v = p[0];
        break;
    case GGUF_I8:
        v = (int8_t)p[0];
        break;
    case GGUF_U16:
        v = bytes_get_u16(p);
        break;
    case GGUF_I16:
        v = (int16_t)bytes_get_u16(p);
        break;
    case GGUF_U32:
        v = bytes_get_u32(p);
        break;
    case GGUF_I32:
        v = (int32_t)bytes_get_u32(p);
        break;
    case GGUF_U64:
    case GGUF_I64:
        v = (int64_t)bytes_get_u64(p);
        break; /* from 2^63: negative, refused below */
    default:
        return wrong_type(g, kv, "u32", err);
    }
    if (v < 0 || v > UINT32_MAX) {
        int rc = error_set(err, ERROR_FORMAT, "%s: %" PRIi64 " does not fit u32", key, v);
        put_place(g, err);
        return rc;
    }
    *out = (uint32_t)v;
    return 0;
}

int gguf_need_u32(const struct gguf *g, const char *key, uint32_t *out, struct error *err)
{
    return gguf_find(g, key) ? gguf_opt_u32(g, key, out, err) : missing(g, key, err);
}

int gguf_opt_f32(const struct gguf *g, const char *key, float *out, struct error *err)
{
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv)
        return 0;
    if (kv->type == GGUF_F32) {
        *out = bytes_get_f32(kv->value);
    } else if (kv->type == GGUF_F64) {
        uint64_t bits = bytes_get_u64(kv->value);
        double d;
        memcpy(&d, &bits, sizeof d);
        *out = (float)d;
    } else {
        return wrong_type(g, kv, "f32", err);
    }
    return 0;
}

int gguf_need_f32(const struct gguf *g, const char *key, float *out, struct error *err)
{
    return gguf_find(g, key) ? gguf_opt_f32(g, key, out, err) : missing(g, key, err);
}

int gguf_opt_bool(const struct gguf *g, const char *key, bool *out, struct error *err)
{
    const struct gguf_kv *kv = gguf_find(g, key);
    if (!kv)
        return 0;
    if (kv->type != GGUF_BOOL)
        return wrong_type(g, kv, "bool", err);
    *out = kv->value[0] != 0;
    return 0;
}

int gguf_opt_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err)
{
    const struct gguf_kv *kv = gguf_find(g, key);
    size_t cursor = 0;
    if (!kv)
        return 0;
    if (kv->type != GGUF_STRING)
        return wrong_type(g, kv, "string", err);
    gguf_next_str(kv, &cursor, out);
    return 0;
}

int gguf_need_str(const struct gguf *g, const char *key, struct gguf_str *out, struct error *err)
{
    return gguf_find(g, key) ? gguf_opt_str(g, key, out, err) : missing(g, key, err);
}

int gguf_need_array(const struct gguf *g, const char *key, enum gguf_type elem, const struct gguf_kv **out,
                    struct error *err)
{
    const struct gguf_kv *kv = gguf_find(g, key);
    *out = NULL;
    if (!kv)
        return missing(g, key, err);
    if (kv->type != GGUF_ARRAY || kv->elem != elem) {
        char expected[32] = "array of ";
        strncat(expected, gguf_type_name(elem), sizeof expected - strlen(expected) - 1);
        return wrong_type(g, kv, expected, err);
    }
    *out = kv;
    return 0;
}

bool gguf_next_str(const struct gguf_kv *kv, size_t *cursor, struct gguf_str *out)
{
    *out = (struct gguf_str){ "", 0 };
    if (kv->elem != GGUF_STRING || *cursor >= kv->value_bytes)
        return false;
    /* the reader has walked these lengths already */
    out->n = bytes_get_u64(kv->value + *cursor);
    out->s = (const char *)kv->value + *cursor + 8;
    *cursor += 8 + out->n;
    return true;
}
