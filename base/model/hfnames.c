/* SPDX-License-Identifier: Apache-2.0 */
#include "base/model/hfnames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/text.h"

static const char *const prefixes[] = { "model.", "", "model.language_model.", "language_model.model.",
                                        "model.model." };

static const struct {
    enum role role;
    const char *stem;
} stems[] = {
    { ROLE_TOKEN_EMBD, "embed_tokens.weight" },
    { ROLE_ATTN_NORM, "input_layernorm.weight" },
    { ROLE_ATTN_Q, "self_attn.q_proj.weight" },
    { ROLE_ATTN_Q_NORM, "self_attn.q_norm.weight" },
    { ROLE_ATTN_K, "self_attn.k_proj.weight" },
    { ROLE_ATTN_K_NORM, "self_attn.k_norm.weight" },
    { ROLE_ATTN_V, "self_attn.v_proj.weight" },
    { ROLE_ATTN_OUTPUT, "self_attn.o_proj.weight" },
    { ROLE_FFN_NORM, "post_attention_layernorm.weight" },
    { ROLE_FFN_GATE, "mlp.gate_proj.weight" },
    { ROLE_FFN_UP, "mlp.up_proj.weight" },
    { ROLE_FFN_DOWN, "mlp.down_proj.weight" },
    { ROLE_OUTPUT_NORM, "norm.weight" },
    { ROLE_OUTPUT, "lm_head.weight" }, /* beside the prefix, not below it */
};
enum { N_STEMS = sizeof stems / sizeof stems[0] };

const char *hfnames_prefix(size_t i)
{
    return i < sizeof prefixes / sizeof *prefixes ? prefixes[i] : NULL;
}

/* "model." -> "", "language_model.model." -> "language_model.": lm_head stands beside the inner model. */
static int head_prefix_len(const char *prefix)
{
    size_t n = strlen(prefix), inner = strlen("model.");
    return n >= inner && !strcmp(prefix + n - inner, "model.") ? (int)(n - inner) : (int)n;
}

char *hfnames_make(enum role role, int layer, const char *prefix, char buf[HFNAMES_MAX])
{
    const char *stem = NULL;
    if (!prefix)
        prefix = prefixes[0];
    for (size_t i = 0; i < N_STEMS; i++)
        if (stems[i].role == role)
            stem = stems[i].stem;
    if (!stem)
        return NULL;
    if (role == ROLE_OUTPUT)
        snprintf(buf, HFNAMES_MAX, "%.*s%s", head_prefix_len(prefix), prefix, stem);
    else if (role_info(role)->per_layer)
        snprintf(buf, HFNAMES_MAX, "%slayers.%d.%s", prefix, layer, stem);
    else
        snprintf(buf, HFNAMES_MAX, "%s%s", prefix, stem);
    return buf;
}

/* "layers.12.rest" -> 12 and "rest"; NULL when it is not of that form. */
static const char *split_layer(const char *s, int *layer)
{
    static const char word[] = "layers.";
    if (!text_starts(s, word))
        return NULL;
    s += sizeof word - 1;
    size_t n = strspn(s, "0123456789");
    if (!n || n > 6 || s[n] != '.' || (n > 1 && s[0] == '0'))
        return NULL;
    *layer = (int)strtol(s, NULL, 10);
    return s + n + 1;
}

bool hfnames_layer(const char *name, int *layer)
{
    const char *at = strstr(name, "layers.");
    return at && split_layer(at, layer);
}

enum role hfnames_role(const char *name, const char *prefix, int *layer)
{
    char head[HFNAMES_MAX];

    *layer = -1;
    if (!prefix)
        prefix = prefixes[0];
    if (!strcmp(name, hfnames_make(ROLE_OUTPUT, -1, prefix, head)) || !strcmp(name, "lm_head.weight"))
        return ROLE_OUTPUT;
    if (!text_starts(name, prefix))
        return ROLE_OTHER;
    const char *stem = name + strlen(prefix), *inner = split_layer(stem, layer);
    for (size_t i = 0; i < N_STEMS; i++)
        if (stems[i].role != ROLE_OUTPUT && role_info(stems[i].role)->per_layer == (inner != NULL) &&
            !strcmp(inner ? inner : stem, stems[i].stem))
            return stems[i].role;
    return ROLE_OTHER;
}

bool hfnames_of_gguf(const char *gguf, const char *prefix, char buf[HFNAMES_MAX])
{
    int layer = -1;
    enum role role = role_of(gguf, &layer);
    return hfnames_make(role, layer, prefix, buf) != NULL;
}

bool hfnames_to_gguf(const char *hf, const char *prefix, char buf[64])
{
    int layer;
    enum role role = hfnames_role(hf, prefix, &layer);
    if (role == ROLE_OTHER)
        return false;
    role_name(role, layer, buf);
    return true;
}
