/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/config.h"

#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/mem.h"
#include "base/util/text.h"
#include "convert/config_rope.h"
#include "convert/config_rules.h"
#include "convert/family.h"

enum { MAX_BYTES = 1 << 24, MAX_DEPTH = 64 };

static int refuse_architecture(const char *what, const char *name, struct error *err)
{
    char quoted[128], known[256] = "";
    size_t used = 0;
    const struct family *f;
    for (unsigned i = 0; (f = family_at(i)); i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", f->architecture);
    return error_set(err, ERROR_UNSUPPORTED, "config.json: %s: %s is not supported (known: %s)", what,
                     text_quote(quoted, sizeof quoted, name, strlen(name)), known);
}

static int read_family(struct config *c, struct notes *notes, struct error *err)
{
    const struct json *root = json_root(c->doc), *list = json_get(root, "architectures");
    const char *type = NULL, *arch = NULL;
    int rc = json_opt_str(c->doc, root, "model_type", &type, err);
    if (rc)
        return rc;

    if (json_is_null(list)) {
        if (!type)
            return error_set(err, ERROR_FORMAT,
                             "config.json: neither architectures nor model_type says what the model is");
        c->family = family_find(NULL, type);
        if (!c->family)
            return refuse_architecture("model_type", type, err);
        c->architecture = c->family->architecture;
        return notes_add(notes, false, err, "config.json: architectures is absent; %s taken from model_type %s",
                         c->architecture, type);
    }
    arch = json_kind(list) == JSON_ARRAY ? json_str(json_first(list)) : json_str(list);
    if (!arch)
        return error_set(err, ERROR_FORMAT, "config.json: architectures: expected an array of strings, found %s",
                         json_kind_name(list));
    c->architecture = arch;
    c->family = family_find(arch, NULL);
    return c->family ? 0 : refuse_architecture("architectures", arch, err);
}

/* "quantization_config" of transformers, "compression_config" of compressed-tensors, "quantization" of MLX. */
static int refuse_quantized(const struct config *c, struct error *err)
{
    static const char *const keys[] = { "quantization_config", "compression_config", "quantization" };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct json *v = json_get(json_root(c->doc), keys[i]), *method = json_get(v, "quant_method");
        char name[96] = "an unnamed method";
        uint64_t bits = 0;
        if (json_is_null(v) ||
            (json_kind(v) == JSON_OBJECT && json_is_null(method) && json_is_null(json_get(v, "bits"))))
            continue;
        if (json_str(method))
            text_quote(name, sizeof name, json_str(method), strlen(json_str(method)));
        else if (json_u64(json_get(v, "bits"), &bits))
            snprintf(name, sizeof name, "%u bits", (unsigned)bits);
        return error_set(
            err, ERROR_UNSUPPORTED,
            "config.json: %s: the checkpoint is already quantised with %s, which is not supported (expected "
            "float weights)",
            keys[i], name);
    }
    return 0;
}

static int need_u32(const struct config *c, const char *key, uint32_t max, uint32_t *out, struct error *err)
{
    uint64_t v = 0;
    int rc = json_need_u64(c->doc, json_root(c->doc), key, 1, max, &v, err);
    *out = (uint32_t)v;
    return rc;
}

static int read_sizes(struct config *c, struct error *err)
{
    static const struct {
        const char *key;
        size_t offset;
        uint32_t max; /* keeps every product of two sizes far below 2^64; layers as GGUF readers limit them */
    } sizes[] = {
        { "hidden_size", offsetof(struct config, n_embd), 1 << 20 },
        { "intermediate_size", offsetof(struct config, n_ff), 1 << 24 },
        { "num_hidden_layers", offsetof(struct config, n_layer), 512 },
        { "num_attention_heads", offsetof(struct config, n_head), 1 << 16 },
        { "vocab_size", offsetof(struct config, n_vocab), 1 << 26 },
        { "max_position_embeddings", offsetof(struct config, n_ctx), 1 << 30 },
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int rc = need_u32(c, sizes[i].key, sizes[i].max, (uint32_t *)((char *)c + sizes[i].offset), err);
        if (rc)
            return rc;
    }
    return 0;
}

