/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical (GGUF) tensor names of the dense families and what each tensor is for. Names are llama.cpp's:
 * "token_embd.weight", "blk.N.attn_q.weight", ...
 */
#ifndef TERNPACK_BASE_MODEL_ROLES_H
#define TERNPACK_BASE_MODEL_ROLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum role { /* in the order tensors stand in our files */
            ROLE_TOKEN_EMBD,
            ROLE_ROPE_FREQS,
            ROLE_ATTN_NORM,
            ROLE_ATTN_Q,
            ROLE_ATTN_Q_NORM,
            ROLE_ATTN_K,
            ROLE_ATTN_K_NORM,
            ROLE_ATTN_V,
            ROLE_ATTN_OUTPUT,
            ROLE_FFN_NORM,
            ROLE_FFN_GATE,
            ROLE_FFN_UP,
            ROLE_FFN_DOWN,
            ROLE_OUTPUT_NORM,
            ROLE_OUTPUT,
            ROLE_OTHER, /* a name this table does not know */
};

struct role_info {
    enum role role;
    const char *stem; /* "attn_q.weight", without "blk.N." */
    bool per_layer;
    bool linear;       /* one of the seven matrices of a layer that may become ternary (embedding and head are apart) */
    const char *label; /* short, for tables: "attn_q" */
};

const struct role_info *role_info(enum role r); /* never NULL */
/* Split "blk.12.attn_q.weight" into role and layer (-1 when not per layer). Unknown names give ROLE_OTHER, with the
 * layer if there is one. Layer numbers are plain decimal below 2^31. */
enum role role_of(const char *name, int *layer);
/* Name for a role; buf needs 64 bytes. Returns buf. */
char *role_name(enum role r, int layer, char buf[64]);

#endif
