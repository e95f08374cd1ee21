/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a GGUF file. One buffer holds the header from its first byte on: fixed fields, then keys as they are added,
 * then (at begin) tensor infos and padding; so the file offset of a value is known as soon as the key is added.
 */
#include <inttypes.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/names.h"
#include "base/util/bytes.h"
#include "base/util/text.h"

enum { KV_START = 24, DEFAULT_ALIGNMENT = 32 };

struct planned_kv {
    char *key;
    enum gguf_type type, elem;
    uint64_t count;
    size_t value, end; /* offsets in the header, as in struct gguf_kv */
};

struct planned_tensor {
    char *name;
    uint32_t type, n_dims;
    uint64_t ne[GGUF_MAX_DIMS];
    uint64_t offset; /* relative to the data */
    uint64_t bytes;
};

struct gguf_writer {
    uint32_t alignment;
    struct buffer head;
    struct planned_kv *kv;
    struct planned_tensor *tensors;
    size_t n_kv, kv_cap, n_tensors, tensor_cap;
    struct names keys, names;
    struct arena arena;
    uint64_t info_bytes, data_bytes;
    struct writer out;
    bool begun, dirty;
    size_t current;       /* tensor being filled */
    uint64_t current_pos; /* bytes of it written */
    /* where the last patched string of an array stood, so that patching them in order is one walk */
    const struct planned_kv *walk_kv;
    size_t walk_index, walk_at;
};

static uint64_t round_up(const struct gguf_writer *w, uint64_t n)
{
    return (n + w->alignment - 1) & ~(uint64_t)(w->alignment - 1); /* sums were checked when tensors were added */
}

int gguf_writer_new(struct gguf_writer **out, uint32_t alignment, struct error *err)
{
    static const char start[KV_START] = "GGUF\3";
    *out = NULL;
    if (alignment < 8 || alignment > 65536 || (alignment & (alignment - 1)))
        return error_set(err, ERROR_INTERNAL, "GGUF alignment %" PRIu32 ", expected a power of two from 8 to 65536",
                         alignment);
    struct gguf_writer *w = mem_zalloc(1, sizeof *w, "a GGUF writer", err);
    if (!w)
        return ERROR_NOMEM;
    w->alignment = alignment;
    w->out = (struct writer)WRITER_INIT;
    int rc = buffer_append(&w->head, start, KV_START, err);
    if (!rc && alignment != DEFAULT_ALIGNMENT)
        rc = gguf_put_u32(w, "general.alignment", alignment, err);
    if (rc)
        gguf_writer_free(w);
    else
        *out = w;
    return rc;
}

void gguf_writer_free(struct gguf_writer *w)
{
    if (!w)
        return;
    writer_abort(&w->out);
    buffer_free(&w->head);
    mem_free(w->kv);
    mem_free(w->tensors);
    names_free(&w->keys);
    names_free(&w->names);
    arena_free(&w->arena);
    mem_free(w);
}

static int append_u32(struct gguf_writer *w, uint32_t v, struct error *err)
{
    uint8_t b[4];
    bytes_put_u32(b, v);
    return buffer_append(&w->head, b, sizeof b, err);
}

static int append_u64(struct gguf_writer *w, uint64_t v, struct error *err)
{
    uint8_t b[8];
    bytes_put_u64(b, v);
    return buffer_append(&w->head, b, sizeof b, err);
}

static int append_str(struct gguf_writer *w, const char *s, size_t n, struct error *err)
{
    int rc = append_u64(w, n, err);
    return rc ? rc : buffer_append(&w->head, s, n, err);
}

/* Host-order scalar to little-endian bytes. */
static void scalar_bytes(enum gguf_type t, const void *v, uint8_t *out)
{
    uint16_t a;
    uint32_t b;
    uint64_t c;
    switch (gguf_scalar_size(t)) {
    case 1:
        memcpy(out, v, 1);
        break;
    case 2:
        memcpy(&a, v, 2);
        bytes_put_u16(out, a);
        break;
    case 4:
        memcpy(&b, v, 4);
        bytes_put_u32(out, b);
        break;
    case 8:
        memcpy(&c, v, 8);
        bytes_put_u64(out, c);
        break;
    }
}