static int read_heads(struct config *c, struct error *err)
{
    const struct json *root = json_root(c->doc);
    int rc;
    c->n_head_kv = c->n_head;
    if (!c->family->kv_defaults_to_heads || !json_is_null(json_get(root, "num_key_value_heads")))
        if ((rc = need_u32(c, "num_key_value_heads", 1 << 16, &c->n_head_kv, err)))
            return rc;
    if (c->n_head % c->n_head_kv)
        return error_set(err, ERROR_FORMAT,
                         "config.json: num_attention_heads %u is not a multiple of num_key_value_heads %u", c->n_head,
                         c->n_head_kv);

    c->head_dim = c->family->default_head_dim;
    if (!json_is_null(json_get(root, "head_dim"))) {
        if ((rc = need_u32(c, "head_dim", 1 << 12, &c->head_dim, err)))
            return rc;
    } else if (!c->head_dim) {
        if (c->n_embd % c->n_head)
            return error_set(err, ERROR_FORMAT,
                             "config.json: hidden_size %u is not a multiple of num_attention_heads %u, and there is no "
                             "head_dim",
                             c->n_embd, c->n_head);
        c->head_dim = c->n_embd / c->n_head;
    }
    if (c->head_dim % 2)
        return error_set(err, ERROR_UNSUPPORTED, "config.json: head_dim: %u is odd: rotary positions need pairs",
                         c->head_dim);
    return 0;
}

static int read_norm_and_act(struct config *c, struct notes *notes, struct error *err)
{
    const struct json *root = json_root(c->doc);
    const char *act = "silu";
    char quoted[96];
    c->rms_eps = 1e-6;
    int rc = json_opt_f64(c->doc, root, "rms_norm_eps", &c->rms_eps, err);
    if (!rc)
        rc = json_opt_str(c->doc, root, "hidden_act", &act, err);
    if (rc)
        return rc;
    if (!(c->rms_eps >= 1e-30 && c->rms_eps < 1)) /* above 0 as a 32-bit float too, or readers refuse it */
        return error_set(err, ERROR_FORMAT,
                         "config.json: rms_norm_eps: expected a number from 1e-30 to below 1, found %g", c->rms_eps);
    if (strcmp(act, "silu") && strcmp(act, "swish"))
        return error_set(err, ERROR_UNSUPPORTED, "config.json: hidden_act: %s is not supported (expected silu)",
                         text_quote(quoted, sizeof quoted, act, strlen(act)));
    if (json_is_null(json_get(root, "rms_norm_eps")))
        return notes_add(notes, false, err, "config.json: rms_norm_eps is absent; 1e-06 taken, as transformers does");
    return 0;
}

static int read_rest(struct config *c, struct error *err)
{
    const struct json *root = json_root(c->doc);
    bool tied = false;
    int rc = json_opt_bool(c->doc, root, "tie_word_embeddings", &tied, err);
    if (rc)
        return rc;
    if (!json_is_null(json_get(root, "tie_word_embeddings")))
        c->tied = tied ? CONFIG_TIED : CONFIG_UNTIED;
    c->name_or_path = json_str(json_get(root, "_name_or_path"));
    c->stored_dtype = json_str(json_get(root, "dtype"));
    if (!c->stored_dtype)
        c->stored_dtype = json_str(json_get(root, "torch_dtype"));
    return 0;
}

int config_parse(struct config *c, const char *text, size_t n, const char *name, struct notes *notes, struct error *err)
{
    *c = (struct config){ 0 };
    int rc = json_parse(&c->doc, text, n, name, MAX_DEPTH, JSON_BOM, err);
    if (!rc && json_kind(json_root(c->doc)) != JSON_OBJECT)
        rc = error_set(err, ERROR_FORMAT, "%s: expected an object, found %s", name, json_kind_name(json_root(c->doc)));
    if (!rc)
        rc = read_family(c, notes, err);
    if (!rc)
        rc = refuse_quantized(c, err);
    if (!rc)
        rc = read_sizes(c, err);
    if (!rc)
        rc = read_heads(c, err);
    if (!rc)
        rc = read_norm_and_act(c, notes, err);
    if (!rc)
        rc = config_read_rope(c, notes, err);
    if (!rc)
        rc = read_rest(c, err);
    if (!rc)
        rc = config_apply_rules(c, notes, err);
    if (!rc)
        rc = c->family->check(c, err);
    if (rc)
        config_close(c);
    return rc;
}

int config_open(struct config *c, const char *dir, struct notes *notes, struct error *err)
{
    char *path = NULL, *text = NULL;
    size_t n = 0;
    int rc = 0;
    *c = (struct config){ 0 };
    path = file_join(dir, "config.json", err);
    if (!path)
        rc = ERROR_NOMEM;
    if (!rc)
        rc = file_read_all(path, MAX_BYTES, &text, &n, err);
    if (!rc && (rc = config_parse(c, text, n, "config.json", notes, err)))
        error_prefix(err, "%s", dir);
    mem_free(text);
    mem_free(path);
    return rc;
}

void config_close(struct config *c)
{
    mem_free(c->keys);
    json_free(c->doc);
    *c = (struct config){ 0 };
}
