/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util/mem.h"
#include "convert/config.h"
#include "convert/family.h"
#include "tests/convert/folder.h"
#include "tests/support/support.h"

/* The common config with `arch` and with `extra` members (",\"a\":1") added. */
static const char *with(const char *arch, const char *type, const char *extra)
{
    static char text[4096];
    snprintf(text, sizeof text,
             "{\"architectures\":[\"%s\"],\"model_type\":\"%s\",\"hidden_size\":64,\"intermediate_size\":96,"
             "\"num_hidden_layers\":2,\"num_attention_heads\":4,\"num_key_value_heads\":2,\"vocab_size\":320,"
             "\"max_position_embeddings\":256,\"rms_norm_eps\":1e-05%s}",
             arch, type, extra);
    return text;
}

static const char *llama(const char *extra)
{
    return with("LlamaForCausalLM", "llama", extra);
}

static void refuse(const char *text, int code, const char *words)
{
    struct config c;
    struct notes notes = { 0 };
    struct error err = { 0 };
    int rc = config_parse(&c, text, strlen(text), "config.json", &notes, &err);
    ck_assert_msg(rc == code, "%s: code %d (%s), expected %d", text, rc, err.text, code);
    ck_assert_msg(strstr(err.text, words) && !strchr(err.text, '\n'), "%s: \"%s\" lacks \"%s\"", text, err.text, words);
    ck_assert_ptr_null(c.doc);
    notes_free(&notes);
}

START_TEST(reads_the_facts)
{
    struct config c;
    folder_parse(&c, llama(",\"rope_theta\":500000,\"tie_word_embeddings\":false,\"torch_dtype\":\"bfloat16\""));
    ck_assert_str_eq(c.family->gguf, "llama");
    ck_assert_uint_eq(c.n_layer, 2);
    ck_assert_uint_eq(c.n_ctx, 256);
    ck_assert_uint_eq(c.n_embd, 64);
    ck_assert_uint_eq(c.n_ff, 96);
    ck_assert_uint_eq(c.n_head, 4);
    ck_assert_uint_eq(c.n_head_kv, 2);
    ck_assert_uint_eq(c.head_dim, 16);
    ck_assert_uint_eq(c.n_vocab, 320);
    ck_assert(c.rope_theta == 500000 && c.rms_eps == 1e-5);
    ck_assert_int_eq(c.tied, CONFIG_UNTIED);
    ck_assert_int_eq(c.rope.type, CONFIG_ROPE_DEFAULT);
    ck_assert_str_eq(c.stored_dtype, "bfloat16");
    config_close(&c);
}
END_TEST

START_TEST(family_defaults)
{
    struct config c;
    folder_parse(&c, "{\"model_type\":\"llama\",\"hidden_size\":64,\"intermediate_size\":96,\"num_hidden_layers\":2,"
                     "\"num_attention_heads\":4,\"vocab_size\":320,\"max_position_embeddings\":256}");
    ck_assert_str_eq(c.architecture, "LlamaForCausalLM");
    ck_assert_uint_eq(c.n_head_kv, 4);
    ck_assert(c.rope_theta == 10000 && c.rms_eps == 1e-6);
    ck_assert_int_eq(c.tied, CONFIG_TIED_UNSAID);
    config_close(&c);
    folder_parse(&c, with("Qwen3ForCausalLM", "qwen3", ""));
    ck_assert_uint_eq(c.head_dim, 128);
    config_close(&c);
    folder_parse(&c, with("LLaMAForCausalLM", "llama", ",\"head_dim\":24"));
    ck_assert_uint_eq(c.head_dim, 24);
    config_close(&c);
}
END_TEST

START_TEST(rope_in_both_spellings)
{
    static const char *const texts[] = {
        ",\"rope_theta\":1e6,\"rope_scaling\":{\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,"
        "\"high_freq_factor\":4.0,\"original_max_position_embeddings\":32}",
        ",\"rope_parameters\":{\"rope_theta\":1e6,\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,"
        "\"high_freq_factor\":4,\"original_max_position_embeddings\":32}",
    };
    for (size_t i = 0; i < 2; i++) {
        struct config c;
        folder_parse(&c, llama(texts[i]));
        ck_assert_int_eq(c.rope.type, CONFIG_ROPE_LLAMA3);
        ck_assert(c.rope_theta == 1e6 && c.rope.factor == 8 && c.rope.low_freq == 1 && c.rope.high_freq == 4);
        ck_assert_uint_eq(c.rope.orig_ctx, 32);
        config_close(&c);
    }
}
END_TEST

