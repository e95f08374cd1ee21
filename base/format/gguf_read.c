/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a GGUF file: the header is read through a cursor that pulls bounded pieces of the file into memory and never
 * past its end, so a count or length is only believed once the bytes it speaks of are there.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/gguf_index.h"
#include "base/format/sniff.h"
#include "base/util/bytes.h"
#include "base/util/text.h"

enum {
    FIXED_HEADER = 24, /* magic, version, two counts */
    MIN_KV = 8 + 1 + 4 + 1,
    MIN_TENSOR = 8 + 1 + 4 + 4 + 8,
    MAX_KEY = 65535,
    MAX_ALIGNMENT = 65536,
    DEFAULT_ALIGNMENT = 32,
    MAX_ARRAY = 1 << 30,
    FIRST_READ = 64 << 10,
};
static const uint64_t max_string = (uint64_t)1 << 30;
static const uint64_t max_header = (uint64_t)2 << 30;

struct cursor {
    struct gguf *g;
    size_t loaded; /* bytes of g->header that hold file content */
    size_t cap;
    size_t pos;
    size_t kv_cap, tensor_cap;
    const char *item_word; /* what is being walked, for the error line: "element", "tensor info" or NULL */
    uint64_t item;
    struct error *err;
};

static int __attribute__((format(printf, 3, 4))) fail(struct cursor *c, int code, const char *fmt, ...)
{
    char text[1024], path[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text_quote(path, sizeof path, c->g->file.path, strlen(c->g->file.path));
    if (c->item_word)
        return error_set(c->err, code, "%s: %s (%s %" PRIu64 ")", path, text, c->item_word, c->item);
    return error_set(c->err, code, "%s: %s", path, text);
}

/* Make the next n bytes available at g->header + pos. `what` is for the error line. */
static int need(struct cursor *c, uint64_t n, const char *what)
{
    struct gguf *g = c->g;
    if (n > g->file.size - c->pos)
        return fail(c, ERROR_FORMAT,
                    "truncated: %s at offset %zu needs %" PRIu64 " bytes, the file has %" PRIu64 " more", what, c->pos,
                    n, g->file.size - c->pos);
    uint64_t end = c->pos + n;
    if (end <= c->loaded)
        return 0;
    if (end > max_header)
        return fail(c, ERROR_FORMAT, "%s at offset %zu makes the header longer than %" PRIu64 " bytes", what, c->pos,
                    max_header);
    uint64_t want = end > FIRST_READ ? end : FIRST_READ;
    if (want < 2 * (uint64_t)c->loaded)
        want = 2 * (uint64_t)c->loaded;
    if (want > g->file.size)
        want = g->file.size;
    int rc = mem_reserve((void **)&g->header, &c->cap, want, 1, "the GGUF header", c->err);
    if (!rc)
        rc = file_read_at(&g->file, g->header + c->loaded, want - c->loaded, c->loaded, c->err);
    if (!rc)
        c->loaded = want;
    return rc;
}

static int take_u32(struct cursor *c, uint32_t *v, const char *what)
{
    *v = 0;
    int rc = need(c, 4, what);
    if (rc)
        return rc;
    *v = bytes_get_u32(c->g->header + c->pos);
    c->pos += 4;
    return 0;
}

static int take_u64(struct cursor *c, uint64_t *v, const char *what)
{
    *v = 0;
    int rc = need(c, 8, what);
    if (rc)
        return rc;
    *v = bytes_get_u64(c->g->header + c->pos);
    c->pos += 8;
    return 0;
}

/* A string of at most `max` bytes: *n bytes at *at. Checked for length and UTF-8. */
static int take_string(struct cursor *c, uint64_t max, size_t *at, size_t *n, const char *what)
{
    uint64_t len;
    size_t start = c->pos;
    int rc = take_u64(c, &len, what);
    if (rc)
        return rc;
    if (len > max || len > c->g->file.size - c->pos)
        return fail(c, ERROR_FORMAT,
                    "%s at offset %zu: string length %" PRIu64 ", at most %" PRIu64 " allowed and %" PRIu64
                    " bytes left (truncated?)",
                    what, start, len, max, c->g->file.size - c->pos);
    if ((rc = need(c, len, what)))
        return rc;
    const char *s = (const char *)c->g->header + c->pos;
    size_t good = text_utf8_check(s, len);
    if (good != len)
        return fail(c, ERROR_FORMAT, "%s at offset %zu is not UTF-8: byte 0x%02x", what, c->pos + good,
                    (unsigned char)s[good]);
    *at = c->pos;
    *n = len;
    c->pos += len;
    return 0;
}

/* A key or a tensor name: a string that is not empty and holds no NUL, copied. */
static int take_name(struct cursor *c, uint64_t max, const char **out, const char *what)
{
    size_t at, n;
    int rc = take_string(c, max, &at, &n, what);
    if (rc)
        return rc;
    const char *s = (const char *)c->g->header + at;
    if (!n)
        return fail(c, ERROR_FORMAT, "%s at offset %zu is empty", what, at - 8);
    if (memchr(s, 0, n))
        return fail(c, ERROR_FORMAT, "%s at offset %zu holds a NUL byte", what, at);
    *out = arena_strndup(&c->g->arena, s, n, c->err);
    return *out ? 0 : ERROR_NOMEM;
}

static const char *quoted(char buf[160], const char *name)
{
    return text_quote(buf, 160, name, strlen(name));
}

/* count scalars of type t; booleans are 0 or 1. */
static int skip_scalars(struct cursor *c, const struct gguf_kv *kv, enum gguf_type t, uint64_t count)
{
    char key[160];
    uint64_t bytes;
    if (!mem_mul(count, gguf_scalar_size(t), &bytes) || bytes > c->g->file.size - c->pos)
        return fail(c, ERROR_FORMAT,
                    "key %s: %s of %" PRIu64 " %s at offset %zu is larger than the rest of the file "
                    "(truncated?)",
                    quoted(key, kv->key), kv->type == GGUF_ARRAY ? "array" : "value", count, gguf_type_name(t), c->pos);
    int rc = need(c, bytes, "a value");
    if (rc)
        return rc;
    for (uint64_t i = 0; t == GGUF_BOOL && i < count; i++)
        if (c->g->header[c->pos + i] > 1)
            return fail(c, ERROR_FORMAT, "key %s: bool at offset %" PRIu64 " is %u, expected 0 or 1",
                        quoted(key, kv->key), c->pos + i, c->g->header[c->pos + i]);
    c->pos += bytes;
    return 0;
}

static int skip_strings(struct cursor *c, const struct gguf_kv *kv, uint64_t count)
{
    char key[160], what[256];
    if (count > (c->g->file.size - c->pos) / 8)
        return fail(c, ERROR_FORMAT,
                    "key %s: array of %" PRIu64 " strings at offset %zu does not fit the rest of the "
                    "file (truncated?)",
                    quoted(key, kv->key), count, c->pos);
    snprintf(what, sizeof what, "the string of key %s", quoted(key, kv->key));
    c->item_word = kv->type == GGUF_ARRAY ? "element" : NULL;
    for (c->item = 0; c->item < count; c->item++) {
        size_t at, n;
        int rc = take_string(c, max_string, &at, &n, what);
        if (rc)
            return rc;
    }
    c->item_word = NULL;
    return 0;
}

static int parse_value(struct cursor *c, struct gguf_kv *kv)
{
    char key[160];
    uint32_t type;
    int rc = take_u32(c, &type, "a value type");
    if (rc)
        return rc;
    if (type > GGUF_F64)
        return fail(c, ERROR_FORMAT, "key %s: unknown value type %" PRIu32 " at offset %zu", quoted(key, kv->key), type,
                    c->pos - 4);
    kv->type = kv->elem = type;
    kv->count = 1;
    if (type == GGUF_ARRAY) {
        uint32_t elem;
        if ((rc = take_u32(c, &elem, "an array element type")) || (rc = take_u64(c, &kv->count, "an array count")))
            return rc;
        if (elem == GGUF_ARRAY)
            return fail(c, ERROR_FORMAT, "key %s: nested arrays (depth 2) at offset %zu are not allowed",
                        quoted(key, kv->key), c->pos - 12);
        if (elem > GGUF_F64)
            return fail(c, ERROR_FORMAT, "key %s: unknown array element type %" PRIu32 " at offset %zu",
                        quoted(key, kv->key), elem, c->pos - 12);
        if (kv->count > MAX_ARRAY)
            return fail(c, ERROR_FORMAT, "key %s: array of %" PRIu64 " elements, at most %d allowed (truncated file?)",
                        quoted(key, kv->key), kv->count, MAX_ARRAY);
        kv->elem = elem;
    }
    kv->offset = c->pos;
    rc = kv->elem == GGUF_STRING ? skip_strings(c, kv, kv->count) : skip_scalars(c, kv, kv->elem, kv->count);
    kv->value_bytes = c->pos - kv->offset;
    return rc;
}

static int parse_kvs(struct cursor *c, uint64_t count)
{
    struct gguf *g = c->g;
    char key[160];
    if (count > (g->file.size - c->pos) / MIN_KV)
        return fail(c, ERROR_FORMAT,
                    "key/value count %" PRIu64 " does not fit a file of %" PRIu64 " bytes (truncated?)", count,
                    g->file.size);
    for (uint64_t i = 0; i < count; i++) {
        int rc = mem_reserve((void **)&g->kv, &c->kv_cap, g->n_kv + 1, sizeof *g->kv, "GGUF keys", c->err);
        struct gguf_kv kv = { .key = "" };
        if (!rc)
            rc = take_name(c, MAX_KEY, &kv.key, "a key");
        if (!rc)
            rc = parse_value(c, &kv);
        if (rc)
            return rc;
        rc = names_add(&g->index->keys, kv.key, g->n_kv, c->err);
        if (rc > 0)
            return fail(c, ERROR_FORMAT, "duplicate key %s", quoted(key, kv.key));
        if (rc)
            return rc;
        g->kv[g->n_kv++] = kv;
    }
    return 0;
}

/* Block type, row and tensor size of a tensor whose dims are known. */
static int size_tensor(struct cursor *c, struct gguf_tensor *t)
{
    char name[160];
    t->info = block_info(t->type);
    if (!t->info) {
        const char *who = block_foreign(t->type);
        return fail(c, ERROR_UNSUPPORTED, "tensor %s: type %" PRIu32 " (%s)", quoted(name, t->name), t->type,
                    who ? who : "unknown");
    }
    t->n_elements = 1;
    for (uint32_t d = 0; d < GGUF_MAX_DIMS; d++) {
        if (!t->ne[d] || t->ne[d] > INT64_MAX)
            return fail(c, ERROR_FORMAT, "tensor %s: dimension %" PRIu32 " is %" PRIi64, quoted(name, t->name), d,
                        (int64_t)t->ne[d]);
        if (!mem_mul(t->n_elements, t->ne[d], &t->n_elements) || t->n_elements > INT64_MAX)
            return fail(c, ERROR_FORMAT,
                        "tensor %s: the product of its dimensions overflows (dim %" PRIu32 " is %" PRIu64 ")",
                        quoted(name, t->name), d, t->ne[d]);
    }
    if (t->ne[0] % t->info->weights)
        return fail(c, ERROR_FORMAT,
                    "tensor %s: row of %" PRIu64 " weights is no multiple of the %" PRIu32
                    "-weight block of %s (remainder %" PRIu64 ")",
                    quoted(name, t->name), t->ne[0], t->info->weights, t->info->name, t->ne[0] % t->info->weights);
    t->n_rows = t->n_elements / t->ne[0];
    if (!block_row_bytes(t->info, t->ne[0], &t->row_bytes) || !mem_mul(t->row_bytes, t->n_rows, &t->bytes) ||
        t->bytes > INT64_MAX)
        return fail(c, ERROR_FORMAT, "tensor %s: size in bytes overflows (%" PRIu64 " elements of %s)",
                    quoted(name, t->name), t->n_elements, t->info->name);
    return 0;
}

static int parse_tensor(struct cursor *c, struct gguf_tensor *t)
{
    char name[160];
    size_t start = c->pos;
    int rc = take_name(c, GGUF_MAX_NAME, &t->name, "a tensor name");
    if (!rc)
        rc = take_u32(c, &t->n_dims, "a dimension count");
    if (rc)
        return rc;
    if (t->n_dims > GGUF_MAX_DIMS)
        return fail(c, ERROR_FORMAT, "tensor %s at offset %zu: %" PRIu32 " dimensions, at most %d allowed",
                    quoted(name, t->name), start, t->n_dims, GGUF_MAX_DIMS);
    for (uint32_t d = 0; d < GGUF_MAX_DIMS; d++) {
        t->ne[d] = 1;
        if (d < t->n_dims && (rc = take_u64(c, &t->ne[d], "a dimension")))
            return rc;
    }
    if ((rc = take_u32(c, &t->type, "a tensor type")) || (rc = take_u64(c, &t->offset, "a tensor offset")))
        return rc;
    return size_tensor(c, t);
}

static int parse_tensors(struct cursor *c, uint64_t count)
{
    struct gguf *g = c->g;
    char name[160];
    if (count > (g->file.size - c->pos) / MIN_TENSOR)
        return fail(c, ERROR_FORMAT, "tensor count %" PRIu64 " does not fit a file of %" PRIu64 " bytes (truncated?)",
                    count, g->file.size);
    c->item_word = "tensor info";
    for (c->item = 0; c->item < count; c->item++) {
        int rc = mem_reserve((void **)&g->tensors, &c->tensor_cap, g->n_tensors + 1, sizeof *g->tensors, "GGUF tensors",
                             c->err);
        struct gguf_tensor t = { .name = "" };
        if (!rc)
            rc = parse_tensor(c, &t);
        if (rc)
            return rc;
        rc = names_add(&g->index->tensors, t.name, g->n_tensors, c->err);
        if (rc > 0)
            return fail(c, ERROR_FORMAT, "duplicate tensor %s", quoted(name, t.name));
        if (rc)
            return rc;
        g->tensors[g->n_tensors++] = t;
    }
    c->item_word = NULL;
    return 0;
}

static int parse_start(struct cursor *c, uint64_t *n_tensors, uint64_t *n_kv)
{
    struct gguf *g = c->g;
    char what[256];
    if (!g->file.size)
        return fail(c, ERROR_FORMAT, "empty file");
    int rc = need(c, g->file.size < SNIFF_BYTES ? g->file.size : SNIFF_BYTES, "the header");
    if (rc)
        return rc;
    if (g->file.size < 4 || memcmp(g->header, "GGUF", 4)) {
        if (sniff_bytes(g->header, c->loaded, what, sizeof what))
            return fail(c, ERROR_FORMAT, "no GGUF header: this is %s", what);
        return fail(c, ERROR_FORMAT, "no GGUF header: the first bytes are not \"GGUF\"");
    }
    if ((rc = need(c, FIXED_HEADER, "the header")))
        return rc;
    g->version = bytes_get_u32(g->header + 4);
    *n_tensors = bytes_get_u64(g->header + 8);
    *n_kv = bytes_get_u64(g->header + 16);
    if (!(g->version & 0xffff) && g->version)
        return fail(c, ERROR_UNSUPPORTED,
                    "big-endian GGUF file (version reads 0x%08" PRIx32 "): only little-endian files "
                    "are read",
                    g->version);
    if (g->version != 2 && g->version != 3)
        return fail(c, ERROR_UNSUPPORTED, "GGUF version %" PRIu32 ", expected 2 or 3", g->version);
    c->pos = FIXED_HEADER;
    return 0;
}

static int read_alignment(struct cursor *c)
{
    struct gguf *g = c->g;
    const struct gguf_kv *kv = gguf_find(g, "general.alignment");
    g->alignment = DEFAULT_ALIGNMENT;
    if (!kv)
        return 0;
    if (kv->type != GGUF_U32)
        return fail(c, ERROR_FORMAT, "general.alignment: expected u32, found %s", gguf_type_name(kv->type));
    uint32_t a = bytes_get_u32(kv->value);
    if (a < 8 || a > MAX_ALIGNMENT || (a & (a - 1)))
        return fail(c, ERROR_FORMAT, "general.alignment is %" PRIu32 ", expected a power of two from 8 to %d", a,
                    MAX_ALIGNMENT);
    g->alignment = a;
    return 0;
}

/* The pre-v7 Prism fork wrote type 42 with 128 weights in 34 bytes. True when sizes of that layout, and not ours, give
 * the stored offsets and stay within the file. */
static bool legacy_prism(const struct gguf *g)
{
    uint64_t sum = 0;
    bool seen = false;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        uint64_t bytes = t->bytes, padded;
        if (t->type == BLOCK_Q2_0) {
            if (t->ne[0] % 128)
                return false;
            bytes = t->n_elements / 128 * 34;
            seen = true;
        }
        if (t->offset != sum || !mem_align_up(bytes, g->alignment, &padded))
            return false;
        uint64_t end;
        if (!mem_add(g->data_offset, sum, &end) || !mem_add(end, bytes, &end) || end > g->file.size)
            return false;
        if (!mem_add(sum, padded, &sum))
            return false;
    }
    return seen;
}

