/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests/interop/format.sh compares with the foreign libraries:
 *   blocks            id, name, weights, bytes of every tensor type
 *   write OUT.gguf    a file with every kind of key, several types and shapes
 *   dump FILE.gguf    keys (type and value) and tensors (name, type, shape, offset, size)
 *   st FILE           0 accepted, 1 refused
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/safetensors.h"
#include "base/util/bytes.h"

static int blocks(void)
{
    const struct block_info *b;
    for (unsigned i = 0; (b = block_at(i)); i++)
        printf("%" PRIu32 " %s %" PRIu32 " %" PRIu32 "\n", b->id, b->name, b->weights, b->bytes);
    return 0;
}

static int write_keys(struct gguf_writer *w, struct error *err)
{
    static const struct gguf_str words[] = { { "one", 3 }, { "", 0 }, { "zw\xc3\xb6lf", 6 } };
    static const int32_t ints[] = { -1, 2, 3 };
    static const float floats[] = { 0.5f, -1e30f };
    int rc;
    if ((rc = gguf_put_str(w, "general.architecture", "llama", 5, err)) ||
        (rc = gguf_put_u32(w, "t.u32", 4294967295u, err)) || (rc = gguf_put_u64(w, "t.u64", UINT64_MAX, err)) ||
        (rc = gguf_put_i32(w, "t.i32", -2147483647, err)) || (rc = gguf_put_f32(w, "t.f32", 0.1f, err)) ||
        (rc = gguf_put_f64(w, "t.f64", 0.1, err)) || (rc = gguf_put_bool(w, "t.bool", true, err)) ||
        (rc = gguf_put_strs(w, "t.words", words, 3, err)) ||
        (rc = gguf_put_array(w, "t.ints", GGUF_I32, ints, 3, err)) ||
        (rc = gguf_put_array(w, "t.floats", GGUF_F32, floats, 2, err)))
        return rc;
    return 0;
}

static int write_file(const char *path, struct error *err)
{
    static const struct {
        const char *name;
        uint32_t type, n_dims;
        uint64_t ne[4];
        size_t bytes;
    } tensors[] = {
        { "vector", BLOCK_F32, 1, { 5 }, 20 },      { "matrix", BLOCK_F16, 2, { 4, 3 }, 24 },
        { "cube", BLOCK_I8, 3, { 2, 3, 5 }, 30 },   { "tq1", BLOCK_TQ1_0, 2, { 512, 3 }, 324 },
        { "tq2", BLOCK_TQ2_0, 2, { 256, 2 }, 132 }, { "q8", BLOCK_Q8_0, 2, { 32, 1 }, 34 },
    };
    struct gguf_writer *w;
    int rc = gguf_writer_new(&w, 64, err);
    if (!rc)
        rc = write_keys(w, err);
    for (int i = 0; i < 6 && !rc; i++)
        rc = gguf_put_tensor(w, tensors[i].name, tensors[i].type, tensors[i].n_dims, tensors[i].ne, err);
    if (!rc)
        rc = gguf_writer_begin(w, path, true, err);
    for (int i = 0; i < 6; i++)
        for (size_t n = 0; n < tensors[i].bytes && !rc; n++) {
            uint8_t byte = (uint8_t)(i * 37 + n);
            rc = gguf_writer_data(w, &byte, 1, err);
        }
    if (!rc)
        rc = gguf_writer_commit(w, err);
    gguf_writer_free(w);
    return rc;
}

static void dump_number(enum gguf_type t, const uint8_t *p)
{
    uint64_t bits;
    double d;
    switch (t) {
    case GGUF_U8:
    case GGUF_BOOL:
        printf(" %d", p[0]);
        break;
    case GGUF_I8:
        printf(" %d", (int8_t)p[0]);
        break;
    case GGUF_U16:
        printf(" %d", bytes_get_u16(p));
        break;
    case GGUF_I16:
        printf(" %d", (int16_t)bytes_get_u16(p));
        break;
    case GGUF_U32:
        printf(" %" PRIu32, bytes_get_u32(p));
        break;
    case GGUF_I32:
        printf(" %" PRIi32, (int32_t)bytes_get_u32(p));
        break;
    case GGUF_U64:
        printf(" %" PRIu64, bytes_get_u64(p));
        break;
    case GGUF_I64:
        printf(" %" PRIi64, (int64_t)bytes_get_u64(p));
        break;
    case GGUF_F32:
        printf(" %.9g", (double)bytes_get_f32(p));
        break;
    case GGUF_F64:
        bits = bytes_get_u64(p);
        memcpy(&d, &bits, sizeof d);
        printf(" %.17g", d);
        break;
    default:
        break;
    }
}

static int dump(const char *path, struct error *err)
{
    struct gguf g;
    int rc = gguf_open(&g, path, 0, err);
    if (rc)
        return rc;
    printf("version %" PRIu32 " alignment %" PRIu32 " data %" PRIu64 "\n", g.version, g.alignment, g.data_offset);
    for (size_t i = 0; i < g.n_kv; i++) {
        const struct gguf_kv *kv = &g.kv[i];
        struct gguf_str s;
        printf("%s %s", kv->key, gguf_type_name(kv->elem));
        for (size_t cursor = 0; gguf_next_str(kv, &cursor, &s);)
            printf(" \"%.*s\"", (int)s.n, s.s);
        for (uint64_t e = 0; kv->elem != GGUF_STRING && e < kv->count; e++)
            dump_number(kv->elem, kv->value + e * gguf_scalar_size(kv->elem));
        putchar('\n');
    }
    for (size_t i = 0; i < g.n_tensors; i++) {
        const struct gguf_tensor *t = &g.tensors[i];
        printf("%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " at %" PRIu64 " bytes %" PRIu64 "\n", t->name,
               t->info->name, t->ne[0], t->ne[1], t->ne[2], t->ne[3], t->offset, t->bytes);
    }
    gguf_close(&g);
    return 0;
}

static int st(const char *path, struct error *err)
{
    struct st_model m;
    int rc = st_open_file(&m, path, err);
    st_close(&m);
    return rc;
}

int main(int argc, char **argv)
{
    struct error err = { 0 };
    int rc = ERROR_USAGE;
    if (argc == 2 && !strcmp(argv[1], "blocks"))
        rc = blocks();
    else if (argc == 3 && !strcmp(argv[1], "write"))
        rc = write_file(argv[2], &err);
    else if (argc == 3 && !strcmp(argv[1], "dump"))
        rc = dump(argv[2], &err);
    else if (argc == 3 && !strcmp(argv[1], "st"))
        rc = st(argv[2], &err);
    if (rc)
        fprintf(stderr, "%s\n", err.text);
    return error_exit_status(rc);
}