START_TEST(yarn_and_linear)
{
    struct config c;
    folder_parse(&c, llama(",\"rope_scaling\":{\"type\":\"linear\",\"factor\":2.5}"));
    ck_assert_int_eq(c.rope.type, CONFIG_ROPE_LINEAR);
    ck_assert(c.rope.factor == 2.5);
    config_close(&c);

    folder_parse(
        &c, llama(",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"beta_fast\":16,\"extrapolation_factor\":1}"));
    ck_assert_int_eq(c.rope.type, CONFIG_ROPE_YARN);
    ck_assert_uint_eq(c.rope.orig_ctx, 256);
    ck_assert(c.rope.has_beta_fast && c.rope.beta_fast == 16 && !c.rope.has_beta_slow && !c.rope.has_attn);
    config_close(&c);

    /* A stated factor of 0.1 ln 4 + 1 is what readers use anyway; another one is written relative to it. */
    folder_parse(&c, llama(",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"original_max_position_embeddings\":64,"
                           "\"attention_factor\":1.138629436111989}"));
    ck_assert_uint_eq(c.rope.orig_ctx, 64);
    ck_assert(!c.rope.has_attn);
    config_close(&c);
    folder_parse(&c, llama(",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"attention_factor\":1}"));
    ck_assert(c.rope.has_attn && fabs(c.rope.attn_factor * (1 + 0.1 * log(4)) - 1) < 1e-12);
    config_close(&c);
}
END_TEST

START_TEST(every_member_has_a_status)
{
    struct config c;
    struct notes notes = { 0 };
    struct error err = { 0 };
    const char *text = llama(",\"use_cache\":true,\"flux_capacitor\":88,\"mlp_bias\":false,\"_name_or_path\":\"a/b\"");
    ck_ok(config_parse(&c, text, strlen(text), "config.json", &notes, &err), err);
    ck_assert_uint_eq(c.n_keys, 14);
    enum config_status cache = CONFIG_UNKNOWN, flux = CONFIG_USED, bias = CONFIG_UNKNOWN;
    for (size_t i = 0; i < c.n_keys; i++) {
        if (!strcmp(c.keys[i].name, "use_cache"))
            cache = c.keys[i].status;
        if (!strcmp(c.keys[i].name, "flux_capacitor"))
            flux = c.keys[i].status;
        if (!strcmp(c.keys[i].name, "mlp_bias"))
            bias = c.keys[i].status;
    }
    ck_assert_int_eq(cache, CONFIG_IGNORED);
    ck_assert_int_eq(flux, CONFIG_UNKNOWN);
    ck_assert_int_eq(bias, CONFIG_USED);
    ck_assert_str_eq(c.name_or_path, "a/b");
    ck_assert_uint_eq(notes.n, 2); /* rope_theta assumed; one unknown member */
    ck_assert(notes.items[1].warning && strstr(notes.items[1].text, "flux_capacitor"));
    notes_free(&notes);
    config_close(&c);
}
END_TEST