static int place_tensors(struct cursor *c, unsigned flags)
{
    struct gguf *g = c->g;
    char name[160];
    uint64_t sum = 0;
    for (size_t i = 0; i < g->n_tensors; i++) {
        struct gguf_tensor *t = &g->tensors[i];
        uint64_t padded, end;
        if (t->offset != sum) {
            if (legacy_prism(g))
                goto legacy;
            return fail(c, ERROR_FORMAT, "tensor %s: offset %" PRIu64 ", expected %" PRIu64 " (%s)",
                        quoted(name, t->name), t->offset, sum,
                        t->offset < sum ? "overlap with the tensor before it" : "a hole before it");
        }
        if (!mem_align_up(t->bytes, g->alignment, &padded) || !mem_add(sum, padded, &sum) ||
            !mem_add(g->data_offset, sum, &end))
            return fail(c, ERROR_FORMAT, "tensor %s: the sum of tensor sizes overflows", quoted(name, t->name));
        end = g->data_offset + t->offset + t->bytes;
        if (end > g->file.size && legacy_prism(g))
            goto legacy;
        if (end > g->file.size && !(flags & GGUF_ALLOW_TRUNCATED))
            return fail(c, ERROR_FORMAT,
                        "truncated: tensor %s ends at offset %" PRIu64 ", the file has %" PRIu64 " bytes",
                        quoted(name, t->name), end, g->file.size);
    }
    for (size_t i = 0; i < g->n_tensors; i++)
        g->tensors[i].offset += g->data_offset;
    return 0;
legacy:
    return fail(c, ERROR_UNSUPPORTED,
                "type 42 tensors in the legacy Prism layout (128 weights in 34 bytes; today's Q2_0 is "
                "64 in 18): their type should read 142 (PQ2_0); get the file anew or change the ids");
}

