/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util/text.h"

/* Best known first: a checkpoint of a whole model, of its inner part alone, and of a text model within a larger one. */
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

static const struct {
    const char *suffix;
    enum names_use use;
    const char *why;
} suffixes[] = {
    { "rotary_emb.inv_freq", NAMES_DROP, "a table computed from rope_theta" },
    { ".attention.masked_bias", NAMES_DROP, "a constant mask" },
    { ".attention.bias", NAMES_DROP, "a constant mask" },
    { ".input_scale", NAMES_DROP, "an activation scale of another runtime" },
    { ".output_scale", NAMES_DROP, "an activation scale of another runtime" },
    { ".k_scale", NAMES_DROP, "a cache scale of another runtime" },
    { ".v_scale", NAMES_DROP, "a cache scale of another runtime" },
    { ".weight_packed", NAMES_QUANTISED, "compressed-tensors" },
    { ".weight_shape", NAMES_QUANTISED, "compressed-tensors" },
    { ".weight_zero_point", NAMES_QUANTISED, "compressed-tensors" },
    { ".weight_scale", NAMES_QUANTISED, "compressed-tensors, ModelOpt or BitNet" },
    { ".weight_scale_2", NAMES_QUANTISED, "ModelOpt" },
    { ".weight_scale_inv", NAMES_QUANTISED, "FP8 with block scales" },
    { "._scale", NAMES_QUANTISED, "ModelOpt" },
    { ".qweight", NAMES_QUANTISED, "GPTQ or AWQ" },
    { ".qzeros", NAMES_QUANTISED, "GPTQ or AWQ" },
    { ".scales", NAMES_QUANTISED, "GPTQ, AWQ or MLX" },
    { ".biases", NAMES_QUANTISED, "MLX" },
    { ".g_idx", NAMES_QUANTISED, "GPTQ" },
    { ".absmax", NAMES_QUANTISED, "bitsandbytes" },
    { ".quant_map", NAMES_QUANTISED, "bitsandbytes" },
    { ".SCB", NAMES_QUANTISED, "bitsandbytes" },
};

bool names_has_role(const struct family *f, enum role role)
{
    return f->qk_norm || (role != ROLE_ATTN_Q_NORM && role != ROLE_ATTN_K_NORM);
}

/* "model." -> "", "language_model.model." -> "language_model.": lm_head stands beside the inner model. */
static int head_prefix_len(const char *prefix)
{
    size_t n = strlen(prefix), inner = strlen("model.");
    return n >= inner && !strcmp(prefix + n - inner, "model.") ? (int)(n - inner) : (int)n;
}

char *names_make(enum role role, int layer, const char *prefix, char buf[NAMES_MAX])
{
    const char *stem = "?";
    for (size_t i = 0; i < N_STEMS; i++)
        if (stems[i].role == role)
            stem = stems[i].stem;
    if (!prefix)
        prefix = prefixes[0];
    if (role == ROLE_OUTPUT)
        snprintf(buf, NAMES_MAX, "%.*s%s", head_prefix_len(prefix), prefix, stem);
    else if (role_info(role)->per_layer)
        snprintf(buf, NAMES_MAX, "%slayers.%d.%s", prefix, layer, stem);
    else
        snprintf(buf, NAMES_MAX, "%s%s", prefix, stem);
    return buf;
}

const char *names_prefix(const struct st_model *m)
{
    char name[NAMES_MAX];
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (st_find(m, names_make(ROLE_TOKEN_EMBD, -1, prefixes[i], name)))
            return prefixes[i];
    return NULL;
}

/* "layers.12.rest" -> 12 and "rest"; NULL when it is not of that form. Leading zeros are not a layer number. */
static const char *split_layer(const char *s, int *layer)
{
    static const char word[] = "layers.";
    if (!text_starts(s, word))
        return NULL;
    s += sizeof word - 1;
    size_t n = strspn(s, "0123456789");
    if (!n || n > 6 || s[n] != '.' || (n > 1 && s[0] == '0'))
        return NULL;
    *layer = atoi(s);
    return s + n + 1;
}

static struct names_match match_stem(const struct family *f, const char *stem, int layer)
{
    for (size_t i = 0; i < N_STEMS; i++)
        if (!strcmp(stem, stems[i].stem) && role_info(stems[i].role)->per_layer == (layer >= 0) &&
            stems[i].role != ROLE_OUTPUT && names_has_role(f, stems[i].role))
            return (struct names_match){ NAMES_TENSOR, stems[i].role, layer, NULL };
    return (struct names_match){ NAMES_UNKNOWN, ROLE_OTHER, layer, NULL };
}

struct names_match names_of(const struct family *f, const char *prefix, const char *name)
{
    char head[NAMES_MAX];
    int layer = -1;
    if (!prefix)
        prefix = prefixes[0];

    if (!strcmp(name, names_make(ROLE_OUTPUT, -1, prefix, head)) || !strcmp(name, "lm_head.weight"))
        return (struct names_match){ NAMES_TENSOR, ROLE_OUTPUT, -1, NULL };
    if (text_starts(name, prefix)) {
        const char *stem = name + strlen(prefix), *inner = split_layer(stem, &layer);
        struct names_match m = match_stem(f, inner ? inner : stem, layer);
        if (m.use == NAMES_TENSOR)
            return m;
    }
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (text_ends(name, suffixes[i].suffix))
            return (struct names_match){ suffixes[i].use, ROLE_OTHER, layer, suffixes[i].why };
    return (struct names_match){ NAMES_UNKNOWN, ROLE_OTHER, layer, NULL };
}

/* Edit distance (insert, delete, replace), cut at NAMES_MAX characters. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAMES_MAX + 1];
    size_t na = strlen(a), nb = strlen(b);
    if (na > NAMES_MAX || nb > NAMES_MAX)
        return UINT32_MAX;
    for (size_t j = 0; j <= nb; j++)
        row[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

const char *names_nearest(const struct family *f, const char *prefix, const char *name, char buf[NAMES_MAX])
{
    const char *at = strstr(name, "layers.");
    int layer = 0;
    unsigned best = UINT32_MAX;
    enum role role = ROLE_OTHER;
    char candidate[NAMES_MAX];

    if (at)
        split_layer(at, &layer);
    for (size_t i = 0; i < N_STEMS; i++) {
        if (!names_has_role(f, stems[i].role))
            continue;
        unsigned d = distance(name, names_make(stems[i].role, layer, prefix, candidate));
        if (d < best) {
            best = d;
            role = stems[i].role;
        }
    }
    if (role == ROLE_OTHER)
        return NULL;
    names_make(role, layer, prefix, buf);
    /* At most a third mistyped, or cut at the front. */
    bool near = best <= 8 && (best * 3 <= strlen(name) || text_ends(buf, name));
    return near ? buf : NULL;
}
