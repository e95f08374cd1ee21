/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/config_rope.h"

#include <math.h>
#include <string.h>

#include "base/util/text.h"

#define MAX_CTX (UINT32_C(1) << 30)

static int need_positive(const struct config *c, const struct json *obj, const char *key, double *out,
                         struct error *err)
{
    int rc = json_need_f64(c->doc, obj, key, out, err);
    if (!rc && !(*out >= 1e-12 && *out <= 1e12)) /* well within what GGUF's 32-bit floats hold */
        rc = error_set(err, ERROR_FORMAT, "config.json: rope %s: expected a positive number (1e-12 to 1e12), found %g",
                       key, *out);
    return rc;
}

static int need_ctx(const struct config *c, const struct json *obj, uint32_t *out, struct error *err)
{
    uint64_t v = 0;
    int rc = json_need_u64(c->doc, obj, "original_max_position_embeddings", 1, MAX_CTX, &v, err);
    *out = (uint32_t)v;
    return rc;
}

/* The multiplier on cos and sin. Left out, transformers and GGUF readers both use 0.1 ln(factor) + 1. A stated one
 * replaces that number in transformers, while readers multiply by rope.scaling.yarn_attn_factor: so the quotient is
 * written. */
static int read_attn_factor(struct config *c, const struct json *obj, struct error *err)
{
    double stated = 0, usual = c->rope.factor > 1 ? 0.1 * log(c->rope.factor) + 1 : 1;
    if (json_is_null(json_get(obj, "attention_factor")))
        return 0;
    int rc = need_positive(c, obj, "attention_factor", &stated, err);
    if (rc)
        return rc;
    c->rope.attn_factor = stated / usual;
    c->rope.has_attn = fabs(c->rope.attn_factor - 1) > 1e-6;
    return 0;
}

/* Members of other people's YaRN variants that change the arithmetic. */
static int refuse_variants(const struct json *obj, struct error *err)
{
    static const char *const keys[] = { "mscale", "mscale_all_dim", "attn_factor" };
    double one = 1;
    bool truncate = true;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (!json_is_null(json_get(obj, keys[i])))
            return error_set(err, ERROR_UNSUPPORTED, "config.json: rope type yarn with %s is not supported", keys[i]);
    if (json_f64(json_get(obj, "extrapolation_factor"), &one) && one != 1)
        return error_set(err, ERROR_UNSUPPORTED,
                         "config.json: rope type yarn with extrapolation_factor %g is not supported (expected 1)", one);
    if (json_bool(json_get(obj, "truncate"), &truncate) && !truncate)
        return error_set(err, ERROR_UNSUPPORTED, "config.json: rope type yarn with truncate false is not supported");
    return 0;
}

static int read_yarn(struct config *c, const struct json *obj, struct notes *notes, struct error *err)
{
    struct config_scaling *s = &c->rope;
    int rc = refuse_variants(obj, err);
    if (!rc)
        rc = need_positive(c, obj, "factor", &s->factor, err);
    if (rc)
        return rc;

    if (json_is_null(json_get(obj, "original_max_position_embeddings"))) {
        s->orig_ctx = c->n_ctx;
        rc = notes_add(notes, false, err,
                       "config.json: rope original_max_position_embeddings is absent; max_position_embeddings %u taken",
                       c->n_ctx);
    } else {
        rc = need_ctx(c, obj, &s->orig_ctx, err);
    }
    if (!rc && (s->has_beta_fast = !json_is_null(json_get(obj, "beta_fast"))))
        rc = need_positive(c, obj, "beta_fast", &s->beta_fast, err);
    if (!rc && (s->has_beta_slow = !json_is_null(json_get(obj, "beta_slow"))))
        rc = need_positive(c, obj, "beta_slow", &s->beta_slow, err);
    return rc ? rc : read_attn_factor(c, obj, err);
}

