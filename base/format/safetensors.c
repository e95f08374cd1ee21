/* SPDX-License-Identifier: Apache-2.0 */
/* One safetensors file: header text to a checked list of tensors. */
#include "base/format/safetensors.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/format/safetensors_index.h"
#include "base/format/sniff.h"
#include "base/util/bytes.h"
#include "base/util/json.h"
#include "base/util/text.h"

enum { MAX_NAME = 1024, MAX_DEPTH = 8 };
static const uint64_t max_header = 100000000;

static const struct {
    const char *name;
    unsigned bits;
} dtypes[] = {
    [ST_BOOL] = { "BOOL", 8 },       [ST_F4] = { "F4", 4 },
    [ST_F6_E2M3] = { "F6_E2M3", 6 }, [ST_F6_E3M2] = { "F6_E3M2", 6 },
    [ST_U8] = { "U8", 8 },           [ST_I8] = { "I8", 8 },
    [ST_F8_E5M2] = { "F8_E5M2", 8 }, [ST_F8_E4M3] = { "F8_E4M3", 8 },
    [ST_F8_E8M0] = { "F8_E8M0", 8 }, [ST_F8_E4M3FNUZ] = { "F8_E4M3FNUZ", 8 },
    [ST_I16] = { "I16", 16 },        [ST_F8_E5M2FNUZ] = { "F8_E5M2FNUZ", 8 },
    [ST_U16] = { "U16", 16 },        [ST_F16] = { "F16", 16 },
    [ST_BF16] = { "BF16", 16 },      [ST_I32] = { "I32", 32 },
    [ST_U32] = { "U32", 32 },        [ST_F32] = { "F32", 32 },
    [ST_C64] = { "C64", 64 },        [ST_F64] = { "F64", 64 },
    [ST_I64] = { "I64", 64 },        [ST_U64] = { "U64", 64 },
};
enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

const char *st_dtype_name(enum st_dtype d)
{
    return (unsigned)d < N_DTYPES ? dtypes[d].name : "?";
}

unsigned st_dtype_bits(enum st_dtype d)
{
    return (unsigned)d < N_DTYPES ? dtypes[d].bits : 0;
}

/* What the steps of one header share. */
struct parse {
    struct st_model *m;
    const char *name; /* of the file, for error texts */
    uint64_t data_bytes;
    struct error *err;
};

static int __attribute__((format(printf, 4, 5)))
fail(const struct parse *p, int code, const char *tensor, const char *fmt, ...)
{
    char text[1024], q[160] = "";
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (tensor)
        text_quote(q, sizeof q, tensor, strlen(tensor));
    return error_set(p->err, code, "%s: %s%s%s%s", p->name, tensor ? "tensor " : "", q, tensor ? ": " : "", text);
}

static int parse_dtype(const struct parse *p, const struct json *v, struct st_tensor *t)
{
    const char *s = json_str(json_get(v, "dtype"));
    char q[64];
    if (!s)
        return fail(p, ERROR_FORMAT, t->name, "dtype is missing or no string");
    for (int d = 0; d < N_DTYPES; d++)
        if (!strcmp(s, dtypes[d].name)) {
            t->dtype = (enum st_dtype)d;
            return 0;
        }
    return fail(p, ERROR_UNSUPPORTED, t->name, "unknown dtype '%s'", text_quote(q, sizeof q, s, strlen(s)));
}

