/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/corpus.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "base/format/sniff.h"
#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/json.h"
#include "base/util/parallel.h"
#include "base/util/text.h"

enum { PIECE = 1 << 20, JSON_DEPTH = 64 };
static const uint64_t max_text = (uint64_t)4 << 30;

static int append(struct buffer *b, const void *bytes, size_t n, struct error *err)
{
    if (n > max_text - b->len)
        return error_set(err, ERROR_FORMAT, "more than %" PRIu64 " bytes of text", max_text);
    return buffer_append(b, bytes, n, err);
}

static int read_plain(const struct file *f, uint8_t *piece, struct buffer *out, struct error *err)
{
    int rc = 0;
    for (uint64_t at = 0; at < f->size && !rc;) {
        size_t n = f->size - at < PIECE ? f->size - at : PIECE;
        if (!(rc = interrupt_check(err)) && !(rc = file_read_at(f, piece, n, at, err)))
            rc = append(out, piece, n, err);
        at += n;
    }
    return rc;
}

/* What is left of the input after the end of a gzip member: another member goes on, zeros are padding. */
static bool another_member(z_stream *z)
{
    while (z->avail_in && !*z->next_in)
        z->next_in++, z->avail_in--;
    return z->avail_in > 0 && inflateReset(z) == Z_OK;
}

/* One piece of packed input; *open: a member has begun and not ended. */
static int unpack_piece(z_stream *z, bool *open, uint8_t *unpacked, struct buffer *out, struct error *err)
{
    int rc = 0;
    while (!rc && (z->avail_in || *open)) {
        if (!*open && !another_member(z))
            break;
        *open = true;
        z->next_out = unpacked;
        z->avail_out = PIECE;
        int status = inflate(z, Z_NO_FLUSH);
        if (status == Z_BUF_ERROR) /* wants more input */
            break;
        if (status != Z_OK && status != Z_STREAM_END)
            return error_set(err, ERROR_FORMAT, "damaged gzip data at byte %lu: %s", z->total_in,
                             z->msg ? z->msg : "cannot be unpacked");
        *open = status != Z_STREAM_END;
        rc = append(out, unpacked, PIECE - z->avail_out, err);
        if (!z->avail_in && z->avail_out)
            break;
    }
    return rc;
}

static int read_gzip(const struct file *f, uint8_t *piece, struct buffer *out, struct error *err)
{
    z_stream z = { 0 };
    bool open = true;
    uint8_t *unpacked = mem_zalloc(1, PIECE, "unpacked text", err);
    if (!unpacked)
        return ERROR_NOMEM;
    int rc = inflateInit2(&z, 15 + 16) == Z_OK ? 0 : error_set(err, ERROR_NOMEM, "zlib cannot start");
    if (rc)
        goto out;
    for (uint64_t at = 0; at < f->size && !rc;) {
        size_t n = f->size - at < PIECE ? f->size - at : PIECE;
        if ((rc = interrupt_check(err)) || (rc = file_read_at(f, piece, n, at, err)))
            break;
        at += n;
        z.next_in = piece;
        z.avail_in = (uInt)n;
        rc = unpack_piece(&z, &open, unpacked, out, err);
    }
    if (!rc && open)
        rc = error_set(err, ERROR_FORMAT,
                       "truncated gzip data: the file ends after %" PRIu64 " bytes, the packed text does "
                       "not",
                       f->size);
    inflateEnd(&z);
out:
    mem_free(unpacked);
    return rc;
}

static int check_utf8(const struct buffer *b, struct error *err)
{
    char what[256];
    size_t good = b->len ? text_utf8_check(b->data, b->len) : 0;
    if (good == b->len)
        return 0;
    bool known = sniff_bytes(b->data, b->len, what, sizeof what);
    return error_set(err, ERROR_FORMAT, "not UTF-8 at byte %zu (0x%02x)%s%s", good, (unsigned char)b->data[good],
                     known ? ": this is " : "", known ? what : "");
}

static int take_line(struct buffer *text, const char *line, size_t n, const char *field, struct error *err)
{
    struct json_doc *doc = NULL;
    const char *s;
    int rc = json_parse(&doc, line, n, "JSON", JSON_DEPTH, 0, err);
    if (!rc)
        rc = json_need_str(doc, json_root(doc), field, &s, err);
    if (!rc && text->len)
        rc = append(text, "\n\n", 2, err);
    if (!rc)
        rc = append(text, s, strlen(s), err);
    json_free(doc);
    return rc;
}

static int take_lines(struct buffer *text, const char *s, size_t n, const char *field, struct error *err)
{
    int rc = 0;
    size_t line = 0;
    for (size_t at = 0; at < n && !rc;) {
        const char *end = memchr(s + at, '\n', n - at);
        size_t len = end ? (size_t)(end - s) - at : n - at;
        line++;
        if (len && strspn(s + at, " \t\r") < len && (rc = take_line(text, s + at, len, field, err)))
            error_prefix(err, "line %zu", line);
        at += len + 1;
        if (!rc && line % 1024 == 0)
            rc = interrupt_check(err);
    }
    return rc;
}