static int read_llama3(struct config *c, const struct json *obj, struct error *err)
{
    struct config_scaling *s = &c->rope;
    int rc = need_positive(c, obj, "factor", &s->factor, err);
    if (!rc)
        rc = need_positive(c, obj, "low_freq_factor", &s->low_freq, err);
    if (!rc)
        rc = need_positive(c, obj, "high_freq_factor", &s->high_freq, err);
    if (!rc)
        rc = need_ctx(c, obj, &s->orig_ctx, err);
    if (!rc && !(s->high_freq > s->low_freq))
        rc = error_set(err, ERROR_FORMAT, "config.json: rope high_freq_factor %g is not above low_freq_factor %g",
                       s->high_freq, s->low_freq);
    return rc;
}

static int read_scaling(struct config *c, const struct json *obj, struct notes *notes, struct error *err)
{
    const char *a = NULL, *b = NULL, *type;
    double part = 1;
    char quoted[128];
    int rc = json_opt_str(c->doc, obj, "rope_type", &a, err);
    if (!rc)
        rc = json_opt_str(c->doc, obj, "type", &b, err);
    if (!rc)
        rc = json_opt_f64(c->doc, obj, "partial_rotary_factor", &part, err);
    if (rc)
        return rc;
    if (part != 1)
        return error_set(
            err, ERROR_UNSUPPORTED,
            "config.json: partial_rotary_factor: %g is not supported: only a part of each head would rotate "
            "(expected 1)",
            part);
    if (!json_is_null(json_get(obj, "mrope_section")) || !json_is_null(json_get(obj, "full_attention")))
        return error_set(err, ERROR_UNSUPPORTED,
                         "config.json: rotary settings per section or layer type are not supported");
    if (a && b && strcmp(a, b))
        return error_set(err, ERROR_FORMAT, "config.json: rope_type and type name two different rope scalings");

    type = a ? a : b ? b : "default";
    c->rope.factor = 1;
    if (!strcmp(type, "default"))
        return 0;
    if (!strcmp(type, "linear")) {
        c->rope.type = CONFIG_ROPE_LINEAR;
        return need_positive(c, obj, "factor", &c->rope.factor, err);
    }
    if (!strcmp(type, "yarn")) {
        c->rope.type = CONFIG_ROPE_YARN;
        return read_yarn(c, obj, notes, err);
    }
    if (!strcmp(type, "llama3")) {
        c->rope.type = CONFIG_ROPE_LLAMA3;
        return read_llama3(c, obj, err);
    }
    return error_set(err, ERROR_UNSUPPORTED,
                     "config.json: rope type \"%s\" is not supported (expected default, linear, yarn or llama3)",
                     text_quote(quoted, sizeof quoted, type, strlen(type)));
}

static int read_theta(struct config *c, const struct json *obj, struct notes *notes, struct error *err)
{
    const struct json *root = json_root(c->doc);
    bool outer = !json_is_null(json_get(root, "rope_theta")), inner = !json_is_null(json_get(obj, "rope_theta"));
    double a = 10000, b = 10000;
    int rc = outer ? need_positive(c, root, "rope_theta", &a, err) : 0;
    if (!rc && inner)
        rc = need_positive(c, obj, "rope_theta", &b, err);
    if (rc)
        return rc;
    if (outer && inner && a != b)
        return error_set(err, ERROR_FORMAT, "config.json: rope_theta is %g, but %g in rope_parameters", a, b);
    c->rope_theta = inner ? b : a;
    if (outer || inner)
        return 0;
    return notes_add(notes, false, err, "config.json: rope_theta is absent; 10000 taken, as transformers does");
}

int config_read_rope(struct config *c, struct notes *notes, struct error *err)
{
    static const char *const spellings[] = { "rope_parameters", "rope_scaling" };
    const struct json *obj = NULL;
    for (size_t i = 0; i < 2; i++) {
        const struct json *v = json_get(json_root(c->doc), spellings[i]);
        if (json_is_null(v))
            continue;
        if (json_kind(v) != JSON_OBJECT)
            return error_set(err, ERROR_FORMAT, "config.json: %s: expected an object or null, found %s", spellings[i],
                             json_kind_name(v));
        if (!obj)
            obj = v;
    }
    int rc = read_theta(c, obj, notes, err);
    return rc ? rc : read_scaling(c, obj, notes, err);
}