START_TEST(refuses_what_changes_the_arithmetic)
{
    static const struct {
        const char *extra, *words;
    } rows[] = {
        { ",\"attention_bias\":true", "attention_bias: true" },
        { ",\"mlp_bias\":true", "mlp_bias: true" },
        { ",\"hidden_act\":\"gelu\"", "hidden_act: gelu" },
        { ",\"use_sliding_window\":true", "use_sliding_window" },
        { ",\"layer_types\":[\"full_attention\",\"sliding_attention\"]", "layer_types" },
        { ",\"partial_rotary_factor\":0.5", "partial_rotary_factor: 0.5" },
        { ",\"logit_scale\":0.0625", "logit_scale" },
        { ",\"num_local_experts\":8", "num_local_experts" },
        { ",\"is_causal\":false", "is_causal" },
        { ",\"rope_interleaved\":true", "rope_interleaved" },
        { ",\"vision_config\":{\"a\":1}", "vision_config" },
        { ",\"head_dim\":15", "head_dim: 15 is odd" },
        { ",\"quantization_config\":{\"quant_method\":\"gptq\",\"bits\":4}", "gptq" },
        { ",\"quantization\":{\"bits\":2,\"group_size\":64}", "2 bits" },
        { ",\"compression_config\":{\"quant_method\":\"compressed-tensors\"}", "compressed-tensors" },
        { ",\"rope_scaling\":{\"rope_type\":\"banana\",\"factor\":2}", "banana" },
        { ",\"rope_scaling\":{\"rope_type\":\"dynamic\",\"factor\":2}", "dynamic" },
        { ",\"rope_scaling\":{\"type\":\"longrope\"}", "longrope" },
        { ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"mscale\":1}", "mscale" },
        { ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"truncate\":false}", "truncate" },
        { ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":1}}", "layer type" },
        { ",\"rope_parameters\":{\"rope_theta\":1e4,\"partial_rotary_factor\":0.25}", "partial_rotary_factor" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refuse(llama(rows[i].extra), ERROR_UNSUPPORTED, rows[i].words);
    refuse(with("Qwen3ForCausalLM", "qwen3",
                ",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8,\"low_freq_factor\":1,\"high_freq_factor\":4,"
                "\"original_max_position_embeddings\":32}"),
           ERROR_UNSUPPORTED, "llama3");
    refuse(with("FooBarForCausalLM", "llama", ""), ERROR_UNSUPPORTED, "FooBarForCausalLM");
    refuse("{\"model_type\":\"phi3\"}", ERROR_UNSUPPORTED, "phi3");
}
END_TEST

START_TEST(refuses_nonsense)
{
    static const struct {
        const char *extra, *words;
    } rows[] = {
        { ",\"hidden_act\":7", "hidden_act" },
        { ",\"rope_scaling\":\"linear\"", "rope_scaling" },
        { ",\"rope_scaling\":{\"type\":\"linear\"}", "factor" },
        { ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":-1}", "factor" },
        { ",\"rope_scaling\":{\"type\":\"linear\",\"rope_type\":\"yarn\",\"factor\":1}", "two different" },
        { ",\"rope_scaling\":{\"type\":\"llama3\",\"factor\":8}", "low_freq_factor" },
        { ",\"rope_scaling\":{\"type\":\"linear\",\"factor\":1e-300}", "factor" },
        { ",\"rope_theta\":0", "rope_theta" },
        { ",\"rope_theta\":1e4,\"rope_parameters\":{\"rope_theta\":1e5}", "rope_theta" },
        { ",\"tie_word_embeddings\":\"yes\"", "tie_word_embeddings" },
        { ",\"hidden_size\":8", "duplicate" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        refuse(llama(rows[i].extra), ERROR_FORMAT, rows[i].words);
    refuse(
        "{\"model_type\":\"qwen3\",\"hidden_size\":8,\"intermediate_size\":8,\"num_hidden_layers\":1,\"vocab_size\":8,"
        "\"num_attention_heads\":3,\"num_key_value_heads\":2,\"max_position_embeddings\":8}",
        ERROR_FORMAT, "num_key_value_heads 2");
    refuse("{}", ERROR_FORMAT, "architectures");
    refuse("[]", ERROR_FORMAT, "an object");
    refuse("{\"architectures\":[]}", ERROR_FORMAT, "architectures");
    refuse("{\"architectures\":[\"LlamaForCausalLM\"]}", ERROR_FORMAT, "hidden_size");
}
END_TEST

START_TEST(refuses_bad_numbers)
{
    static const char *const keys[] = { "hidden_size",         "intermediate_size", "num_hidden_layers",
                                        "num_attention_heads", "vocab_size",        "max_position_embeddings" };
    static const char *const values[] = { "0", "-8", "9223372036854775807", "8.5", "1e3", "\"8\"", "null" };
    char text[1024];
    for (size_t k = 0; k < 6; k++)
        for (size_t v = 0; v < 7; v++) {
            size_t at = (size_t)snprintf(text, sizeof text, "{\"architectures\":[\"LlamaForCausalLM\"]");
            for (size_t i = 0; i < 6; i++)
                at += (size_t)snprintf(text + at, sizeof text - at, ",\"%s\":%s", keys[i], i == k ? values[v] : "8");
            snprintf(text + at, sizeof text - at, "}");
            refuse(text, ERROR_FORMAT, keys[k]);
        }
}
END_TEST

START_TEST(null_quantisation_is_none)
{
    struct config c;
    folder_parse(&c, llama(",\"quantization\":{\"bits\":null},\"quantization_config\":null"));
    config_close(&c);
}
END_TEST

START_TEST(mistral_windows)
{
    static const struct {
        const char *extra;
        int code;
    } rows[] = { { ",\"sliding_window\":null", 0 },
                 { ",\"sliding_window\":256", 0 },
                 { ",\"sliding_window\":4096", 0 },
                 { "", 0 }, /* absent: 4096, above this context */
                 { ",\"sliding_window\":255", ERROR_UNSUPPORTED },
                 { ",\"sliding_window\":-1", ERROR_FORMAT } };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct config c;
        if (rows[i].code) {
            refuse(with("MistralForCausalLM", "mistral", rows[i].extra), rows[i].code, "sliding_window");
        } else {
            folder_parse(&c, with("MistralForCausalLM", "mistral", rows[i].extra));
            ck_assert_str_eq(c.family->gguf, "llama");
            config_close(&c);
        }
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("config");
    TCase *c = tcase_create("config");
    suite_add_tcase(s, c);
    tcase_add_test(c, reads_the_facts);
    tcase_add_test(c, family_defaults);
    tcase_add_test(c, rope_in_both_spellings);
    tcase_add_test(c, yarn_and_linear);
    tcase_add_test(c, every_member_has_a_status);
    tcase_add_test(c, refuses_what_changes_the_arithmetic);
    tcase_add_test(c, refuses_nonsense);
    tcase_add_test(c, refuses_bad_numbers);
    tcase_add_test(c, null_quantisation_is_none);
    tcase_add_test(c, mistral_windows);
    return s;
}

int main(void)
{
    return support_main(suite);
}
