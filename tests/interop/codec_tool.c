/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_tool dequantize|quantize|pack TYPE N: block codecs as a filter, for comparison with foreign ones. Standard
 * input is N weights: packed bytes, floats, or N codes (int8) and then the scales (u16, one a block). TERNPACK_KERNELS
 * as everywhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/mem.h"
#include "base/util/text.h"
#include "kernels/kernels.h"

enum { MAX_WEIGHTS = 1 << 24 };

static int fail(const char *text)
{
    fprintf(stderr, "codec_tool: %s\n", text);
    return 2;
}

/* in_bytes and out_bytes of a command; false when it does not fit the type. */
static bool sizes(const char *command, const struct block_info *b, size_t n, size_t *in_bytes, size_t *out_bytes)
{
    size_t packed = n / b->weights * b->bytes;
    if (!strcmp(command, "dequantize")) {
        *in_bytes = packed;
        *out_bytes = 4 * n;
        return b->decodes;
    }
    *out_bytes = packed;
    if (!strcmp(command, "quantize")) {
        *in_bytes = 4 * n;
        return b->id == BLOCK_Q8_0 || b->id == BLOCK_F16 || b->id == BLOCK_BF16;
    }
    *in_bytes = n + n / b->weights * 2;
    return !strcmp(command, "pack") && b->ternary;
}

static void convert(const char *command, const struct kernels *k, uint32_t type, const uint8_t *in, uint8_t *out,
                    size_t n)
{
    const float *x =
        (const float *)(const void *)in; /* aligned by mem_aligned; the tool runs on little-endian machines */
    if (!strcmp(command, "dequantize"))
        k->dequantize(type, in, (float *)(void *)out, n);
    else if (!strcmp(command, "pack"))
        codec_pack(type, (const int8_t *)in, (const uint16_t *)(const void *)(in + n), out, n);
    else if (type == BLOCK_Q8_0)
        codec_quantize_q8_0(x, out, n);
    else if (type == BLOCK_F16)
        codec_to_f16(x, out, n);
    else
        codec_to_bf16(x, out, n);
}

int main(int argc, char **argv)
{
    const struct block_info *b = argc == 4 ? block_by_name(argv[2]) : NULL;
    const struct kernels *k;
    struct error err;
    uint64_t n = 0;
    size_t in_bytes, out_bytes;
    if (!b || !text_u64(argv[3], &n) || n > MAX_WEIGHTS || n % b->weights || n % 2 ||
        !sizes(argv[1], b, n, &in_bytes, &out_bytes))
        return fail("usage: codec_tool dequantize|quantize|pack TYPE N");
    if (kernels_select(&k, getenv("TERNPACK_KERNELS"), &err))
        return fail(err.text);
    uint8_t *in = mem_aligned(in_bytes, 1, "input", &err), *out = mem_aligned(out_bytes, 1, "output", &err);
    int rc = 0;
    if (!in || !out) {
        rc = fail(err.text);
    } else if (fread(in, 1, in_bytes, stdin) != in_bytes || getchar() != EOF) {
        rc = fail("standard input has another size");
    } else {
        convert(argv[1], k, b->id, in, out, n);
        if (fwrite(out, 1, out_bytes, stdout) != out_bytes || fflush(stdout))
            rc = fail("cannot write");
    }
    mem_free(in);
    mem_free(out);
    return rc;
}
