/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/convert/folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util/bytes.h"
#include "base/util/file.h"
#include "base/util/mem.h"
#include "tests/support/support.h"

const char folder_config[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\",\"hidden_size\":8,\"intermediate_size\":8,"
    "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":1,\"vocab_size\":8,"
    "\"max_position_embeddings\":32,\"rms_norm_eps\":1e-05,\"rope_theta\":10000.0,\"tie_word_embeddings\":true}";

#define LAYER "model.layers.0."
const struct folder_tensor folder_tensors[FOLDER_N] = {
    { "model.embed_tokens.weight", "F16", 8, 8, NULL },
    { LAYER "input_layernorm.weight", "F16", 8, 0, NULL },
    { LAYER "self_attn.q_proj.weight", "F16", 8, 8, NULL },
    { LAYER "self_attn.k_proj.weight", "F16", 4, 8, NULL },
    { LAYER "self_attn.v_proj.weight", "F16", 4, 8, NULL },
    { LAYER "self_attn.o_proj.weight", "F16", 8, 8, NULL },
    { LAYER "post_attention_layernorm.weight", "F16", 8, 0, NULL },
    { LAYER "mlp.gate_proj.weight", "F16", 8, 8, NULL },
    { LAYER "mlp.up_proj.weight", "F16", 8, 8, NULL },
    { LAYER "mlp.down_proj.weight", "F16", 8, 8, NULL },
    { "model.norm.weight", "F16", 8, 0, NULL },
};

static size_t width(const char *dtype)
{
    return !strcmp(dtype, "I64") ? 8 : !strcmp(dtype, "F32") ? 4 : 2;
}

static size_t bytes_of(const struct folder_tensor *t)
{
    return (size_t)(t->rows * (t->cols ? t->cols : 1)) * width(t->dtype);
}

/* Finite in every float type: the exponent's top bit stays clear. */
static void pattern(uint8_t *out, size_t n, const char *name)
{
    uint32_t x = 2166136261u;
    for (; *name; name++)
        x = (x ^ (uint8_t)*name) * 16777619u;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        out[i] = (uint8_t)(x >> 24) & 0xbf;
    }
}

void folder_text(const char *dir, const char *name, const char *text)
{
    struct error err = { 0 };
    char *path = file_join(dir, name, &err);
    ck_ok(file_write_all(path, text, strlen(text), true, &err), err);
    mem_free(path);
}

void folder_write(const char *dir, const char *name, const char *config, const struct folder_tensor *t, size_t n)
{
    struct error err = { 0 };
    struct buffer b = { 0 };
    uint8_t length[8];
    size_t at = 0;
    char *path = NULL;

    mkdir(dir, 0777);
    if (config)
        folder_text(dir, "config.json", config);
    ck_ok(buffer_printf(&b, &err, "        {"), err);
    for (size_t i = 0; i < n; i++) {
        char cols[32] = "";
        if (t[i].cols)
            snprintf(cols, sizeof cols, ",%" PRIu64, t[i].cols);
        ck_ok(buffer_printf(&b, &err,
                            "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[%" PRIu64 "%s],\"data_offsets\":[%zu,%zu]}",
                            i ? "," : "", t[i].name, t[i].dtype, t[i].rows, cols, at, at + bytes_of(&t[i])),
              err);
        at += bytes_of(&t[i]);
    }
    ck_ok(buffer_printf(&b, &err, "}"), err);
    bytes_put_u64(length, b.len - 8);
    memcpy(b.data, length, 8);
    for (size_t i = 0; i < n; i++) {
        uint8_t *data = malloc(bytes_of(&t[i]) + 1);
        ck_assert_ptr_nonnull(data);
        if (t[i].data)
            memcpy(data, t[i].data, bytes_of(&t[i]));
        else
            pattern(data, bytes_of(&t[i]), t[i].name);
        ck_ok(buffer_append(&b, data, bytes_of(&t[i]), &err), err);
        free(data);
    }
    path = file_join(dir, name, &err);
    ck_ok(file_write_all(path, b.data, b.len, true, &err), err);
    mem_free(path);
    buffer_free(&b);
}

void folder_parse(struct config *c, const char *text)
{
    struct error err = { 0 };
    struct notes notes = { 0 };
    ck_ok(config_parse(c, text, strlen(text), "config.json", &notes, &err), err);
    notes_free(&notes);
}