/* Everything before the value; the caller appends it and calls end_kv. */
static int begin_kv(struct gguf_writer *w, const char *key, enum gguf_type type, enum gguf_type elem, uint64_t count,
                    struct error *err)
{
    size_t n = strlen(key);
    if (w->begun || !n || n > 65535 || text_utf8_check(key, n) != n)
        return error_set(err, ERROR_INTERNAL, "GGUF key '%.100s' is empty, too long, not UTF-8 or comes too late", key);
    int rc = mem_reserve((void **)&w->kv, &w->kv_cap, w->n_kv + 1, sizeof *w->kv, "GGUF keys", err);
    if (rc)
        return rc;
    char *copy = arena_strndup(&w->arena, key, n, err);
    if (!copy)
        return ERROR_NOMEM;
    if ((rc = names_add(&w->keys, copy, w->n_kv, err)))
        return rc > 0 ? error_set(err, ERROR_INTERNAL, "GGUF key '%.100s' twice", key) : rc;
    if ((rc = append_str(w, key, n, err)) || (rc = append_u32(w, type, err)))
        return rc;
    if (type == GGUF_ARRAY && ((rc = append_u32(w, elem, err)) || (rc = append_u64(w, count, err))))
        return rc;
    w->walk_kv = NULL; /* the array may have moved */
    w->kv[w->n_kv++] = (struct planned_kv){
        .key = copy, .type = type, .elem = elem, .count = count, .value = w->head.len, .end = w->head.len
    };
    return 0;
}

static int end_kv(struct gguf_writer *w, int rc)
{
    w->kv[w->n_kv - 1].end = w->head.len;
    return rc;
}

static int put_scalar(struct gguf_writer *w, const char *key, enum gguf_type t, const void *v, struct error *err)
{
    uint8_t b[8];
    int rc = begin_kv(w, key, t, t, 1, err);
    if (rc)
        return rc;
    scalar_bytes(t, v, b);
    return end_kv(w, buffer_append(&w->head, b, gguf_scalar_size(t), err));
}

int gguf_put_u32(struct gguf_writer *w, const char *key, uint32_t v, struct error *err)
{
    return put_scalar(w, key, GGUF_U32, &v, err);
}

int gguf_put_u64(struct gguf_writer *w, const char *key, uint64_t v, struct error *err)
{
    return put_scalar(w, key, GGUF_U64, &v, err);
}

int gguf_put_i32(struct gguf_writer *w, const char *key, int32_t v, struct error *err)
{
    return put_scalar(w, key, GGUF_I32, &v, err);
}

int gguf_put_f32(struct gguf_writer *w, const char *key, float v, struct error *err)
{
    return put_scalar(w, key, GGUF_F32, &v, err);
}

int gguf_put_f64(struct gguf_writer *w, const char *key, double v, struct error *err)
{
    return put_scalar(w, key, GGUF_F64, &v, err);
}

int gguf_put_bool(struct gguf_writer *w, const char *key, bool v, struct error *err)
{
    uint8_t b = v;
    return put_scalar(w, key, GGUF_BOOL, &b, err);
}

static int check_text(const char *key, const char *s, size_t n, struct error *err)
{
    size_t good = text_utf8_check(s, n);
    if (good != n)
        return error_set(err, ERROR_FORMAT, "value of %s is not UTF-8 at byte %zu", key, good);
    return 0;
}

int gguf_put_str(struct gguf_writer *w, const char *key, const char *s, size_t n, struct error *err)
{
    int rc = check_text(key, s, n, err);
    if (!rc)
        rc = begin_kv(w, key, GGUF_STRING, GGUF_STRING, 1, err);
    return rc ? rc : end_kv(w, append_str(w, s, n, err));
}

int gguf_put_strs(struct gguf_writer *w, const char *key, const struct gguf_str *s, size_t n, struct error *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if ((rc = check_text(key, s[i].s, s[i].n, err)))
            error_prefix(err, "element %zu", i);
    if (!rc)
        rc = begin_kv(w, key, GGUF_ARRAY, GGUF_STRING, n, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i++)
        rc = append_str(w, s[i].s, s[i].n, err);
    return end_kv(w, rc);
}

int gguf_put_array(struct gguf_writer *w, const char *key, enum gguf_type elem, const void *values, size_t n,
                   struct error *err)
{
    size_t size = gguf_scalar_size(elem);
    uint8_t b[8];
    if (!size)
        return error_set(err, ERROR_INTERNAL, "GGUF key '%.100s': array of %s", key, gguf_type_name(elem));
    int rc = begin_kv(w, key, GGUF_ARRAY, elem, n, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        scalar_bytes(elem, (const uint8_t *)values + i * size, b);
        rc = buffer_append(&w->head, b, size, err);
    }
    return end_kv(w, rc);
}

int gguf_put_copy(struct gguf_writer *w, const struct gguf_kv *kv, struct error *err)
{
    int rc = begin_kv(w, kv->key, kv->type, kv->elem, kv->count, err);
    return rc ? rc : end_kv(w, buffer_append(&w->head, kv->value, kv->value_bytes, err));
}

