/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/names.h"

#include <stdint.h>
#include <string.h>

#include "base/util/text.h"

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

const char *names_prefix(const struct st_model *m)
{
    char name[HFNAMES_MAX];
    const char *prefix;
    for (size_t i = 0; (prefix = hfnames_prefix(i)); i++)
        if (st_find(m, hfnames_make(ROLE_TOKEN_EMBD, -1, prefix, name)))
            return prefix;
    return NULL;
}

struct names_match names_of(const struct family *f, const char *prefix, const char *name)
{
    int layer;
    enum role role = hfnames_role(name, prefix, &layer);

    if (role != ROLE_OTHER && names_has_role(f, role))
        return (struct names_match){ NAMES_TENSOR, role, layer, NULL };
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (text_ends(name, suffixes[i].suffix))
            return (struct names_match){ suffixes[i].use, ROLE_OTHER, layer, suffixes[i].why };
    return (struct names_match){ NAMES_UNKNOWN, ROLE_OTHER, layer, NULL };
}

/* Edit distance (insert, delete, replace), cut at HFNAMES_MAX characters. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[HFNAMES_MAX + 1];
    size_t na = strlen(a), nb = strlen(b);
    if (na > HFNAMES_MAX || nb > HFNAMES_MAX)
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

const char *names_nearest(const struct family *f, const char *prefix, const char *name, char buf[HFNAMES_MAX])
{
    int layer = 0;
    unsigned best = UINT32_MAX;
    enum role role = ROLE_OTHER;
    char candidate[HFNAMES_MAX];

    hfnames_layer(name, &layer);
    for (enum role r = 0; r < ROLE_OTHER; r++) {
        if (!names_has_role(f, r) || !hfnames_make(r, layer, prefix, candidate))
            continue;
        unsigned d = distance(name, candidate);
        if (d < best) {
            best = d;
            role = r;
        }
    }
    if (role == ROLE_OTHER)
        return NULL;
    hfnames_make(role, layer, prefix, buf);
    /* At most a third mistyped, or cut at the front. */
    bool near = best <= 8 && (best * 3 <= strlen(name) || text_ends(buf, name));
    return near ? buf : NULL;
}
