/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format/manifest.h"

#include <string.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/text.h"

static const uint64_t max_bytes = 64 << 20;

/* Undo sha256sum's escapes in place; -1 for an escape it does not write. */
static int unescape(char *s, size_t *n)
{
    size_t out = 0;
    for (size_t i = 0; i < *n; i++) {
        char c = s[i];
        if (c == '\\') {
            if (++i == *n)
                return -1;
            c = s[i] == 'n' ? '\n' : s[i] == 'r' ? '\r' : s[i] == '\\' ? '\\' : 0;
            if (!c)
                return -1;
        }
        s[out++] = c;
    }
    *n = out;
    return 0;
}

/* One line without its newline: 1 an entry, 0 none, or ERROR_NOMEM. */
static int parse_line(struct manifest *m, char *s, size_t n, struct manifest_entry *e, struct error *err)
{
    bool escaped = n && *s == '\\';
    if (escaped)
        s++, n--;
    if (n && s[n - 1] == '\r')
        n--;
    if (n < 67 || s[64] != ' ' || (s[65] != ' ' && s[65] != '*'))
        return 0;
    s[64] = 0; /* the digits as a string of their own */
    if (digest_unhex(s, e->sha256, sizeof e->sha256))
        return 0;
    s += 66, n -= 66;
    if (escaped && unescape(s, &n))
        return 0;
    if (!(e->name = arena_strndup(&m->arena, s, n, err)))
        return ERROR_NOMEM;
    return 1;
}

static bool blank(const char *s, size_t n)
{
    while (n && (*s == ' ' || *s == '\t' || *s == '\r'))
        s++, n--;
    return !n || *s == '#';
}

int manifest_read(struct manifest *m, const char *path, struct error *err)
{
    char *text = NULL, *next, quoted[512];
    size_t n, cap = 0, line = 0;
    *m = (struct manifest){ 0 };
    text_quote(quoted, sizeof quoted, path, strlen(path));
    int rc = file_read_all(path, max_bytes, &text, &n, err);
    if (rc)
        goto out;
    if (memchr(text, 0, n)) {
        rc = error_set(err, ERROR_FORMAT, "%s: binary data, no checksum list", quoted);
        goto out;
    }
    for (char *s = text; s < text + n; s = next) {
        char *end = memchr(s, '\n', n - (size_t)(s - text));
        size_t len = (size_t)((end ? end : text + n) - s);
        struct manifest_entry e = { .line = ++line };
        next = s + len + (end != NULL);
        if (blank(s, len))
            continue;
        if ((rc = parse_line(m, s, len, &e, err)) < 0)
            goto out;
        if (!rc) {
            m->n_malformed++;
            continue;
        }
        if ((rc = mem_reserve((void **)&m->entries, &cap, m->n + 1, sizeof e, "checksum entries", err)))
            goto out;
        m->entries[m->n++] = e;
    }
    rc = m->n ? 0
              : error_set(err, ERROR_FORMAT, "%s: no checksum lines (expected \"SHA256  NAME\"; %zu malformed)", quoted,
                          m->n_malformed);
out:
    mem_free(text);
    if (rc)
        manifest_free(m);
    return rc;
}

void manifest_free(struct manifest *m)
{
    mem_free(m->entries);
    arena_free(&m->arena);
    *m = (struct manifest){ 0 };
}

int manifest_line(struct buffer *b, const uint8_t sha256[32], const char *name, struct error *err)
{
    char hex[65];
    int rc = 0;
    digest_hex(sha256, 32, hex);
    if (strpbrk(name, "\\\n\r"))
        rc = buffer_append(b, "\\", 1, err);
    if (!rc)
        rc = buffer_printf(b, err, "%s  ", hex);
    for (const char *s = name; *s && !rc; s++) {
        const char *escape = *s == '\\' ? "\\\\" : *s == '\n' ? "\\n" : *s == '\r' ? "\\r" : NULL;
        rc = escape ? buffer_append(b, escape, 2, err) : buffer_append(b, s, 1, err);
    }
    return rc ? rc : buffer_append(b, "\n", 1, err);
}
