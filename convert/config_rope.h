/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary settings of config.json in both spellings: rope_theta + rope_scaling, or rope_parameters (transformers 5). */
#ifndef TERNPACK_CONVERT_CONFIG_ROPE_H
#define TERNPACK_CONVERT_CONFIG_ROPE_H

#include "convert/config.h"

/* Fills c->rope_theta and c->rope; c->n_ctx must be known. Unknown types are ERROR_UNSUPPORTED and named. */
int config_read_rope(struct config *c, struct notes *notes, struct error *err);

#endif
