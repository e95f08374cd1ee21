/* SPDX-License-Identifier: Apache-2.0 */
/* Small checkpoint folders made on the spot. */
#ifndef TERNPACK_TESTS_CONVERT_FOLDER_H
#define TERNPACK_TESTS_CONVERT_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/format/safetensors.h"
#include "convert/config.h"

struct folder_tensor {
    const char *name;
    const char *dtype;   /* "F32", "F16", "BF16", "I64" */
    uint64_t rows, cols; /* cols 0: one dimension */
    const void *data;    /* NULL: a byte pattern made from the name */
};

/* A llama of one layer: hidden 8, two heads of 4, one kv head, ff 8, vocab 8, tied; and its eleven tensors in F16. */
extern const char folder_config[];
enum { FOLDER_N = 11 };
extern const struct folder_tensor folder_tensors[FOLDER_N];

/* Write DIR/config.json (when config is not NULL) and DIR/NAME with these tensors; makes DIR. */
void folder_write(const char *dir, const char *name, const char *config, const struct folder_tensor *t, size_t n);
void folder_text(const char *dir, const char *name, const char *text);
/* Parse `text` as config.json; fails the test when that fails. Notes are dropped. */
void folder_parse(struct config *c, const char *text);

#endif