bool gguf_writer_has(const struct gguf_writer *w, const char *key)
{
    return names_find(&w->keys, key) != NAMES_NONE;
}

int gguf_put_tensor(struct gguf_writer *w, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *ne,
                    struct error *err)
{
    const struct block_info *info = block_info(type);
    size_t n = strlen(name);
    struct planned_tensor t = { .type = type, .ne = { 1, 1, 1, 1 }, .offset = w->data_bytes };
    uint64_t row, rows = 1, total;
    char q[160];
    text_quote(q, sizeof q, name, n);
    if (w->begun || !info)
        return error_set(err, ERROR_INTERNAL, "tensor %s: type %" PRIu32 " is unknown, or comes too late", q, type);
    if (!n || n > GGUF_MAX_NAME || text_utf8_check(name, n) != n)
        return error_set(err, ERROR_FORMAT, "tensor %s: a name of %zu bytes, expected UTF-8 of 1 to %d bytes", q, n,
                         GGUF_MAX_NAME);
    while (n_dims > 1 && ne[n_dims - 1] == 1)
        n_dims--;
    if (!n_dims || n_dims > GGUF_MAX_DIMS)
        return error_set(err, ERROR_FORMAT, "tensor %s: %" PRIu32 " dimensions, expected 1 to %d", q, n_dims,
                         GGUF_MAX_DIMS);
    t.n_dims = n_dims;
    for (uint32_t d = 0; d < n_dims; d++) {
        t.ne[d] = ne[d];
        if (!ne[d] || (d && !mem_mul(rows, ne[d], &rows)))
            return error_set(err, ERROR_FORMAT, "tensor %s: dimension %" PRIu32 " is %" PRIu64, q, d, ne[d]);
    }
    if (ne[0] % info->weights)
        return error_set(err, ERROR_FORMAT,
                         "tensor %s: row of %" PRIu64 " weights is no multiple of the %" PRIu32 "-weight block of %s",
                         q, ne[0], info->weights, info->name);
    if (!block_row_bytes(info, ne[0], &row) || !mem_mul(row, rows, &t.bytes) ||
        !mem_add(w->data_bytes, t.bytes, &total) || !mem_add(total, w->alignment, &total) || total > INT64_MAX)
        return error_set(err, ERROR_FORMAT, "tensor %s: its size overflows", q);
    int rc =
        mem_reserve((void **)&w->tensors, &w->tensor_cap, w->n_tensors + 1, sizeof *w->tensors, "GGUF tensors", err);
    if (rc)
        return rc;
    if (!(t.name = arena_strndup(&w->arena, name, n, err)))
        return ERROR_NOMEM;
    if ((rc = names_add(&w->names, t.name, w->n_tensors, err)))
        return rc > 0 ? error_set(err, ERROR_FORMAT, "duplicate tensor %s", q) : rc;
    w->tensors[w->n_tensors++] = t;
    w->info_bytes += 8 + n + 4 + 8 * (uint64_t)n_dims + 4 + 8;
    w->data_bytes = round_up(w, w->data_bytes + t.bytes);
    return 0;
}

uint64_t gguf_writer_size(const struct gguf_writer *w)
{
    return round_up(w, w->head.len + (w->begun ? 0 : w->info_bytes)) + w->data_bytes;
}

static int append_infos(struct gguf_writer *w, struct error *err)
{
    static const char zeros[64];
    int rc = 0;
    for (size_t i = 0; i < w->n_tensors && !rc; i++) {
        const struct planned_tensor *t = &w->tensors[i];
        rc = append_str(w, t->name, strlen(t->name), err);
        if (!rc)
            rc = append_u32(w, t->n_dims, err);
        for (uint32_t d = 0; d < t->n_dims && !rc; d++)
            rc = append_u64(w, t->ne[d], err);
        if (!rc)
            rc = append_u32(w, t->type, err);
        if (!rc)
            rc = append_u64(w, t->offset, err);
    }
    for (uint64_t pad; !rc && (pad = round_up(w, w->head.len) - w->head.len);)
        rc = buffer_append(&w->head, zeros, pad < sizeof zeros ? pad : sizeof zeros, err);
    bytes_put_u64(w->head.data + 8, w->n_tensors);
    bytes_put_u64(w->head.data + 16, w->n_kv);
    return rc;
}

