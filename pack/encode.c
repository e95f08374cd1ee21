/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/encode.h"

#include <inttypes.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/mem.h"
#include "pack/threshold.h"

enum { SPAN = ENCODE_SPAN };

struct encode_scratch {
    float w[SPAN], decoded[SPAN];
    int8_t codes[SPAN];
    uint16_t scales[SPAN / 64];
    float ones[THRESHOLD_MAX_GROUP];
    const struct kernels *kernels;
    threshold_batch_fn *batch;
};

int encode_scratch_open(struct encode_scratch **out, const struct kernels *k, struct error *err)
{
    struct encode_scratch *s = *out = mem_aligned(1, sizeof *s, "scratch", err);
    if (!s)
        return ERROR_NOMEM;
    s->kernels = k;
    s->batch = threshold_batch_for(k->name);
    for (size_t i = 0; i < THRESHOLD_MAX_GROUP; i++)
        s->ones[i] = 1;
    return 0;
}

void encode_scratch_close(struct encode_scratch *s)
{
    mem_free(s);
}

void encode_add(struct encode_sums *to, const struct encode_sums *piece)
{
    to->source2 += piece->source2;
    to->diff2 += piece->diff2;
    to->weighted_source2 += piece->weighted_source2;
    to->weighted_diff2 += piece->weighted_diff2;
    to->weights += piece->weights;
    to->source_nonzero += piece->source_nonzero;
    to->nonzero += piece->nonzero;
    to->negative_zeros += piece->negative_zeros;
    to->uniform_groups += piece->uniform_groups;
    to->scales.flushed += piece->scales.flushed;
    to->scales.subnormal += piece->scales.subnormal;
}

/* The loops below run over LANES accumulators, in a fixed order, so that compilers use vectors for them without being
 * asked to and without changing a result. */
enum { LANES = 16 };

/* Index of the first NaN or infinity, or n. The exponent field of those is all ones, so adding 1 to it carries into
 * bit 31. */
static size_t first_bad(const float *w, size_t n)
{
    uint32_t carry[LANES] = { 0 }, any = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            carry[l] |= (bytes_f32_bits(w[i + l]) & 0x7f800000) + 0x00800000;
    for (; i < n; i++)
        any |= (bytes_f32_bits(w[i]) & 0x7f800000) + 0x00800000;
    for (size_t l = 0; l < LANES; l++)
        any |= carry[l];
    if (!(any >> 31))
        return n;
    for (i = 0; (bytes_f32_bits(w[i]) & 0x7f800000) != 0x7f800000; i++)
        ;
    return i;
}

static uint64_t count_nonzero(const float *w, size_t n)
{
    uint32_t count[LANES] = { 0 }, all = 0; /* n is at most a span */
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            count[l] += w[i + l] != 0;
    for (; i < n; i++)
        all += w[i] != 0;
    for (size_t l = 0; l < LANES; l++)
        all += count[l];
    return all;
}

/* Words for where an element stands. */
static int element_error(const struct plan_tensor *t, uint64_t element, int code, const char *what, struct error *err)
{
    uint64_t n = t->src->ne[0];
    return error_set(err, code, "tensor %s: row %" PRIu64 ", column %" PRIu64 ": %s", t->src->name, element / n,
                     element % n, what);
}

static int check_finite(const struct plan_tensor *t, uint64_t first, const float *w, size_t n, struct error *err)
{
    size_t bad = first_bad(w, n);
    if (bad == n)
        return 0;
    return element_error(t, first + bad, ERROR_FORMAT,
                         w[bad] != w[bad] ? "the weight is NaN" : "the weight is infinite", err);
}

/* ---- ternary ---- */

static bool all_zero(const float *h, unsigned g)
{
    for (unsigned i = 0; i < g; i++)
        if (h[i] > 0)
            return false;
    return true;
}

