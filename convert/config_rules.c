/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/config_rules.h"

#include <stdio.h>
#include <string.h>

#include "base/util/mem.h"
#include "base/util/text.h"

#define TRAINING "only used in training"
#define LIBRARY "about the library, not the model"
#define TOKENS "the tokenizer step reads it"

static const struct config_rule rules[] = {
    { "architectures", EXPECT_USED, NULL },
    { "model_type", EXPECT_USED, NULL },
    { "_name_or_path", EXPECT_USED, NULL },
    { "hidden_size", EXPECT_USED, NULL },
    { "intermediate_size", EXPECT_USED, NULL },
    { "num_hidden_layers", EXPECT_USED, NULL },
    { "num_attention_heads", EXPECT_USED, NULL },
    { "num_key_value_heads", EXPECT_USED, NULL },
    { "head_dim", EXPECT_USED, NULL },
    { "vocab_size", EXPECT_USED, NULL },
    { "max_position_embeddings", EXPECT_USED, NULL },
    { "rms_norm_eps", EXPECT_USED, NULL },
    { "rope_theta", EXPECT_USED, NULL },
    { "rope_scaling", EXPECT_USED, NULL },
    { "rope_parameters", EXPECT_USED, NULL },
    { "tie_word_embeddings", EXPECT_USED, NULL },
    { "hidden_act", EXPECT_USED, NULL },
    { "sliding_window", EXPECT_USED, NULL },
    { "quantization_config", EXPECT_USED, NULL },
    { "quantization", EXPECT_USED, NULL },
    { "compression_config", EXPECT_USED, NULL },
    { "bos_token_id", EXPECT_USED, NULL },
    { "eos_token_id", EXPECT_USED, NULL },
    { "pad_token_id", EXPECT_USED, NULL },

    { "torch_dtype", EXPECT_ANY, "each tensor states its own type" },
    { "dtype", EXPECT_ANY, "each tensor states its own type" },
    { "max_window_layers", EXPECT_ANY, "only used with use_sliding_window" },
    { "pretraining_tp", EXPECT_ANY, "splits the same sums over devices" },
    { "attention_dropout", EXPECT_ANY, TRAINING },
    { "hidden_dropout", EXPECT_ANY, TRAINING },
    { "hidden_dropout_prob", EXPECT_ANY, TRAINING },
    { "resid_pdrop", EXPECT_ANY, TRAINING },
    { "embd_pdrop", EXPECT_ANY, TRAINING },
    { "initializer_range", EXPECT_ANY, TRAINING },
    { "use_cache", EXPECT_ANY, LIBRARY },
    { "transformers_version", EXPECT_ANY, LIBRARY },
    { "transformers.js_config", EXPECT_ANY, LIBRARY },
    { "auto_map", EXPECT_ANY, LIBRARY },
    { "output_attentions", EXPECT_ANY, LIBRARY },
    { "output_hidden_states", EXPECT_ANY, LIBRARY },
    { "return_dict", EXPECT_ANY, LIBRARY },
    { "gradient_checkpointing", EXPECT_ANY, LIBRARY },
    { "unsloth_fixed", EXPECT_ANY, LIBRARY },
    { "unsloth_version", EXPECT_ANY, LIBRARY },
    { "_attn_implementation", EXPECT_ANY, LIBRARY },
    { "_attn_implementation_autoset", EXPECT_ANY, LIBRARY },
    { "_flash_attn_2_enabled", EXPECT_ANY, LIBRARY },
    { "is_llama_config", EXPECT_ANY, LIBRARY },
    { "task_specific_params", EXPECT_ANY, LIBRARY },
    { "id2label", EXPECT_ANY, LIBRARY },
    { "label2id", EXPECT_ANY, LIBRARY },
    { "unk_token_id", EXPECT_ANY, TOKENS },
    { "max_length", EXPECT_ANY, "a default of generation" },

    { "attention_bias", EXPECT_OFF, "the attention projections would have biases" },
    { "qkv_bias", EXPECT_OFF, "the attention projections would have biases" },
    { "mlp_bias", EXPECT_OFF, "the feed-forward projections would have biases" },
    { "use_sliding_window", EXPECT_OFF, "attention would be cut to a sliding window" },
    { "layer_types", EXPECT_FULL, "some layers would not attend to the whole context" },
    { "attention_chunk_size", EXPECT_OFF, "attention would be cut to chunks" },
    { "no_rope_layers", EXPECT_OFF, "some layers would have no rotary positions" },
    { "no_rope_layer_interval", EXPECT_OFF, "some layers would have no rotary positions" },
    { "rope_interleaved", EXPECT_OFF, "the rotary pairs would be neighbours" },
    { "rope_local_base_freq", EXPECT_NULL, "layers would rotate at different speeds" },
    { "partial_rotary_factor", EXPECT_ONE, "only a part of each head would rotate" },
    { "rotary_pct", EXPECT_ONE, "only a part of each head would rotate" },
    { "rotary_dim", EXPECT_NULL, "only a part of each head would rotate" },
    { "use_qk_norm", EXPECT_OFF, "queries and keys would be normalised" },
    { "qk_layernorm", EXPECT_OFF, "queries and keys would be normalised" },
    { "clip_qkv", EXPECT_NULL, "queries, keys and values would be clipped" },
    { "attn_logit_softcapping", EXPECT_NULL, "attention scores would be soft-capped" },
    { "final_logit_softcapping", EXPECT_NULL, "logits would be soft-capped" },
    { "query_pre_attn_scalar", EXPECT_NULL, "attention scores would be scaled differently" },
    { "attention_multiplier", EXPECT_NULL, "attention scores would be scaled differently" },
    { "attn_temperature_tuning", EXPECT_OFF, "attention scores would be scaled differently" },
    { "logit_scale", EXPECT_ONE, "logits would be scaled" },
    { "logits_scaling", EXPECT_ONE, "logits would be scaled" },
    { "lm_head_multiplier", EXPECT_ONE, "logits would be scaled" },
    { "residual_multiplier", EXPECT_ONE, "residual branches would be scaled" },
    { "scale_depth", EXPECT_NULL, "residual branches would be scaled" },
    { "embedding_multiplier", EXPECT_ONE, "embeddings would be scaled" },
    { "scale_emb", EXPECT_ONE, "embeddings would be scaled" },
    { "use_parallel_residual", EXPECT_OFF, "attention and feed-forward would run side by side" },
    { "is_causal", EXPECT_TRUE, "attention would look ahead" },
    { "is_encoder_decoder", EXPECT_OFF, "the model would have an encoder" },
    { "add_cross_attention", EXPECT_OFF, "the model would have an encoder" },
    { "num_experts", EXPECT_OFF, "the model would be a mixture of experts" },
    { "num_local_experts", EXPECT_OFF, "the model would be a mixture of experts" },
    { "n_routed_experts", EXPECT_OFF, "the model would be a mixture of experts" },
    { "num_nextn_predict_layers", EXPECT_OFF, "the model would have extra prediction layers" },
    { "draft_vocab_size", EXPECT_NULL, "the model would be a draft head of another one" },
    { "text_config", EXPECT_NULL, "the model would have several parts" },
    { "vision_config", EXPECT_NULL, "the model would have several parts" },
};

