/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/structure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/gguf.h"
#include "base/format/stats.h"
#include "base/util/json.h"
#include "base/util/text.h"
#include "verify/checksum.h"
#include "verify/codes.h"
#include "verify/pass.h"
#include "verify/rotation.h"

static bool str_is(struct gguf_str s, const char *word)
{
    return s.n == strlen(word) && !memcmp(s.s, word, s.n);
}

/* general.type and general.architecture. Returns true for statistics. */
static bool check_identity(const struct gguf *g, struct report *r)
{
    struct gguf_str type = { "model", 5 }, arch;
    struct error err = { 0 };
    uint32_t n_parts = 0, part = 0;

    if (gguf_opt_str(g, "general.type", &type, &err))
        report_error(r, &err);
    if (str_is(type, "imatrix"))
        return true;
    if (gguf_need_str(g, "general.architecture", &arch, &err))
        report_error(r, &err);
    else if (!arch.n)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, "general.architecture", "is empty");
    if (!gguf_opt_u32(g, "split.count", &n_parts, NULL) && !gguf_opt_u32(g, "split.no", &part, NULL) && n_parts > 1)
        report_add(r, REPORT_NOTE, 0, NULL, "part %" PRIu32 " of %" PRIu32, part + 1, n_parts);
    return false;
}

/* Statistics have their own rules: the reader of base/format/stats.h knows them all. */
static void check_stats(const char *path, struct report *r)
{
    struct stats s;
    struct error err = { 0 };

    r->kind = "statistics";
    if (stats_read(&s, path, &err)) {
        report_error(r, &err);
        return;
    }
    report_add(r, REPORT_NOTE, 0, NULL, "importance statistics of %zu matrices, %" PRIu32 " chunks of %" PRIu32, s.n,
               s.chunk_count, s.chunk_size);
    stats_free(&s);
}

/* Tensors that do not lie within the file: the first is named with the size the file should have. True when
 * there are any. */
static bool check_extent(const struct gguf *g, struct report *r)
{
    const struct gguf_tensor *first = NULL;
    uint64_t end = g->data_offset;
    size_t n = 0;

    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        if (t->offset + t->bytes > end)
            end = t->offset + t->bytes;
        if (t->offset + t->bytes <= g->file.size)
            continue;
        n++;
        if (!first)
            first = t;
    }
    if (first)
        report_add(r, REPORT_ERROR, ERROR_FORMAT, first->name,
                   "truncated: its data is bytes %" PRIu64 " to %" PRIu64 ", the file has %" PRIu64
                   "; expected size at least %" PRIu64 ", %zu of %zu tensors are incomplete",
                   first->offset, first->offset + first->bytes, g->file.size, end, n, g->n_tensors);
    return first != NULL;
}

/* Header padding, and what follows the last tensor. Files that record digests promise zeros and an exact length
 * (docs/format.md section 1); in others the same is unusual, but harmless. */
static int check_slack(const struct gguf *g, bool recorded, bool cut, struct report *r, struct error *err)
{
    enum report_level level = recorded ? REPORT_ERROR : REPORT_WARNING;
    uint64_t from = 24, end = g->data_offset, bad;
    int code;

    if (g->n_kv)
        from = g->kv[g->n_kv - 1].offset + g->kv[g->n_kv - 1].value_bytes;
    for (size_t i = 0; i < g->n_tensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        from += 8 + strlen(t->name) + 4 + 8 * (uint64_t)t->n_dims + 4 + 8;
    }
    if ((code = pass_find_nonzero(&g->file, from, g->data_offset < g->file.size ? g->data_offset : g->file.size, &bad,
                                  err)))
        return code;
    if (bad != UINT64_MAX)
        report_add(r, level, ERROR_FORMAT, NULL, "header padding: byte %" PRIu64 " is not zero", bad);
    if (g->n_tensors) {
        const struct gguf_tensor *t = &g->tensors[g->n_tensors - 1];
        if (!mem_align_up(t->offset - g->data_offset + t->bytes, g->alignment, &end) ||
            !mem_add(end, g->data_offset, &end))
            end = UINT64_MAX;
    }
    if (g->file.size > end)
        report_add(r, level, ERROR_FORMAT, NULL,
                   "%" PRIu64 " trailing bytes after the last tensor: expected size %" PRIu64 ", found %" PRIu64,
                   g->file.size - end, end, g->file.size);
    if (g->file.size < end && !cut)
        report_add(r, level, ERROR_FORMAT, NULL,
                   "the padding after the last tensor is cut short: expected size %" PRIu64 ", found %" PRIu64, end,
                   g->file.size);
    return 0;
}

