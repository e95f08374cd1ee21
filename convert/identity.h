/* SPDX-License-Identifier: Apache-2.0 */
/*
 * general.name, .basename, .size_label and so on, guessed from the name of the checkpoint ("Org/Name-1.7B-Instruct-v2"
 * or the folder's name) by the rules of llama.cpp's converter, so that both give the same keys. docs/convert.md states
 * the rules.
 */
#ifndef TERNPACK_CONVERT_IDENTITY_H
#define TERNPACK_CONVERT_IDENTITY_H

#include <stdint.h>

#include "base/util/error.h"
#include "base/util/mem.h"

struct identity { /* NULL: not known */
    const char *name, *version, *organization, *finetune, *basename, *size_label;
    struct arena arena;
};

/* hub_id: _name_or_path of config.json or NULL; folder: last component of the checkpoint's path; n_params: 0 unknown.
 */
int identity_guess(struct identity *id, const char *hub_id, const char *folder, uint64_t n_params, struct error *err);
void identity_free(struct identity *id);

#endif
