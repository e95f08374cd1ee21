/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format/sniff.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/util/bytes.h"

/* The word after `field` at the start of a line of the pointer file, or "?". */
static void lfs_field(const char *text, const char *field, char *out, size_t cap)
{
    snprintf(out, cap, "?");
    const char *line = text, *end;
    while (strncmp(line, field, strlen(field)) && (end = strchr(line, '\n')))
        line = end + 1;
    if (!strncmp(line, field, strlen(field))) {
        const char *word = line + strlen(field);
        size_t n = 0;
        while (word[n] && (isalnum((unsigned char)word[n]) || word[n] == ':') && n + 1 < cap)
            n++;
        snprintf(out, cap, "%.*s", (int)n, word);
    }
}

static bool begins(const char *text, const char *prefix)
{
    return !strncasecmp(text, prefix, strlen(prefix));
}

bool sniff_bytes(const void *bytes, size_t n, char *buf, size_t cap)
{
    char text[SNIFF_BYTES + 1];
    if (n > SNIFF_BYTES)
        n = SNIFF_BYTES;
    memcpy(text, bytes, n);
    text[n] = 0;
    const char *p = text + (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3) ? 3 : 0);
    p += strspn(p, " \t\r\n");

    if (begins(p, "version https://git-lfs")) {
        char oid[96], size[32];
        lfs_field(text, "oid ", oid, sizeof oid);
        lfs_field(text, "size ", size, sizeof size);
        snprintf(buf, cap, "a Git LFS pointer, the data was never fetched (oid %s, %s bytes): run git lfs pull", oid,
                 size);
    } else if (begins(p, "<!doctype html") || begins(p, "<html") || begins(p, "<head")) {
        snprintf(buf, cap, "an HTML page (a failed download), not a model");
    } else if (begins(p, "<?xml")) {
        snprintf(buf, cap, "an XML page (a failed download), not a model");
    } else if (n >= 4 && !memcmp(text, "PK\3\4", 4)) {
        snprintf(buf, cap, "a zip archive (PyTorch pickle?): re-save the weights as safetensors");
    } else if (n >= 2 && text[0] == (char)0x80 && text[1] >= 2 && text[1] <= 5) {
        snprintf(buf, cap, "a Python pickle: re-save the weights as safetensors");
    } else if (n >= 2 && !memcmp(text, "\x1f\x8b", 2)) {
        snprintf(buf, cap, "a gzip file: unpack it first");
    } else if (n >= 4 && !memcmp(text, "GGUF", 4)) {
        snprintf(buf, cap, "a GGUF file");
    } else if (n >= 9 && text[8] == '{' && bytes_get_u64(text) < 1u << 30) {
        snprintf(buf, cap, "a safetensors file");
    } else if (n >= 3 && (*p == '{' || *p == '[')) {
        snprintf(buf, cap, "JSON text");
    } else {
        return false;
    }
    return true;
}
