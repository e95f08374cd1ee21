/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.json of a Hugging Face checkpoint, read strictly: every number is range-checked, every member is known to be
 * used, known to be harmless (with the reason), or listed as unknown; a member that would change the arithmetic in a
 * way the converted file cannot express is refused by name.
 */
#ifndef TERNPACK_CONVERT_CONFIG_H
#define TERNPACK_CONVERT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/error.h"
#include "base/util/json.h"
#include "convert/notes.h"

struct family;

enum config_status { CONFIG_USED, CONFIG_IGNORED, CONFIG_UNKNOWN };

struct config_key { /* one member of config.json, in file order */
    const char *name;
    enum config_status status;
    const char *why; /* of an ignored one */
};

enum config_rope { CONFIG_ROPE_DEFAULT, CONFIG_ROPE_LINEAR, CONFIG_ROPE_YARN, CONFIG_ROPE_LLAMA3 };

struct config_scaling {
    enum config_rope type;
    double factor;
    uint32_t orig_ctx;                           /* yarn, llama3 */
    double low_freq, high_freq;                  /* llama3 */
    bool has_attn, has_beta_fast, has_beta_slow; /* yarn */
    double attn_factor, beta_fast, beta_slow;
};

enum config_tied { CONFIG_TIED_UNSAID, CONFIG_UNTIED, CONFIG_TIED };

struct config {
    struct json_doc *doc;
    const struct family *family;
    const char *architecture; /* as the file spells it */
    const char *name_or_path; /* _name_or_path, or NULL */
    const char *stored_dtype; /* torch_dtype or dtype, or NULL; informative */
    uint32_t n_layer, n_ctx, n_embd, n_ff, n_head, n_head_kv, head_dim, n_vocab;
    double rope_theta, rms_eps;
    struct config_scaling rope;
    enum config_tied tied;
    struct config_key *keys;
    size_t n_keys;
};

/* Read DIR/config.json. Notes receive defaults that had to be assumed and the unknown members. On failure *c is closed.
 */
int config_open(struct config *c, const char *dir, struct notes *notes, struct error *err);
/* The same from text (tests, fuzzing); `name` starts error texts. */
int config_parse(struct config *c, const char *text, size_t n, const char *name, struct notes *notes,
                 struct error *err);
void config_close(struct config *c); /* accepts a zero struct */

#endif
