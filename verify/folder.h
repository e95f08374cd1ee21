/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: one file, or a Hugging Face folder with its index, configuration, tokenizer and checksum list. */
#ifndef TERNPACK_VERIFY_FOLDER_H
#define TERNPACK_VERIFY_FOLDER_H

#include "verify/report.h"
#include "verify/verify.h"

/* Header, then NaN, infinity and out-of-F16-range values of every float tensor (warnings). */
int folder_check_file(const char *path, const struct verify *v, struct report *r, struct error *err);

/* config.json and tokenizer files (present, JSON, not LFS pointers), index against shards, headers, SHA256SUMS when it
 * is there (missing, bad and unlisted files told apart), values as above. What the configuration means is
 * tern-convert's to judge. */
int folder_check(const char *dir, const struct verify *v, struct report *r, struct error *err);

#endif