static int take_file(struct corpus *c, const char *path, const char *field, struct digest *digest, uint8_t *piece,
                     struct error *err)
{
    struct file f = FILE_INIT;
    struct buffer raw = { 0 };
    uint8_t magic[2] = { 0 };
    int rc = file_open(&f, path, FILE_SEQUENTIAL, err);
    if (rc)
        return rc;
    if (f.size >= 2 && (rc = file_read_at(&f, magic, 2, 0, err)))
        goto out;
    bool packed = magic[0] == 0x1f && magic[1] == 0x8b;
    if ((rc = packed ? read_gzip(&f, piece, &raw, err) : read_plain(&f, piece, &raw, err)))
        goto prefix;
    digest_update(digest, raw.len ? raw.data : "", raw.len);
    if ((rc = check_utf8(&raw, err)))
        goto prefix;
    size_t skip = raw.len >= 3 && !memcmp(raw.data, "\xef\xbb\xbf", 3) ? 3 : 0;
    if (raw.len == skip) {
        rc = error_set(err, ERROR_FORMAT, "empty: no text in it");
        goto prefix;
    }
    if (field)
        rc = take_lines(&c->text, raw.data + skip, raw.len - skip, field, err);
    else if (!(c->text.len && c->text.data[c->text.len - 1] != '\n') || !(rc = append(&c->text, "\n", 1, err)))
        rc = append(&c->text, raw.data + skip, raw.len - skip, err);
prefix:
    if (rc && rc != ERROR_INTERRUPTED && rc != ERROR_NOMEM && rc != ERROR_IO) {
        char q[512];
        error_prefix(err, "%s", text_quote(q, sizeof q, path, strlen(path)));
    }
out:
    buffer_free(&raw);
    file_close(&f);
    return rc;
}

int corpus_read(struct corpus *c, const char *const *paths, size_t n, const char *jsonl_field, struct error *err)
{
    struct digest *digest = NULL;
    struct digest_result result;
    uint8_t *piece = mem_zalloc(1, PIECE, "text", err);
    *c = (struct corpus){ 0 };
    int rc = piece ? digest_open(&digest, DIGEST_SHA256, err) : ERROR_NOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        char q[512];
        const char *name = file_basename(paths[i]);
        if (!(rc = take_file(c, paths[i], jsonl_field, digest, piece, err)))
            rc = buffer_printf(&c->names, err, "%s%s", i ? ", " : "", text_quote(q, sizeof q, name, strlen(name)));
    }
    if (!rc) {
        digest_result(digest, &result);
        digest_hex(result.sha256, sizeof result.sha256, c->sha256);
        if (c->text.len && c->text.data[c->text.len - 1] == '\n')
            c->text.data[--c->text.len] = 0;
        if (!c->text.len)
            rc = error_set(err, ERROR_FORMAT, "%s: no text in it", c->names.data);
    }
    digest_close(digest);
    mem_free(piece);
    if (rc)
        corpus_free(c);
    return rc;
}

void corpus_free(struct corpus *c)
{
    buffer_free(&c->text);
    buffer_free(&c->names);
    *c = (struct corpus){ 0 };
}

/* First place at or after `from` where a text may be cut without changing the tokens before: a single newline between
 * two characters that are neither white space nor control; no pre-tokenizer looks across it. Or the end. */
static size_t cut_after(const struct buffer *text, size_t from)
{
    const unsigned char *s = (const unsigned char *)text->data;
    for (size_t i = from < 2 ? 2 : from; i + 1 < text->len; i++)
        if (s[i] == '\n' && s[i - 1] > ' ' && s[i - 1] < 0x7f && s[i + 1] > ' ' && s[i + 1] < 0x7f)
            return i + 1;
    return text->len;
}

int corpus_tokens(const struct corpus *c, const struct tokenizer *tok, bool parse_special, size_t wanted,
                  struct token_list *out, bool *all, struct error *err)
{
    size_t bytes = c->text.len;
    if (wanted && wanted < bytes / 16)
        bytes = cut_after(&c->text, wanted * 8);
    for (;;) {
        out->n = 0;
        if (tokenizer_add_bos(tok) && tokenizer_bos(tok) >= 0) {
            int rc = mem_reserve((void **)&out->ids, &out->cap, 1, sizeof *out->ids, "token ids", err);
            if (rc)
                return rc;
            out->ids[out->n++] = tokenizer_bos(tok);
        }
        int rc = tokenizer_encode(tok, c->text.data, bytes, parse_special, out, err);
        if (rc)
            error_prefix(err, "%s", c->names.data);
        *all = bytes == c->text.len;
        if (rc || *all || out->n >= wanted)
            return rc;
        bytes = cut_after(&c->text, bytes < c->text.len / 2 ? bytes * 2 : c->text.len);
    }
}