/* Codes and scales of `n_groups` <= THRESHOLD_LANES groups: all at once where that is possible. */
static void fit_groups(const struct encode_piece *piece, uint64_t first, unsigned n_groups, const char *bits,
                       const float *w, struct encode_scratch *s, int8_t *codes, double *scale, struct encode_sums *sums)
{
    const struct plan_tensor *t = piece->tensor;
    const float *h[THRESHOLD_LANES] = { NULL };
    unsigned g = t->type->weights;
    int keep = t->exact ? THRESHOLD_FREE : t->keep;
    for (unsigned i = 0; i < n_groups && t->importance; i++) {
        h[i] = t->importance + (first + (uint64_t)i * g) % t->src->ne[0];
        if (all_zero(h[i], g)) {
            h[i] = s->ones;
            sums->uniform_groups++;
        }
    }
    if (keep == THRESHOLD_FREE) {
        enum threshold_source kind = t->src->type == BLOCK_F16    ? THRESHOLD_F16
                                     : t->src->type == BLOCK_BF16 ? THRESHOLD_BF16
                                                                  : THRESHOLD_F32;
        s->batch(bits, kind, w, t->importance ? h : NULL, g, n_groups, codes, scale);
        return;
    }
    for (unsigned i = 0; i < n_groups; i++)
        threshold_group(w + (size_t)i * g, h[i], g, keep, codes + (size_t)i * g, &scale[i]);
}

static int fit_span(const struct encode_piece *piece, uint64_t first, size_t n, const char *bits,
                    struct encode_scratch *s, struct encode_sums *sums, struct error *err)
{
    const struct plan_tensor *t = piece->tensor;
    size_t g = t->type->weights, step = THRESHOLD_LANES * g;
    for (size_t i = 0; i < n; i += step) {
        double scale[THRESHOLD_LANES];
        size_t n_groups = n - i < step ? (n - i) / g : THRESHOLD_LANES;
        fit_groups(piece, first + i, (unsigned)n_groups, bits + i * t->src->info->bytes, s->w + i, s, s->codes + i,
                   scale, sums);
        for (size_t j = 0; j < n_groups; j++) {
            uint16_t *stored = &s->scales[i / g + j];
            if (!scale_store(scale[j], stored, &sums->scales))
                return element_error(t, first + i + j * g, ERROR_FORMAT,
                                     "the scale from here on is beyond fp16 (65504)", err);
            if (*stored == 0)
                memset(s->codes + i + j * g, 0, g);
        }
    }
    return 0;
}

/* How many of a group's weights decode to something else than code times scale; g is a multiple of LANES. */
static uint32_t count_wrong(const float *decoded, const int8_t *codes, float d, size_t g)
{
    uint32_t wrong[LANES] = { 0 }, all = 0;
    for (size_t i = 0; i < g; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            wrong[l] += decoded[i + l] != (float)codes[i + l] * d;
    for (size_t l = 0; l < LANES; l++)
        all += wrong[l];
    return all;
}

/* The bytes must decode to code times scale; those of an exact tensor to the source itself. */
static int check_span(const struct plan_tensor *t, uint64_t first, size_t n, const struct encode_scratch *s,
                      struct encode_sums *sums, struct error *err)
{
    size_t g = t->type->weights;
    uint32_t wrong = 0, negative_zeros = 0;
    for (size_t i = 0; i < n; i += g)
        wrong += count_wrong(s->decoded + i, s->codes + i, bytes_f32_from_f16(s->scales[i / g]), g);
    if (wrong)
        return element_error(t, first, ERROR_INTERNAL, "weights from here on decode to other values than were encoded",
                             err);
    for (size_t i = 0; i < n && t->exact; i++) {
        wrong += s->decoded[i] != s->w[i];
        negative_zeros += bytes_f32_bits(s->w[i]) == 0x80000000;
    }
    sums->negative_zeros += negative_zeros;
    if (wrong)
        return element_error(t, first, ERROR_INTERNAL, "found ternary, but weights from here on differ after packing",
                             err);
    return 0;
}

/* ---- other types ---- */

static int convert_span(const struct plan_tensor *t, uint64_t first, const float *w, size_t n, char *dst,
                        struct error *err)
{
    size_t overflow = 0;
    switch (t->type->id) {
    case BLOCK_Q8_0:
        overflow = codec_quantize_q8_0(w, dst, n);
        break;
    case BLOCK_F16:
        overflow = codec_to_f16(w, dst, n);
        break;
    case BLOCK_BF16:
        codec_to_bf16(w, dst, n);
        for (size_t i = 0; i < n; i++)
            overflow += (bytes_get_u16(dst + 2 * i) & 0x7fff) == 0x7f80;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            bytes_put_f32(dst + 4 * i, w[i]);
        break;
    }
    return overflow ? element_error(t, first, ERROR_FORMAT, "a value from here on is beyond the range of the type", err)
                    : 0;
}

/* ---- both ---- */

/* Sums over four lanes, in index order, so that the compiler may use vectors without changing the result. */
static void add_errors(const float *w, const float *what, size_t n, struct encode_sums *sums)
{
    double a[4] = { 0 }, b[4] = { 0 };
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t l = 0; l < 4; l++) {
            double x = w[i + l], d = x - what[i + l];
            a[l] += x * x;
            b[l] += d * d;
        }
    for (; i < n; i++) {
        double x = w[i], d = x - what[i];
        a[0] += x * x;
        b[0] += d * d;
    }
    sums->source2 += (a[0] + a[1]) + (a[2] + a[3]);
    sums->diff2 += (b[0] + b[1]) + (b[2] + b[3]);
}

