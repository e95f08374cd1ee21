/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util/bytes.h"
#include "base/util/digest.h"
#include "base/util/text.h"

enum { KNOWN_VERSION = 1 };

/* The lists that hold one element for each tensor. */
static const struct list {
    const char *key;
    enum gguf_type elem;
} lists[] = {
    { "ternpack.tensor.names", GGUF_STRING },
    { "ternpack.tensor.methods", GGUF_STRING },
    { "ternpack.tensor.xxh3", GGUF_U64 },
    { "ternpack.tensor.sha256", GGUF_STRING },
};
enum { LIST_NAMES, LIST_METHODS, LIST_XXH3, LIST_SHA256, N_LISTS };

static bool any_present(const struct gguf *g)
{
    for (int i = 0; i < N_LISTS; i++)
        if (gguf_find(g, lists[i].key))
            return true;
    return gguf_find(g, "ternpack.header_crc32") || gguf_find(g, "ternpack.version");
}

/* The version must be one we know before anything else of the set is looked at. */
static bool version_known(const struct gguf *g, struct report *r)
{
    struct error err = { 0 };
    uint32_t version = 0;

    if (gguf_need_u32(g, "ternpack.version", &version, &err)) {
        report_error(r, &err);
        return false;
    }
    if (version == KNOWN_VERSION)
        return true;
    report_add(r, REPORT_ERROR, ERROR_UNSUPPORTED, "ternpack.version",
               "version %" PRIu32 " is not known to this program (it knows %d): the digests were not checked", version,
               KNOWN_VERSION);
    return false;
}

static bool find_lists(const struct gguf *g, const struct gguf_kv *kv[N_LISTS], struct report *r)
{
    bool good = true;
    for (int i = 0; i < N_LISTS; i++) {
        struct error err = { 0 };
        if (gguf_need_array(g, lists[i].key, lists[i].elem, &kv[i], &err)) {
            report_error(r, &err);
            good = false;
        } else if (kv[i]->count != g->n_tensors) {
            report_add(r, REPORT_ERROR, ERROR_MISMATCH, lists[i].key,
                       "expected %zu elements, one for each tensor, found %" PRIu64, g->n_tensors, kv[i]->count);
            good = false;
        }
    }
    return good;
}

static bool check_names(const struct gguf *g, const struct gguf_kv *names, struct report *r)
{
    struct gguf_str s;
    char quoted[128];
    size_t cursor = 0;

    for (size_t i = 0; gguf_next_str(names, &cursor, &s); i++) {
        const char *name = g->tensors[i].name;
        if (s.n == strlen(name) && !memcmp(s.s, name, s.n))
            continue;
        report_add(r, REPORT_ERROR, ERROR_MISMATCH, "ternpack.tensor.names", "element %zu: expected %s, found %s", i,
                   name, text_quote(quoted, sizeof quoted, s.s, s.n));
        return false;
    }
    return true;
}

static bool read_digests(struct checksum *c, const struct gguf *g, const struct gguf_kv *kv[N_LISTS], struct report *r)
{
    struct gguf_str s;
    char hex[65], quoted[128];
    size_t cursor = 0;

    for (size_t i = 0; gguf_next_str(kv[LIST_SHA256], &cursor, &s); i++) {
        bool good = s.n == 64;
        if (good) {
            memcpy(hex, s.s, 64);
            hex[64] = 0;
            good = !digest_unhex(hex, c->recorded[i].sha256, 32);
        }
        if (!good) {
            report_add(r, REPORT_ERROR, ERROR_FORMAT, "ternpack.tensor.sha256",
                       "element %zu (%s): expected 64 hexadecimal digits, found \"%s\"", i, g->tensors[i].name,
                       text_quote(quoted, sizeof quoted, s.s, s.n));
            return false;
        }
        c->recorded[i].xxh3 = bytes_get_u64(kv[LIST_XXH3]->value + 8 * i);
    }
    return true;
}

/* CRC-32 over [0, data_offset) with the value's own four bytes as zero. */
static int check_header(const struct gguf *g, struct report *r, struct error *err)
{
    const struct gguf_kv *kv = gguf_find(g, "ternpack.header_crc32");
    static const uint8_t zeros[4];
    struct digest *d = NULL;
    struct digest_result found;
    struct error bad = { 0 };
    uint32_t recorded;
    int code;

    if (!kv || kv->type != GGUF_U32) {
        gguf_need_u32(g, "ternpack.header_crc32", &recorded, &bad);
        if (!bad.code)
            error_set(&bad, ERROR_FORMAT, "ternpack.header_crc32: expected u32, found %s", gguf_type_name(kv->type));
        report_error(r, &bad);
        return 0;
    }
    recorded = bytes_get_u32(kv->value);
    if ((code = digest_open(&d, DIGEST_CRC32, err)))
        return code;
    digest_update(d, g->header, kv->offset);
    digest_update(d, zeros, sizeof zeros);
    digest_update(d, g->header + kv->offset + 4, g->data_offset - kv->offset - 4);
    digest_result(d, &found);
    digest_close(d);
    if (found.crc32 != recorded)
        report_add(r, REPORT_ERROR, ERROR_MISMATCH, NULL,
                   "header: CRC-32 differs: expected %08" PRIx32 ", found %08" PRIx32, recorded, found.crc32);
    return 0;
}

int checksum_read(struct checksum *c, const struct gguf *g, struct report *r, struct error *err)
{
    const struct gguf_kv *kv[N_LISTS] = { NULL };

    memset(c, 0, sizeof *c);
    c->present = any_present(g);
    if (!c->present || !version_known(g, r))
        return 0;
    if (find_lists(g, kv, r) && check_names(g, kv[LIST_NAMES], r)) {
        c->recorded = mem_zalloc(g->n_tensors, sizeof *c->recorded, "recorded digests", err);
        if (!c->recorded)
            return ERROR_NOMEM;
        if (!read_digests(c, g, kv, r)) {
            mem_free(c->recorded);
            c->recorded = NULL;
        }
    }
    return check_header(g, r, err);
}

void checksum_free(struct checksum *c)
{
    mem_free(c->recorded);
    memset(c, 0, sizeof *c);
}

void checksum_compare(const struct checksum *c, const struct gguf *g, const struct pass_tensor *results,
                      struct report *r)
{
    for (size_t i = 0; c->recorded && i < g->n_tensors; i++) {
        const struct digest_result *found = &results[i].digest;
        char want_hex[65], found_hex[65];
        if (!results[i].read)
            continue;
        if (memcmp(found->sha256, c->recorded[i].sha256, 32)) {
            digest_hex(c->recorded[i].sha256, 32, want_hex);
            digest_hex(found->sha256, 32, found_hex);
            report_add(r, REPORT_ERROR, ERROR_MISMATCH, g->tensors[i].name, "SHA-256 differs: expected %s, found %s",
                       want_hex, found_hex);
        } else if (found->xxh3 != c->recorded[i].xxh3) {
            report_add(r, REPORT_ERROR, ERROR_MISMATCH, g->tensors[i].name,
                       "XXH3 differs although SHA-256 agrees: expected %016" PRIx64 ", found %016" PRIx64,
                       c->recorded[i].xxh3, found->xxh3);
        }
    }
}
