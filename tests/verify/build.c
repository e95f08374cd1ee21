/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verify/build.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/format/gguf.h"
#include "base/util/bytes.h"
#include "base/util/digest.h"
#include "kernels/codec.h"
#include "tests/support/support.h"
#include "verify/verify.h"

enum { N_A = 128, N_B = 5 };

static void fill(uint8_t a[36], uint8_t b[20])
{
    int8_t codes[N_A];
    uint16_t scales[N_A / 64] = { bytes_f16_from_f32(0.5f), bytes_f16_from_f32(0.25f) };

    for (int i = 0; i < N_A; i++)
        codes[i] = (int8_t)(i % 3 - 1);
    codec_pack(BLOCK_Q2_0, codes, scales, a, N_A);
    for (int i = 0; i < N_B; i++)
        bytes_put_f32(b + 4 * i, (float)i - 2);
}

static bool skipped(const struct build *how, const char *key)
{
    return how->omit && !strcmp(how->omit, key);
}

static void put_digests(struct gguf_writer *w, const struct build *how, const uint8_t *a, const uint8_t *b)
{
    const char *second = how->bad_name ? how->bad_name : "b.weight";
    struct gguf_str names[2] = { { "a.weight", 8 }, { second, strlen(second) } };
    struct gguf_str methods[2] = { { "optimal", 7 }, { "copy", 4 } }, hex[2];
    struct digest_result d[2];
    char text[2][65];
    uint64_t xxh3[2];
    struct error e = { 0 };

    ck_ok(digest_bytes(DIGEST_SHA256 | DIGEST_XXH3, a, 36, &d[0], &e), e);
    ck_ok(digest_bytes(DIGEST_SHA256 | DIGEST_XXH3, b, 20, &d[1], &e), e);
    for (int i = 0; i < 2; i++) {
        digest_hex(d[i].sha256, 32, text[i]);
        hex[i] = (struct gguf_str){ text[i], 64 };
        xxh3[i] = d[i].xxh3;
    }
    xxh3[0] ^= how->wrong_xxh3;
    if (!skipped(how, "ternpack.version"))
        ck_ok(gguf_put_u32(w, "ternpack.version", how->version ? how->version : 1, &e), e);
    if (!skipped(how, "ternpack.tensor.names"))
        ck_ok(gguf_put_strs(w, "ternpack.tensor.names", names, 2, &e), e);
    if (!skipped(how, "ternpack.tensor.methods"))
        ck_ok(gguf_put_strs(w, "ternpack.tensor.methods", methods, 2, &e), e);
    if (!skipped(how, "ternpack.tensor.xxh3"))
        ck_ok(gguf_put_array(w, "ternpack.tensor.xxh3", GGUF_U64, xxh3, how->short_list ? 1 : 2, &e), e);
    if (!skipped(how, "ternpack.tensor.sha256"))
        ck_ok(gguf_put_strs(w, "ternpack.tensor.sha256", hex, 2, &e), e);
    if (!skipped(how, "ternpack.header_crc32"))
        ck_ok(gguf_put_u32(w, "ternpack.header_crc32", 0, &e), e);
}

void build_file(const char *path, const struct build *how)
{
    struct gguf_writer *w = NULL;
    static const uint64_t ne_a[2] = { 64, 2 }, ne_b[1] = { N_B };
    uint8_t a[36], b[20];
    struct digest_result crc;
    struct error e = { 0 };
    size_t n;

    fill(a, b);
    ck_ok(gguf_writer_new(&w, 32, &e), e);
    ck_ok(gguf_put_str(w, "general.architecture", "llama", 5, &e), e);
    if (how->digests)
        put_digests(w, how, a, b);
    ck_ok(gguf_put_tensor(w, "a.weight", BLOCK_Q2_0, 2, ne_a, &e), e);
    ck_ok(gguf_put_tensor(w, "b.weight", BLOCK_F32, 1, ne_b, &e), e);
    ck_ok(gguf_writer_begin(w, path, true, &e), e);
    ck_ok(gguf_writer_data(w, a, sizeof a, &e), e);
    ck_ok(gguf_writer_data(w, b, sizeof b, &e), e);
    if (how->digests && !skipped(how, "ternpack.header_crc32")) { /* its own four bytes are still zero */
        const uint8_t *header = gguf_writer_header(w, &n);
        ck_ok(digest_bytes(DIGEST_CRC32, header, n, &crc, &e), e);
        ck_ok(gguf_writer_patch_num(w, "ternpack.header_crc32", 0, &crc.crc32, &e), e);
    }
    ck_ok(gguf_writer_commit(w, &e), e);
    gguf_writer_free(w);
}

uint64_t build_offset(const char *path, const char *tensor)
{
    struct gguf g = { 0 };
    struct error e = { 0 };
    ck_ok(gguf_open(&g, path, 0, &e), e);
    uint64_t offset = gguf_tensor(&g, tensor)->offset;
    gguf_close(&g);
    return offset;
}

void build_xor(const char *path, uint64_t offset, uint8_t mask)
{
    int fd = open(path, O_RDWR);
    uint8_t byte;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, &byte, 1, (off_t)offset), 1);
    byte ^= mask;
    ck_assert_int_eq(pwrite(fd, &byte, 1, (off_t)offset), 1);
    close(fd);
}

void build_cut(const char *path, uint64_t size)
{
    ck_assert_int_eq(truncate(path, (off_t)size), 0);
}

void build_append(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "ab");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

void build_check(struct report *r, const char *path)
{
    struct verify v = { 0 };
    struct error e = { 0 };
    report_init(r, path);
    ck_ok(verify_path(path, &v, r, &e), e);
    ck_ok(report_code(r, &e), e);
}

bool build_says(const struct report *r, const char *words)
{
    char line[4096];
    for (size_t i = 0; i < r->n; i++) {
        snprintf(line, sizeof line, "%s: %s", r->items[i].where ? r->items[i].where : "", r->items[i].text);
        if (r->items[i].level != REPORT_NOTE && strstr(line, words))
            return true;
    }
    return false;
}