/* Which readers open the file, from the types in it and the rotation. */
static void note_readers(const struct gguf *g, bool rotated, struct report *r)
{
    const struct block_info *most = NULL, *strict = NULL, *b;
    uint64_t best = 0;
    bool prism = false;

    for (unsigned k = 0; (b = block_at(k)); k++) {
        uint64_t sum = 0;
        bool fork = b->id == BLOCK_PQ2_0 || b->id == BLOCK_PTQ1_0;
        for (size_t i = 0; i < g->n_tensors; i++)
            sum += g->tensors[i].info == b ? g->tensors[i].n_elements : 0;
        if (!sum)
            continue;
        prism |= fork;
        if (fork || !strict)
            strict = b;
        if (sum > best) {
            best = sum;
            most = b;
        }
    }
    if (!most)
        return;
    report_add(r, REPORT_NOTE, 0, NULL, "mostly %s", most->name);
    if (rotated) {
        report_add(r, REPORT_NOTE, 0, NULL,
                   "weights are rotated (prism.hadamard keys); opens in the Prism fork of llama.cpp only");
        if (!prism)
            report_add(r, REPORT_WARNING, 0, NULL,
                       "rotated weights in types that stock llama.cpp opens: there it prints "
                       "nonsense, only the Prism fork of llama.cpp knows the prism.hadamard keys");
        return;
    }
    if (prism)
        report_add(r, REPORT_NOTE, 0, NULL, "no prism.hadamard keys: weights are not rotated");
    report_add(r, REPORT_NOTE, 0, NULL, "opens in %s", strict->readers ? strict->readers : "no reader known");
}

static int put_tensor_fact(const struct gguf_tensor *t, const struct pass_tensor *p, bool first, struct buffer *b,
                           struct error *err)
{
    char hex[65];
    int code = buffer_printf(b, err, "%s{\"name\":", first ? "" : ",");
    if (!code)
        code = json_put_str(b, t->name, strlen(t->name), err);
    if (!code)
        code = buffer_printf(b, err, ",\"type\":\"%s\",\"shape\":[%" PRIu64, t->info->name, t->ne[0]);
    for (uint32_t d = 1; d < t->n_dims && !code; d++)
        code = buffer_printf(b, err, ",%" PRIu64, t->ne[d]);
    digest_hex(p->digest.sha256, 32, hex);
    if (!code)
        code = buffer_printf(b, err, "],\"bytes\":%" PRIu64 ",\"sha256\":\"%s\",\"xxh3\":\"%016" PRIx64 "\"", t->bytes,
                             hex, p->digest.xxh3);
    if (!code && p->decoded && t->info->ternary)
        code = buffer_printf(b, err, ",\"zeros\":%" PRIu64 ",\"subnormal_scales\":%" PRIu64, p->check.zeros,
                             p->check.scale_subnormal);
    return code ? code : buffer_append(b, "}", 1, err);
}

static int put_facts(const struct gguf *g, const struct pass_tensor *results, const struct checksum *c,
                     struct report *r, struct error *err)
{
    bool first = true;
    int code = buffer_printf(&r->facts, err, ",\"bytes\":%" PRIu64 ",\"digests\":\"%s\",\"tensors\":[", g->file.size,
                             c->recorded  ? "compared"
                             : c->present ? "unusable"
                                          : "not recorded");
    for (size_t i = 0; i < g->n_tensors && !code; i++) {
        if (!results[i].read)
            continue;
        code = put_tensor_fact(&g->tensors[i], &results[i], first, &r->facts, err);
        first = false;
    }
    return code ? code : buffer_printf(&r->facts, err, "]");
}