/* The header stops growing: bring in its padding and point the keys at their values. */
static int settle(struct cursor *c)
{
    struct gguf *g = c->g;
    uint64_t padding;
    if (!mem_align_up(c->pos, g->alignment, &g->data_offset))
        return fail(c, ERROR_FORMAT, "header size overflows");
    padding = g->data_offset - c->pos;
    int rc;
    if (padding > g->file.size - c->pos && !g->n_tensors) { /* nothing follows: a missing tail is no harm */
        rc = mem_resize((void **)&g->header, g->data_offset, 1, "the GGUF header", c->err);
        if (!rc)
            memset(g->header + g->file.size, 0, g->data_offset - g->file.size);
    } else {
        rc = need(c, padding, "padding after the header");
        if (!rc)
            rc = mem_resize((void **)&g->header, g->data_offset, 1, "the GGUF header", c->err);
    }
    if (rc)
        return rc;
    for (size_t i = 0; i < g->n_kv; i++)
        g->kv[i].value = g->header + g->kv[i].offset;
    return 0;
}

int gguf_open(struct gguf *g, const char *path, unsigned file_flags, struct error *err)
{
    struct cursor c = { .g = g, .err = err };
    uint64_t n_tensors = 0, n_kv = 0;
    *g = (struct gguf){ .file = FILE_INIT };
    int rc = file_open(&g->file, path, file_flags & ~(unsigned)GGUF_ALLOW_TRUNCATED, err);
    if (rc)
        goto out;
    rc = ERROR_NOMEM;
    if (!(g->index = mem_zalloc(1, sizeof *g->index, "the GGUF index", err)))
        goto out;
    if ((rc = parse_start(&c, &n_tensors, &n_kv)) || (rc = parse_kvs(&c, n_kv)))
        goto out;
    for (size_t i = 0; i < g->n_kv; i++) /* values are read below; the header may still move */
        g->kv[i].value = g->header + g->kv[i].offset;
    if ((rc = read_alignment(&c)) || (rc = parse_tensors(&c, n_tensors)) || (rc = settle(&c)))
        goto out;
    rc = place_tensors(&c, file_flags);
out:
    if (rc)
        gguf_close(g);
    return rc;
}

void gguf_close(struct gguf *g)
{
    if (!g->index && !g->file.path) /* zero, or never opened: fd 0 is not ours */
        return;
    file_close(&g->file);
    mem_free(g->kv);
    mem_free(g->tensors);
    mem_free(g->header);
    if (g->index) {
        names_free(&g->index->keys);
        names_free(&g->index->tensors);
    }
    mem_free(g->index);
    arena_free(&g->arena);
    *g = (struct gguf){ 0 };
}

int gguf_read_rows(const struct gguf *g, const struct gguf_tensor *t, uint64_t first, uint64_t n, void *buf,
                   struct error *err)
{
    if (first > t->n_rows || n > t->n_rows - first)
        return error_set(err, ERROR_INTERNAL, "%s: tensor %s: rows %" PRIu64 "+%" PRIu64 " of %" PRIu64, g->file.path,
                         t->name, first, n, t->n_rows);
    int rc = file_read_at(&g->file, buf, n * t->row_bytes, t->offset + first * t->row_bytes, err);
    if (rc)
        error_prefix(err, "tensor %s", t->name);
    return rc;
}
