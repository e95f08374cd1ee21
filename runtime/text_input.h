/* SPDX-License-Identifier: Apache-2.0 */
/* A text file as tokens, with what makes its numbers comparable: digest, count, BOS. */
#ifndef TERNPACK_RUNTIME_TEXT_INPUT_H
#define TERNPACK_RUNTIME_TEXT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/util/error.h"
#include "runtime/tokenizer.h"

struct text_input {
    const char *path; /* borrowed */
    size_t bytes;     /* of the file */
    char sha256[65];  /* of the file's bytes */
    struct token_list ids;
    bool bos; /* ids start with BOS */
};

/* A byte-order mark and one newline at the end are not text; BOS goes in front when the model asks for it. An empty
 * file, more than 4 GiB or invalid UTF-8 is ERROR_FORMAT. */
int text_input_open(struct text_input *t, const struct tokenizer *tok, const char *path, bool parse_special,
                    struct error *err);
void text_input_close(struct text_input *t); /* accepts a zero struct */

#endif