int gguf_writer_begin(struct gguf_writer *w, const char *path, bool force, struct error *err)
{
    if (w->begun)
        return error_set(err, ERROR_INTERNAL, "%s: begun twice", path);
    int rc = append_infos(w, err);
    w->begun = true;
    if (!rc)
        rc = writer_open(&w->out, path, force, err);
    return rc ? rc : writer_write(&w->out, w->head.data, w->head.len, err);
}

int gguf_writer_data(struct gguf_writer *w, const void *bytes, size_t n, struct error *err)
{
    if (!w->begun)
        return error_set(err, ERROR_INTERNAL, "GGUF data before gguf_writer_begin");
    for (const uint8_t *p = bytes; n;) {
        if (w->current == w->n_tensors)
            return error_set(err, ERROR_INTERNAL, "%s: %zu bytes beyond the last tensor", w->out.path, n);
        const struct planned_tensor *t = &w->tensors[w->current];
        size_t take = n < t->bytes - w->current_pos ? n : t->bytes - w->current_pos;
        int rc = writer_write(&w->out, p, take, err);
        if (rc)
            return rc;
        p += take, n -= take, w->current_pos += take;
        if (w->current_pos < t->bytes)
            break;
        if ((rc = writer_zeros(&w->out, round_up(w, t->bytes) - t->bytes, err)))
            return rc;
        w->current++, w->current_pos = 0;
    }
    return 0;
}

static const struct planned_kv *find_kv(const struct gguf_writer *w, const char *key)
{
    size_t i = names_find(&w->keys, key);
    return i == NAMES_NONE ? NULL : &w->kv[i];
}

int gguf_writer_patch_str(struct gguf_writer *w, const char *key, size_t index, const char *s, size_t n,
                          struct error *err)
{
    const struct planned_kv *kv = find_kv(w, key);
    if (!kv || kv->elem != GGUF_STRING || index >= kv->count)
        return error_set(err, ERROR_INTERNAL, "no string %zu of key %s to patch", index, key);
    if (w->walk_kv != kv || index < w->walk_index)
        w->walk_kv = kv, w->walk_index = 0, w->walk_at = kv->value;
    for (; w->walk_index < index; w->walk_index++)
        w->walk_at += 8 + bytes_get_u64(w->head.data + w->walk_at);
    if (bytes_get_u64(w->head.data + w->walk_at) != n)
        return error_set(err, ERROR_INTERNAL, "string %zu of key %s has %" PRIu64 " bytes, not %zu", index, key,
                         bytes_get_u64(w->head.data + w->walk_at), n);
    int rc = check_text(key, s, n, err);
    if (rc)
        return rc;
    memcpy(w->head.data + w->walk_at + 8, s, n);
    w->dirty = true;
    return 0;
}

int gguf_writer_patch_num(struct gguf_writer *w, const char *key, size_t index, const void *value, struct error *err)
{
    const struct planned_kv *kv = find_kv(w, key);
    if (!kv || !gguf_scalar_size(kv->elem) || index >= kv->count)
        return error_set(err, ERROR_INTERNAL, "no number %zu of key %s to patch", index, key);
    scalar_bytes(kv->elem, value, (uint8_t *)w->head.data + kv->value + index * gguf_scalar_size(kv->elem));
    w->dirty = true;
    return 0;
}

const uint8_t *gguf_writer_header(const struct gguf_writer *w, size_t *n)
{
    *n = w->head.len;
    return (const uint8_t *)w->head.data;
}

int64_t gguf_writer_value_offset(const struct gguf_writer *w, const char *key)
{
    const struct planned_kv *kv = find_kv(w, key);
    return kv ? (int64_t)kv->value : -1;
}

int gguf_writer_commit(struct gguf_writer *w, struct error *err)
{
    if (!w->begun || w->current != w->n_tensors)
        return error_set(err, ERROR_INTERNAL, "%s: tensor %zu of %zu is incomplete", w->begun ? w->out.path : "GGUF",
                         w->current + 1, w->n_tensors);
    int rc = w->dirty ? writer_patch(&w->out, w->head.data, w->head.len, 0, err) : 0;
    if (rc)
        writer_abort(&w->out);
    return rc ? rc : writer_commit(&w->out, err);
}

int gguf_writer_read_back(struct gguf_writer *w, size_t tensor, uint64_t off, void *buf, size_t n, struct error *err)
{
    if (!w->begun || tensor >= w->n_tensors || off > w->tensors[tensor].bytes || n > w->tensors[tensor].bytes - off)
        return error_set(err, ERROR_INTERNAL, "read back of tensor %zu, %zu bytes at %" PRIu64, tensor, n, off);
    return writer_read_back(&w->out, buf, n, w->head.len + w->tensors[tensor].offset + off, err);
}
