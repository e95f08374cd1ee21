/* SPDX-License-Identifier: Apache-2.0 */
#include "base/model/roles.h"

#include <stdio.h>
#include <string.h>

static const struct role_info roles[] = {
    [ROLE_TOKEN_EMBD] = { ROLE_TOKEN_EMBD, "token_embd.weight", false, false, "token_embd" },
    [ROLE_ROPE_FREQS] = { ROLE_ROPE_FREQS, "rope_freqs.weight", false, false, "rope_freqs" },
    [ROLE_ATTN_NORM] = { ROLE_ATTN_NORM, "attn_norm.weight", true, false, "attn_norm" },
    [ROLE_ATTN_Q] = { ROLE_ATTN_Q, "attn_q.weight", true, true, "attn_q" },
    [ROLE_ATTN_Q_NORM] = { ROLE_ATTN_Q_NORM, "attn_q_norm.weight", true, false, "attn_q_norm" },
    [ROLE_ATTN_K] = { ROLE_ATTN_K, "attn_k.weight", true, true, "attn_k" },
    [ROLE_ATTN_K_NORM] = { ROLE_ATTN_K_NORM, "attn_k_norm.weight", true, false, "attn_k_norm" },
    [ROLE_ATTN_V] = { ROLE_ATTN_V, "attn_v.weight", true, true, "attn_v" },
    [ROLE_ATTN_OUTPUT] = { ROLE_ATTN_OUTPUT, "attn_output.weight", true, true, "attn_output" },
    [ROLE_FFN_NORM] = { ROLE_FFN_NORM, "ffn_norm.weight", true, false, "ffn_norm" },
    [ROLE_FFN_GATE] = { ROLE_FFN_GATE, "ffn_gate.weight", true, true, "ffn_gate" },
    [ROLE_FFN_UP] = { ROLE_FFN_UP, "ffn_up.weight", true, true, "ffn_up" },
    [ROLE_FFN_DOWN] = { ROLE_FFN_DOWN, "ffn_down.weight", true, true, "ffn_down" },
    [ROLE_OUTPUT_NORM] = { ROLE_OUTPUT_NORM, "output_norm.weight", false, false, "output_norm" },
    [ROLE_OUTPUT] = { ROLE_OUTPUT, "output.weight", false, false, "output" },
    [ROLE_OTHER] = { ROLE_OTHER, "", false, false, "other" },
};

const struct role_info *role_info(enum role r)
{
    return &roles[(unsigned)r < ROLE_OTHER ? r : ROLE_OTHER];
}

/* "blk.N." with N plain decimal below 2^31: the text after it and N; NULL when the name does not begin so. */
static const char *skip_layer(const char *name, int *layer)
{
    if (strncmp(name, "blk.", 4))
        return NULL;
    const char *p = name + 4;
    long long n = 0;
    if (*p == '0' && p[1] != '.')
        return NULL;
    for (; *p >= '0' && *p <= '9'; p++) {
        n = n * 10 + (*p - '0');
        if (n > 0x7fffffff)
            return NULL;
    }
    if (p == name + 4 || *p != '.')
        return NULL;
    *layer = (int)n;
    return p + 1;
}

enum role role_of(const char *name, int *layer)
{
    int n = -1;
    const char *stem = skip_layer(name, &n);
    bool per_layer = stem != NULL;
    if (layer)
        *layer = n;
    if (!stem)
        stem = name;
    for (int r = 0; r < ROLE_OTHER; r++)
        if (roles[r].per_layer == per_layer && !strcmp(roles[r].stem, stem))
            return (enum role)r;
    return ROLE_OTHER;
}

char *role_name(enum role r, int layer, char buf[64])
{
    const struct role_info *info = role_info(r);
    if (info->per_layer)
        snprintf(buf, 64, "blk.%d.%s", layer, info->stem);
    else
        snprintf(buf, 64, "%s", info->stem);
    return buf;
}
