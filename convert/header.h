/* SPDX-License-Identifier: Apache-2.0 */
/* The key/values of the file, in llama.cpp's order, and the tensor list. */
#ifndef TERNPACK_CONVERT_HEADER_H
#define TERNPACK_CONVERT_HEADER_H

#include "base/format/gguf.h"
#include "convert/config.h"
#include "convert/metadata.h"
#include "convert/notes.h"
#include "convert/plan.h"
#include "convert/vocab.h"

/* dir: the checkpoint's folder (for the name and generation_config.json). */
int header_put(struct gguf_writer *w, const char *dir, const struct config *c, const struct plan *p,
               const struct vocab *v, const struct metadata *user, struct notes *notes, struct error *err);

#endif
