/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text a model is calibrated on: one or more files, each plain or gzip (told by content), UTF-8, a byte-order mark
 * skipped; or JSON Lines, of which one string member is taken. Files are put one after the other, each ending in a
 * newline; members of JSON Lines are put apart by an empty line. One newline at the very end is not text, as in
 * llama-imatrix.
 */
#ifndef TERNPACK_CALIB_CORPUS_H
#define TERNPACK_CALIB_CORPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/mem.h"
#include "runtime/tokenizer.h"

struct corpus {
    struct buffer text;
    struct buffer names; /* of the files, without folders, ", " between them; UTF-8 */
    char sha256[65];     /* of the unpacked files, one after the other */
};

/* A file that cannot be read, is cut short, packs more than 4 GiB, or is not UTF-8 (with the byte offset in the
 * unpacked text; when it looks like another kind of file, that too) is an error; so is a corpus without text. */
int corpus_read(struct corpus *c, const char *const *paths, size_t n, const char *jsonl_field, struct error *err);
void corpus_free(struct corpus *c);

/* Token ids of the text, BOS in front when the model asks for it. wanted != 0: no more are needed, so only as much of a
 * long text is looked at as surely gives the same first `wanted` ids; *all tells whether the list is complete. */
int corpus_tokens(const struct corpus *c, const struct tokenizer *tok, bool parse_special, size_t wanted,
                  struct token_list *out, bool *all, struct error *err);

#endif
