/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_bench: products of one matrix, 2048 x 2048, with 1 and with 256 tokens, by every implementation and ternary
 * type, beside OpenBLAS's float32 GEMM on one thread. A line each: implementation, type, tokens, 10^9 multiply-adds per
 * CPU second (the median of five).
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/util/bytes.h"
#include "base/util/mem.h"
#include "base/util/rng.h"
#include "kernels/kernels.h"
#include "runtime/blas.h"

enum { N = 2048, TOKENS = 256, RUNS = 5 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct arrays {
    uint8_t *packed;
    float *w, *x, *a, *y;
    int8_t *q, *codes;
    uint16_t *scales;
    void *scratch;
};

static int arrays_open(struct arrays *s, struct error *err)
{
    struct rng rng;
    *s = (struct arrays){ 0 };
    if (!(s->packed = mem_zalloc(N, N, "packed", err)) || !(s->w = mem_aligned(N * N, sizeof *s->w, "weights", err)) ||
        !(s->x = mem_aligned(N * TOKENS, sizeof *s->x, "inputs", err)) ||
        !(s->a = mem_aligned(N * TOKENS / 64, sizeof *s->a, "scales", err)) ||
        !(s->y = mem_aligned(N * TOKENS, sizeof *s->y, "outputs", err)) ||
        !(s->q = mem_aligned(N * TOKENS, 1, "inputs", err)) || !(s->codes = mem_aligned(N, N, "codes", err)) ||
        !(s->scales = mem_zalloc(N * N / 64, 2, "scales", err)) ||
        !(s->scratch = mem_aligned(kernels_scratch(N), 1, "scratch", err)))
        return ERROR_NOMEM;
    rng_seed(&rng, 1);
    for (size_t i = 0; i < N * N; i++) {
        s->codes[i] = (int8_t)((int)rng_below(&rng, 3) - 1);
        s->w[i] = 0.01f * (float)s->codes[i];
    }
    for (size_t i = 0; i < N * N / 64; i++)
        s->scales[i] = bytes_f16_from_f32(0.01f);
    for (size_t i = 0; i < N * TOKENS; i++)
        s->x[i] = (float)rng_normal(&rng);
    kernels_at(0)->quantize_act(s->x, s->q, s->a, N * TOKENS);
    return 0;
}

static void arrays_close(struct arrays *s)
{
    void *all[] = { s->packed, s->w, s->x, s->a, s->y, s->q, s->codes, s->scales, s->scratch };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        mem_free(all[i]);
}

/* k NULL: float32 GEMM (GEMV for a single token). Few runs of many tokens, many of one. */
static void measure(struct arrays *s, const struct kernels *k, const struct block_info *info, size_t tokens)
{
    double rate[RUNS];
    size_t repeat = tokens == 1 ? 20 : 1;
    for (int run = 0; run < RUNS; run++) {
        double start = cpu_seconds();
        for (size_t i = 0; i < repeat; i++) {
            if (k)
                k->ternary_matmul(info->id, s->packed, N / info->weights * info->bytes, N, N, s->q, s->a, tokens, s->y,
                                  N, s->scratch);
            else if (tokens == 1)
                cblas_sgemv(CblasRowMajor, CblasNoTrans, N, N, 1, s->w, N, s->x, 1, 0, s->y, 1);
            else
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)tokens, N, N, 1, s->x, N, s->w, N, 0,
                            s->y, N);
        }
        rate[run] = (double)(repeat * tokens) * N * N / (cpu_seconds() - start) * 1e-9;
    }
    qsort(rate, RUNS, sizeof *rate, by_value);
    printf("%s\t%s\t%zu\t%.3f\n", k ? k->name : "openblas", k ? info->name : "F32", tokens, rate[RUNS / 2]);
}

int main(int argc, char **argv)
{
    (void)argc;
    blas_choose(argv); /* the peer at its best */
    struct error err;
    struct arrays s;
    const struct kernels *k;
    const struct block_info *info;
    int rc = arrays_open(&s, &err);
    if (rc) {
        fprintf(stderr, "kernels_bench: %s\n", err.text);
        goto out;
    }
    openblas_set_num_threads(1);
    for (size_t tokens = 1; tokens <= TOKENS; tokens *= TOKENS) {
        measure(&s, NULL, NULL, tokens);
        for (unsigned t = 0; (info = block_at(t)); t++) {
            if (!info->ternary)
                continue;
            codec_pack(info->id, s.codes, s.scales, s.packed, (size_t)N * N);
            for (unsigned i = 0; (k = kernels_at(i)); i++)
                measure(&s, k, info, i || tokens == 1 ? tokens : 8); /* the scalar code is slow */
        }
    }
out:
    arrays_close(&s);
    return rc ? 2 : 0;
}
