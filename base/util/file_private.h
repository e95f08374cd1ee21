/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by file.c, output.c and writer.c. */
#ifndef TERNPACK_BASE_UTIL_FILE_PRIVATE_H
#define TERNPACK_BASE_UTIL_FILE_PRIVATE_H

#include <string.h>

#include "base/util/error.h"
#include "base/util/text.h"

/* A path as it may stand in an error line; lives until the end of the enclosing block. */
enum { SHOWN_CAP = 1024 };
#define SHOWN(path) text_quote((char[SHOWN_CAP]){ 0 }, SHOWN_CAP, path, strlen(path))

/* Where writing to `out` really goes: `out` itself, or what the symbolic link `out` points to. The caller mem_free()s.
 * A link that leads nowhere is ERROR_IO. */
int file_resolve_output(const char *out, char **target, struct error *err);
/* Folder part of a path ("." when it has none). The caller mem_free()s. */
char *file_folder(const char *path, struct error *err);
/* path + ".partial". The caller mem_free()s. */
char *file_partial(const char *path, struct error *err);

#endif