static int parse_shape(const struct parse *p, const struct json *v, struct st_tensor *t)
{
    const struct json *shape = json_get(v, "shape");
    if (json_is_null(shape) || json_kind(shape) != JSON_ARRAY)
        return fail(p, ERROR_FORMAT, t->name, "shape is missing or no array");
    if (json_count(shape) > ST_MAX_DIMS)
        return fail(p, ERROR_UNSUPPORTED, t->name, "shape has %zu dimensions, at most %d are supported",
                    json_count(shape), ST_MAX_DIMS);
    t->n_elements = 1;
    bool zero = false;
    for (const struct json *d = json_first(shape); d; d = json_next(d)) {
        uint64_t *dim = &t->shape[t->n_dims];
        if (!json_u64(d, dim) || *dim > INT64_MAX)
            return fail(p, ERROR_FORMAT, t->name, "shape[%" PRIu32 "]: expected an integer from 0 to 2^63-1, found %s",
                        t->n_dims, json_kind(d) == JSON_NUMBER ? "another number" : json_kind_name(d));
        zero |= !*dim;
        if (!zero && !mem_mul(t->n_elements, *dim, &t->n_elements))
            return fail(p, ERROR_FORMAT, t->name, "the product of its shape overflows at dimension %" PRIu32,
                        t->n_dims);
        t->n_dims++;
    }
    if (zero)
        t->n_elements = 0;
    return 0;
}

static int parse_range(const struct parse *p, const struct json *v, struct st_tensor *t)
{
    const struct json *range = json_get(v, "data_offsets");
    uint64_t at[2], bits;
    if (json_is_null(range) || json_kind(range) != JSON_ARRAY || json_count(range) != 2)
        return fail(p, ERROR_FORMAT, t->name, "data_offsets is missing or no array of two numbers");
    const struct json *e = json_first(range);
    for (int i = 0; i < 2; i++, e = json_next(e))
        if (!json_u64(e, &at[i]))
            return fail(p, ERROR_FORMAT, t->name, "data_offsets[%d]: expected an integer from 0 to 2^64-1", i);
    if (at[0] > at[1])
        return fail(p, ERROR_FORMAT, t->name, "data_offsets: begin %" PRIu64 " is beyond end %" PRIu64, at[0], at[1]);
    if (!mem_mul(t->n_elements, dtypes[t->dtype].bits, &bits))
        return fail(p, ERROR_FORMAT, t->name, "the size of its shape overflows (%" PRIu64 " elements of %s)",
                    t->n_elements, dtypes[t->dtype].name);
    if (bits % 8)
        return fail(p, ERROR_FORMAT, t->name, "shape of %" PRIu64 " elements of %s does not end on a byte",
                    t->n_elements, dtypes[t->dtype].name);
    t->offset = at[0];
    t->bytes = at[1] - at[0];
    if (t->bytes != bits / 8)
        return fail(p, ERROR_FORMAT, t->name,
                    "its shape needs %" PRIu64 " bytes of %s, data_offsets [%" PRIu64 ", %" PRIu64 ") give %" PRIu64,
                    bits / 8, dtypes[t->dtype].name, at[0], at[1], t->bytes);
    return 0;
}

static int parse_metadata(const struct parse *p, const struct json *v)
{
    if (json_kind(v) != JSON_OBJECT)
        return fail(p, ERROR_FORMAT, NULL, "__metadata__: expected an object, found %s", json_kind_name(v));
    for (const struct json *e = json_first(v); e; e = json_next(e)) {
        char q[96];
        if (!json_str(e))
            return fail(p, ERROR_FORMAT, NULL, "__metadata__.%s: expected a string, found %s",
                        text_quote(q, sizeof q, json_key(e), strlen(json_key(e))), json_kind_name(e));
    }
    return 0;
}

static int parse_tensor(const struct parse *p, const struct json *v)
{
    struct st_model *m = p->m;
    const char *key = json_key(v);
    size_t n = strlen(key);
    struct st_tensor t = { .name = key, .shard = m->n_shards ? (uint32_t)m->n_shards - 1 : 0 };
    if (!n || n > MAX_NAME)
        return fail(p, ERROR_FORMAT, key, "a tensor name of %zu bytes, expected 1 to %d", n, MAX_NAME);
    if (json_kind(v) != JSON_OBJECT)
        return fail(p, ERROR_FORMAT, key, "expected a JSON object, found %s", json_kind_name(v));
    int rc = parse_dtype(p, v, &t);
    if (!rc)
        rc = parse_shape(p, v, &t);
    if (!rc)
        rc = parse_range(p, v, &t);
    if (!rc)
        rc = mem_reserve((void **)&m->tensors, &m->index->cap, m->n_tensors + 1, sizeof t, "safetensors entries",
                         p->err);
    if (rc)
        return rc;
    if (!(t.name = arena_strndup(&m->arena, key, n, p->err)))
        return ERROR_NOMEM;
    m->tensors[m->n_tensors++] = t;
    return 0;
}

