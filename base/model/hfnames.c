/* SPDX-License-Identifier: Apache-2.0 */
#include "base/model/hfnames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/model/roles.h"
#include "base/util/text.h"

static const char *const prefixes[] = { "model.", "", "model.language_model.", "language_model.model.",
                                        "model.model." };

static const struct pair {
    enum role role;
    const char *stem; /* less ".weight" */
} pairs[] = {
    { ROLE_TOKEN_EMBD, "embed_tokens" },
    { ROLE_ATTN_NORM, "input_layernorm" },
    { ROLE_ATTN_Q, "self_attn.q_proj" },
    { ROLE_ATTN_Q_NORM, "self_attn.q_norm" },
    { ROLE_ATTN_K, "self_attn.k_proj" },
    { ROLE_ATTN_K_NORM, "self_attn.k_norm" },
    { ROLE_ATTN_V, "self_attn.v_proj" },
    { ROLE_ATTN_OUTPUT, "self_attn.o_proj" },
    { ROLE_FFN_NORM, "post_attention_layernorm" },
    { ROLE_FFN_GATE, "mlp.gate_proj" },
    { ROLE_FFN_UP, "mlp.up_proj" },
    { ROLE_FFN_DOWN, "mlp.down_proj" },
    { ROLE_OUTPUT_NORM, "norm" },
    { ROLE_OUTPUT, "lm_head" },
};
enum { N_PAIRS = sizeof pairs / sizeof *pairs };

const char *hfnames_prefix(size_t i)
{
    return i < sizeof prefixes / sizeof *prefixes ? prefixes[i] : NULL;
}

bool hfnames_of_gguf(const char *gguf, const char *prefix, char buf[HFNAMES_MAX])
{
    int layer = -1;
    enum role role = role_of(gguf, &layer);

    for (int i = 0; i < N_PAIRS; i++) {
        if (pairs[i].role != role)
            continue;
        if (role == ROLE_OUTPUT)
            snprintf(buf, HFNAMES_MAX, "lm_head.weight");
        else if (layer >= 0)
            snprintf(buf, HFNAMES_MAX, "%slayers.%d.%s.weight", prefix, layer, pairs[i].stem);
        else
            snprintf(buf, HFNAMES_MAX, "%s%s.weight", prefix, pairs[i].stem);
        return true;
    }
    return false;
}

bool hfnames_to_gguf(const char *hf, const char *prefix, char buf[64])
{
    bool head = !strcmp(hf, "lm_head.weight");
    const char *stem = hf + (head ? 0 : strlen(prefix));
    size_t n;
    int layer = -1;

    if (!head && !text_starts(hf, prefix))
        return false;
    if (text_starts(stem, "layers.")) {
        char *end;
        long v = strtol(stem + 7, &end, 10);
        if (stem[7] < '0' || stem[7] > '9' || *end != '.' || v > 1000000)
            return false;
        layer = (int)v;
        stem = end + 1;
    }
    n = strlen(stem);
    if (!text_ends(stem, ".weight"))
        return false;
    for (int i = 0; i < N_PAIRS; i++) {
        if (strlen(pairs[i].stem) != n - 7 || strncmp(pairs[i].stem, stem, n - 7) ||
            role_info(pairs[i].role)->per_layer != (layer >= 0) || (pairs[i].role == ROLE_OUTPUT) != head)
            continue;
        role_name(pairs[i].role, layer, buf);
        return true;
    }
    return false;
}