static const char *const expected_words[] = {
    [EXPECT_OFF] = "false, 0 or null",     [EXPECT_TRUE] = "true", [EXPECT_ONE] = "1", [EXPECT_NULL] = "null",
    [EXPECT_FULL] = "only full_attention",
};

const struct config_rule *config_rule(const char *key)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (!strcmp(key, rules[i].key))
            return &rules[i];
    return NULL;
}

static bool all_full(const struct json *v)
{
    if (json_kind(v) != JSON_ARRAY)
        return false;
    for (const struct json *e = json_first(v); e; e = json_next(e))
        if (!json_str(e) || strcmp(json_str(e), "full_attention"))
            return false;
    return true;
}

static bool harmless(enum config_expect expect, const struct json *v)
{
    bool b = false;
    double d = 0;
    bool is_bool = json_bool(v, &b), is_number = json_f64(v, &d);

    if (json_is_null(v))
        return true;
    switch (expect) {
    case EXPECT_USED:
    case EXPECT_ANY:
        return true;
    case EXPECT_OFF:
        if (is_bool)
            return !b;
        if (is_number)
            return d == 0;
        return (json_kind(v) == JSON_ARRAY || json_kind(v) == JSON_OBJECT) && json_count(v) == 0;
    case EXPECT_TRUE:
        return is_bool && b;
    case EXPECT_ONE:
        return is_number && d == 1;
    case EXPECT_NULL:
        return false;
    case EXPECT_FULL:
        return all_full(v);
    }
    return false;
}

static void describe(char *buf, size_t n, const struct json *v)
{
    bool b;
    double d;
    char quoted[64];
    if (json_bool(v, &b))
        snprintf(buf, n, "%s", b ? "true" : "false");
    else if (json_f64(v, &d))
        snprintf(buf, n, "%g", d);
    else if (json_str(v))
        snprintf(buf, n, "\"%s\"", text_quote(quoted, sizeof quoted, json_str(v), strlen(json_str(v))));
    else
        snprintf(buf, n, "%s", json_kind_name(v));
}

static int note_unknown(const struct config *c, struct notes *notes, struct error *err)
{
    char list[1024] = "", one[96];
    size_t n = 0, used = 0;
    for (size_t i = 0; i < c->n_keys; i++) {
        if (c->keys[i].status != CONFIG_UNKNOWN)
            continue;
        text_quote(one, sizeof one, c->keys[i].name, strlen(c->keys[i].name));
        size_t len = strlen(one);
        if (used + len + 3 < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", n ? ", " : "", one);
        n++;
    }
    if (!n)
        return 0;
    return notes_add(notes, true, err, "config.json: %zu member%s of unknown meaning ignored: %s", n, n == 1 ? "" : "s",
                     list);
}

int config_apply_rules(struct config *c, struct notes *notes, struct error *err)
{
    const struct json *root = json_root(c->doc);
    c->keys = mem_zalloc(json_count(root), sizeof *c->keys, "config members", err);
    if (!c->keys)
        return ERROR_NOMEM;

    for (const struct json *v = json_first(root); v; v = json_next(v)) {
        const char *key = json_key(v);
        const struct config_rule *r = config_rule(key);
        struct config_key *k = &c->keys[c->n_keys++];
        *k = (struct config_key){ .name = key, .status = CONFIG_UNKNOWN };
        if (!r)
            continue;
        if (!harmless(r->expect, v)) {
            char found[96];
            describe(found, sizeof found, v);
            return error_set(err, ERROR_UNSUPPORTED, "config.json: %s: %s is not supported: %s (expected %s)", key,
                             found, r->why, expected_words[r->expect]);
        }
        k->status = r->expect == EXPECT_ANY ? CONFIG_IGNORED : CONFIG_USED;
        k->why = r->expect == EXPECT_ANY ? r->why : NULL;
    }
    return note_unknown(c, notes, err);
}