/* Read the data of the wanted tensors and report on each. */
static int check_data(const struct gguf *g, const struct verify *v, const struct checksum *c, struct report *r,
                      struct error *err)
{
    struct pass_tensor *results = mem_zalloc(g->n_tensors, sizeof *results, "tensor results", err);
    unsigned which = c->recorded || v->facts ? DIGEST_SHA256 | DIGEST_XXH3 : 0;
    size_t n_blind = 0;
    int code;

    if (!results)
        return ERROR_NOMEM;
    for (size_t i = 0; i < g->n_tensors; i++)
        results[i].wanted = g->tensors[i].offset + g->tensors[i].bytes <= g->file.size &&
                            (!v->tensor || !strcmp(v->tensor, g->tensors[i].name));
    if ((code = pass_run(g, results, which, v->pool, v->progress, err)))
        goto out;
    checksum_compare(c, g, results, r);
    for (size_t i = 0; i < g->n_tensors; i++) {
        if (!results[i].read)
            continue;
        if (results[i].decoded)
            codes_report(&g->tensors[i], &results[i].check, c->present, r);
        n_blind += !results[i].decoded;
        if (results[i].bad_padding != UINT64_MAX)
            report_add(r, c->present ? REPORT_ERROR : REPORT_WARNING, ERROR_FORMAT, g->tensors[i].name,
                       "padding after it: byte %" PRIu64 " is not zero", results[i].bad_padding);
    }
    if (n_blind)
        report_add(r, REPORT_NOTE, 0, NULL, "values of %zu tensors were not looked into (types without a decoder)",
                   n_blind);
    if (v->facts)
        code = put_facts(g, results, c, r, err);
out:
    mem_free(results);
    return code;
}

static void note_size(const struct gguf *g, struct report *r)
{
    char size[32];
    report_add(r, REPORT_NOTE, 0, NULL, "%zu tensors, %s", g->n_tensors, text_bytes(size, sizeof size, g->file.size));
}

static int check_open_file(const struct gguf *g, const struct verify *v, struct report *r, struct error *err)
{
    struct checksum c = { 0 };
    bool stats = check_identity(g, r), rotated = false, cut;
    int code = 0;

    if (v->tensor && !gguf_tensor(g, v->tensor)) {
        report_add(r, REPORT_ERROR, ERROR_MISSING, v->tensor, "the file has no such tensor");
        return 0;
    }
    note_size(g, r);
    if (v->plan_only)
        return 0;
    cut = check_extent(g, r);
    if (stats && !r->n_errors)
        check_stats(r->path, r);
    else if (!stats) {
        rotated = rotation_check(g, r);
        if ((code = checksum_read(&c, g, r, err)))
            goto out;
    }
    if ((code = check_slack(g, c.present, cut, r, err)) || (code = check_data(g, v, &c, r, err)))
        goto out;
    if (stats)
        goto out;
    if (!c.present || (c.recorded && !r->n_errors))
        report_add(r, REPORT_NOTE, 0, NULL, c.present ? "digests agree" : "digests are not recorded");
    note_readers(g, rotated, r);
out:
    checksum_free(&c);
    return code;
}

int structure_check(const char *path, const struct verify *v, struct report *r, struct error *err)
{
    struct gguf g = { 0 };
    struct error bad = { 0 };
    int code;

    r->kind = "gguf";
    code = gguf_open(&g, path, GGUF_ALLOW_TRUNCATED | FILE_SEQUENTIAL, &bad);
    if (!code)
        code = check_open_file(&g, v, r, &bad);
    gguf_close(&g);
    return report_settle(r, code, &bad, err);
}
