/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of data/hostile/bad.tsv against a reader of the library. */
#ifndef TERNPACK_TESTS_HOSTILE_H
#define TERNPACK_TESTS_HOSTILE_H

#include <stdbool.h>

#include "base/util/error.h"

struct hostile_row {
    char file[128], kind[32], expected[32], names[128]; /* names: alternatives, '|' between them */
};
/* Rows of one kind ("safetensors", "gguf", "hf_dir"); returns how many fit into rows[cap]. */
int hostile_rows(const char *kind, struct hostile_row *rows, int cap);
bool hostile_may(const struct hostile_row *r, const char *outcome); /* "ok", "warn", "error" */
/* Fails the test unless `rc` and the text are what the row says. The path itself does not count as naming the fault. */
void hostile_judge(const struct hostile_row *r, const char *path, int rc, const struct error *err);

#endif