static void add_weighted_errors(const struct plan_tensor *t, uint64_t first, const float *w, const float *what,
                                size_t n, struct encode_sums *sums)
{
    uint64_t column = first % t->src->ne[0];
    for (size_t i = 0; i < n; i++) {
        double x = w[i], d = x - what[i], h = t->importance[column];
        sums->weighted_source2 += h * x * x;
        sums->weighted_diff2 += h * d * d;
        column = column + 1 == t->src->ne[0] ? 0 : column + 1;
    }
}

static int encode_span(const struct encode_piece *piece, uint64_t at, size_t n, struct encode_scratch *s,
                       struct encode_sums *sums, struct error *err)
{
    const struct plan_tensor *t = piece->tensor;
    const char *src = (const char *)piece->src + at * t->src->info->bytes;
    char *dst = (char *)piece->dst + at / t->type->weights * t->type->bytes;
    uint64_t first = piece->first + at, nonzero;

    s->kernels->dequantize(t->src->type, src, s->w, n);
    int rc = check_finite(t, first, s->w, n, err);
    if (rc != 0)
        return rc;
    sums->source_nonzero += nonzero = count_nonzero(s->w, n);
    if (t->kind == PLAN_COPY) {
        if (dst != src)
            memcpy(dst, src, n * t->src->info->bytes);
        sums->nonzero += nonzero;
        add_errors(s->w, s->w, n, sums);
        return 0;
    }
    rc = t->kind == PLAN_TERNARY ? fit_span(piece, first, n, src, s, sums, err)
                                 : convert_span(t, first, s->w, n, dst, err);
    if (rc != 0)
        return rc;
    if (t->kind == PLAN_TERNARY)
        codec_pack(t->type->id, s->codes, s->scales, dst, n);
    s->kernels->dequantize(t->type->id, dst, s->decoded, n);
    if (t->kind == PLAN_TERNARY && (rc = check_span(t, first, n, s, sums, err)) != 0)
        return rc;
    sums->nonzero += count_nonzero(s->decoded, n);
    add_errors(s->w, s->decoded, n, sums);
    if (t->importance)
        add_weighted_errors(t, first, s->w, s->decoded, n, sums);
    return 0;
}

int encode_piece(const struct encode_piece *piece, struct encode_scratch *scratch, struct encode_sums *sums,
                 struct error *err)
{
    int rc = 0;
    *sums = (struct encode_sums){ .weights = piece->n };
    for (uint64_t at = 0, n; at < piece->n && rc == 0; at += n) {
        n = piece->n - at < SPAN ? piece->n - at : SPAN;
        rc = encode_span(piece, at, n, scratch, sums, err);
    }
    return rc;
}