/* Empty tensors come before the one that starts where they stand; ties by name keep the order fixed. */
static int by_offset(const void *a, const void *b)
{
    const struct st_tensor *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Sorted by offset the tensors must tile [0, data_bytes) exactly. */
static int check_tiling(const struct parse *p, struct st_tensor *t, size_t n)
{
    uint64_t end = 0;
    if (n)
        qsort(t, n, sizeof *t, by_offset);
    for (size_t i = 0; i < n; i++) {
        char before[160] = "the start";
        if (i)
            text_quote(before, sizeof before, t[i - 1].name, strlen(t[i - 1].name));
        if (t[i].offset < end)
            return fail(p, ERROR_FORMAT, t[i].name,
                        "its data_offsets overlap those of %s (begin %" PRIu64 ", expected %" PRIu64 ")", before,
                        t[i].offset, end);
        if (t[i].offset > end)
            return fail(p, ERROR_FORMAT, t[i].name, "a hole of %" PRIu64 " bytes between %s and its data_offsets",
                        t[i].offset - end, before);
        end = t[i].offset + t[i].bytes; /* begin <= end was checked, so this is the stored end */
        if (end > p->data_bytes)
            return fail(p, ERROR_FORMAT, t[i].name,
                        "truncated: data_offsets end at %" PRIu64 ", the file holds %" PRIu64 " data bytes (%" PRIu64
                        " missing)",
                        end, p->data_bytes, end - p->data_bytes);
    }
    if (end < p->data_bytes)
        return fail(p, ERROR_FORMAT, NULL,
                    "%" PRIu64 " trailing bytes after the last tensor (expected %" PRIu64 " data bytes, found %" PRIu64
                    ")",
                    p->data_bytes - end, end, p->data_bytes);
    return 0;
}

int st_index_init(struct st_model *m, struct error *err)
{
    if (!m->index && !(m->index = mem_zalloc(1, sizeof *m->index, "the safetensors index", err)))
        return ERROR_NOMEM;
    return 0;
}

int st_parse_header(struct st_model *m, const char *json, size_t n, uint64_t data_bytes, uint64_t data_offset,
                    const char *name, struct error *err)
{
    struct parse p = { .m = m, .name = name, .data_bytes = data_bytes, .err = err };
    struct json_doc *doc = NULL;
    char title[1024];
    int rc = st_index_init(m, err);
    size_t first = m->n_tensors;
    if (rc)
        return rc;
    if (!n || json[0] != '{')
        return fail(&p, ERROR_FORMAT, NULL, "the header is no JSON object: it must begin with '{'");
    snprintf(title, sizeof title, "%s: JSON header", name);
    if ((rc = json_parse(&doc, json, n, title, MAX_DEPTH, 0, err)))
        goto out;
    for (const struct json *v = json_first(json_root(doc)); v && !rc; v = json_next(v))
        rc = strcmp(json_key(v), "__metadata__") ? parse_tensor(&p, v) : parse_metadata(&p, v);
    if (!rc)
        rc = check_tiling(&p, m->tensors ? m->tensors + first : NULL, m->n_tensors - first);
    for (size_t i = first; i < m->n_tensors && !rc; i++)
        if (!mem_add(m->tensors[i].offset, data_offset, &m->tensors[i].offset))
            rc = fail(&p, ERROR_FORMAT, m->tensors[i].name, "its data_offsets overflow");
out:
    json_free(doc);
    return rc;
}

static int read_header(struct st_model *m, const struct file *f, const char *name, struct error *err)
{
    char head[SNIFF_BYTES], what[256], *json = NULL;
    size_t n = f->size < sizeof head ? f->size : sizeof head;
    uint64_t len;
    if (!f->size)
        return error_set(err, ERROR_FORMAT, "%s: empty file", name);
    int rc = file_read_at(f, head, n, 0, err);
    if (rc)
        return rc;
    if (f->size < 8)
        return error_set(err, ERROR_FORMAT,
                         "%s: too short: %" PRIu64 " bytes, the header length alone takes 8 (truncated?)", name,
                         f->size);
    len = bytes_get_u64(head);
    if (len > max_header || len > f->size - 8) {
        if ((n < 9 || head[8] != '{') && sniff_bytes(head, n, what, sizeof what))
            return error_set(err, ERROR_FORMAT, "%s: no safetensors header: this is %s", name, what);
        return error_set(err, ERROR_FORMAT,
                         "%s: header length %" PRIu64 ", at most %" PRIu64 " allowed and %" PRIu64
                         " bytes in the file after it (truncated?)",
                         name, len, max_header, f->size - 8);
    }
    if (!(json = mem_zalloc(len, 1, "a safetensors header", err)))
        return ERROR_NOMEM;
    rc = file_read_at(f, json, len, 8, err);
    if (!rc)
        rc = st_parse_header(m, json, len, f->size - 8 - len, 8 + len, name, err);
    mem_free(json);
    return rc;
}

int st_add_shard(struct st_model *m, const char *path, struct error *err)
{
    char name[512];
    int rc = st_index_init(m, err);
    if (!rc)
        rc = mem_reserve((void **)&m->shards, &m->index->shard_cap, m->n_shards + 1, sizeof *m->shards,
                         "safetensors shards", err);
    if (rc)
        return rc;
    struct st_shard *s = &m->shards[m->n_shards];
    *s = (struct st_shard){ .file = FILE_INIT };
    if ((rc = file_open(&s->file, path, 0, err)))
        return rc;
    m->n_shards++;
    size_t first = m->n_tensors;
    rc = read_header(m, &s->file, text_quote(name, sizeof name, path, strlen(path)), err);
    s->n_tensors = m->n_tensors - first;
    for (size_t i = first; i < m->n_tensors && !rc; i++) {
        rc = names_add(&m->index->names, m->tensors[i].name, i, err);
        if (rc > 0) {
            const struct st_tensor *other = &m->tensors[names_find(&m->index->names, m->tensors[i].name)];
            char q[160];
            rc = error_set(err, ERROR_FORMAT, "%s: duplicate tensor %s, also in %s", name,
                           text_quote(q, sizeof q, other->name, strlen(other->name)),
                           file_basename(m->shards[other->shard].file.path));
        }
    }
    return rc;
}

int st_open_file(struct st_model *m, const char *path, struct error *err)
{
    *m = (struct st_model){ 0 };
    int rc = st_add_shard(m, path, err);
    if (rc)
        st_close(m);
    return rc;
}

void st_close(struct st_model *m)
{
    for (size_t i = 0; i < m->n_shards; i++)
        file_close(&m->shards[i].file);
    mem_free(m->shards);
    mem_free(m->tensors);
    if (m->index)
        names_free(&m->index->names);
    mem_free(m->index);
    arena_free(&m->arena);
    *m = (struct st_model){ 0 };
}

const struct st_tensor *st_find(const struct st_model *m, const char *name)
{
    size_t i = m->index ? names_find(&m->index->names, name) : NAMES_NONE;
    return i == NAMES_NONE ? NULL : &m->tensors[i];
}

int st_read(const struct st_model *m, const struct st_tensor *t, uint64_t first, uint64_t n, void *buf,
            struct error *err)
{
    unsigned bits = st_dtype_bits(t->dtype);
    if (bits % 8 || first > t->n_elements || n > t->n_elements - first)
        return error_set(err, ERROR_INTERNAL, "tensor %s: elements %" PRIu64 "+%" PRIu64 " of %" PRIu64 " (%s)",
                         t->name, first, n, t->n_elements, st_dtype_name(t->dtype));
    int rc = file_read_at(&m->shards[t->shard].file, buf, n * (bits / 8), t->offset + first * (bits / 8), err);
    if (rc)
        error_prefix(err, "tensor %s", t->name);
    return rc;
}
