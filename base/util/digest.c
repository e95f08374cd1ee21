/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util/digest.h"

#include <openssl/evp.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>

#include "base/util/file.h"
#include "base/util/mem.h"
#include "base/util/parallel.h"

/* Init, update and final of a fetched SHA-256 context fail only for lack of memory, which open() has already spent. */
struct digest {
    unsigned which;
    EVP_MD_CTX *sha, *sha_copy;
    XXH3_state_t *xxh;
    uLong crc;
};

int digest_open(struct digest **out, unsigned which, struct error *err)
{
    *out = NULL;
    struct digest *d = mem_zalloc(1, sizeof *d, "digest", err);
    if (!d)
        return ERROR_NOMEM;
    d->which = which;
    if (which & DIGEST_SHA256) {
        d->sha = EVP_MD_CTX_new();
        d->sha_copy = EVP_MD_CTX_new();
        if (!d->sha || !d->sha_copy || EVP_DigestInit_ex(d->sha, EVP_sha256(), NULL) != 1 ||
            EVP_MD_CTX_copy_ex(d->sha_copy, d->sha) != 1) {
            digest_close(d);
            return error_set(err, ERROR_INTERNAL, "libcrypto offers no SHA-256");
        }
    }
    if (which & DIGEST_XXH3) {
        d->xxh = XXH3_createState();
        if (!d->xxh) {
            digest_close(d);
            return error_set(err, ERROR_NOMEM, "out of memory: XXH3 state");
        }
    }
    digest_reset(d);
    *out = d;
    return 0;
}

void digest_reset(struct digest *d)
{
    if (d->sha)
        EVP_DigestInit_ex(d->sha, EVP_sha256(), NULL);
    if (d->xxh)
        XXH3_64bits_reset(d->xxh);
    d->crc = crc32_z(0, NULL, 0);
}

void digest_update(struct digest *d, const void *bytes, size_t n)
{
    enum { SLICE = 65536 }; /* the second digest then finds the bytes in the cache */
    const unsigned char *p = bytes;
    while (n > 0) {
        size_t part = n < SLICE ? n : SLICE;
        if (d->sha)
            EVP_DigestUpdate(d->sha, p, part);
        if (d->xxh)
            XXH3_64bits_update(d->xxh, p, part);
        if (d->which & DIGEST_CRC32)
            d->crc = crc32_z(d->crc, p, part);
        p += part;
        n -= part;
    }
}

void digest_result(struct digest *d, struct digest_result *out)
{
    memset(out, 0, sizeof *out);
    if (d->sha) {
        EVP_MD_CTX_copy_ex(d->sha_copy, d->sha);
        EVP_DigestFinal_ex(d->sha_copy, out->sha256, NULL);
    }
    if (d->xxh)
        out->xxh3 = XXH3_64bits_digest(d->xxh);
    if (d->which & DIGEST_CRC32)
        out->crc32 = (uint32_t)d->crc;
}

void digest_close(struct digest *d)
{
    if (!d)
        return;
    EVP_MD_CTX_free(d->sha);
    EVP_MD_CTX_free(d->sha_copy);
    if (d->xxh)
        XXH3_freeState(d->xxh);
    mem_free(d);
}

int digest_bytes(unsigned which, const void *bytes, size_t n, struct digest_result *out, struct error *err)
{
    struct digest *d;
    int code = digest_open(&d, which, err);
    if (code)
        return code;
    digest_update(d, bytes, n);
    digest_result(d, out);
    digest_close(d);
    return 0;
}

int digest_file(unsigned which, const char *path, struct digest_result *out, struct error *err)
{
    enum { READ = 1 << 20 };
    struct file f = FILE_INIT;
    struct digest *d = NULL;
    void *buf = NULL;

    int code = file_open(&f, path, FILE_SEQUENTIAL, err);
    if (!code)
        code = digest_open(&d, which, err);
    if (!code && !(buf = mem_zalloc(READ, 1, "read buffer", err)))
        code = ERROR_NOMEM;
    for (uint64_t off = 0; !code && off < f.size;) {
        size_t part = f.size - off < READ ? (size_t)(f.size - off) : READ;
        code = interrupt_check(err);
        if (!code)
            code = file_read_at(&f, buf, part, off, err);
        if (!code)
            digest_update(d, buf, part);
        off += part;
    }
    if (!code)
        digest_result(d, out);
    mem_free(buf);
    digest_close(d);
    file_close(&f);
    return code;
}

void digest_hex(const uint8_t *bytes, size_t n, char *hex)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    hex[2 * n] = 0;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int digest_unhex(const char *hex, uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int high = nibble(hex[2 * i]), low = high < 0 ? -1 : nibble(hex[2 * i + 1]);
        if (low < 0)
            return ERROR_FORMAT;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return hex[2 * n] ? ERROR_FORMAT : 0;
}
