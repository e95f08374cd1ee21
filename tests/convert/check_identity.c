/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "convert/identity.h"
#include "tests/support/support.h"

/* Expectations: what gguf-py's metadata heuristics (gguf 0.17 and later) answer for the same names and counts. */
static const struct {
    const char *hub, *folder;
    uint64_t n_params;
    const char *want[6]; /* name, version, organization, finetune, basename, size_label */
} rows[] = {
    { NULL, "smollm2-135m", UINT64_C(134515008), { "Smollm2 135m", NULL, NULL, NULL, "smollm2", "135M" } },
    { NULL, "garden-3m", UINT64_C(2624256), { "Garden 3m", NULL, NULL, NULL, "garden", "3M" } },
    { NULL, "garden-3m-ternary", UINT64_C(2624256), { "Garden 3m Ternary", NULL, NULL, "ternary", "garden", "3M" } },
    { NULL, "dir_ok", UINT64_C(472), { "Dir_Ok", NULL, NULL, NULL, NULL, "0.47K" } },
    { NULL,
      "SmolLM2-135M-Instruct",
      UINT64_C(134515008),
      { "SmolLM2 135M Instruct", NULL, NULL, "Instruct", "SmolLM2", "135M" } },
    { "HuggingFaceTB/SmolLM2-1.7B",
      "snapshot",
      UINT64_C(1711376384),
      { "SmolLM2 1.7B", NULL, "HuggingFaceTB", NULL, "SmolLM2", "1.7B" } },
    { "meta-llama/Llama-3.2-1B-Instruct",
      "x",
      UINT64_C(1235814432),
      { "Llama 3.2 1B Instruct", NULL, "Meta Llama", "Instruct", "Llama-3.2", "1B" } },
    { NULL,
      "Meta-Llama-3.1-8B-Instruct",
      UINT64_C(8030261312),
      { "Meta Llama 3.1 8B Instruct", NULL, NULL, "Instruct", "Meta-Llama-3.1", "8B" } },
    { NULL, "Qwen3-0.6B-Base", UINT64_C(596049920), { "Qwen3 0.6B Base", NULL, NULL, "Base", "Qwen3", "0.6B" } },
    { NULL,
      "TinyLlama-1.1B-Chat-v1.0",
      UINT64_C(1100048384),
      { "TinyLlama 1.1B Chat v1.0", "v1.0", NULL, "Chat", "TinyLlama", "1.1B" } },
    { NULL, "TinyLlama_v1.1", UINT64_C(1100048384), { "TinyLlama_v1.1", NULL, NULL, NULL, NULL, "1.1B" } },
    { "/abs/path/model",
      "Mistral-7B-v0.3",
      UINT64_C(7248023552),
      { "Mistral 7B v0.3", "v0.3", NULL, NULL, "Mistral", "7B" } },
    { "./local", "bloom-7b1", UINT64_C(7069016064), { "Local", NULL, NULL, NULL, "bloom", "7.1B" } },
    { NULL, "Yi-34B-200K", UINT64_C(34388917248), { "Yi 34B 200K", NULL, NULL, "200k", "Yi", "34B" } },
    { NULL,
      "Phi-3-mini-4k-instruct",
      UINT64_C(3821079552),
      { "Phi 3 Mini 4k Instruct", NULL, NULL, "4k-instruct", "Phi-3", "mini" } },
    { NULL, "my model with spaces", UINT64_C(1000), { "My Model With Spaces", NULL, NULL, NULL, NULL, "1.0K" } },
    { NULL, "model", UINT64_C(999), { "Model", NULL, NULL, NULL, NULL, "1.0K" } },
    { NULL, "a-b-c", UINT64_C(1000000), { "A B C", NULL, NULL, NULL, NULL, "1000K" } },
    { NULL, "v2-thing-small", UINT64_C(5000000), { "v2 Thing Small", NULL, NULL, NULL, "v2-thing", "small" } },
    { NULL, "gpt2-xl", UINT64_C(1557611200), { "Gpt2 Xl", NULL, NULL, NULL, "gpt2", "xl" } },
    { NULL,
      "foo-8x7B-q4_K_M-fp16",
      UINT64_C(46702792704),
      { "Foo 8x7B q4_K_M Fp16", NULL, NULL, NULL, "foo", "8x7B" } },
    { NULL,
      "Qwen1.5-MoE-A2.7B",
      UINT64_C(14315784192),
      { "Qwen1.5 MoE A2.7B", NULL, NULL, NULL, "Qwen1.5-MoE", "A2.7B" } },
    { NULL, "--x--1b-", UINT64_C(1000000000), { "X 1b", NULL, NULL, NULL, "x", "1B" } },
    { NULL, "7b-model", UINT64_C(7000000000), { "7b Model", NULL, NULL, "7b-model", NULL, "7.0B" } },
    { NULL, "OLMo-1B-0724-hf", UINT64_C(1279787008), { "OLMo 1B 0724 Hf", "0724", NULL, "hf", "OLMo", "1B" } },
    { NULL, "name_1_5B-2_5b", UINT64_C(2500000000), { "name_1_5B 2_5b", NULL, NULL, NULL, "name_1_5B", "2.5B" } },
    { NULL,
      "Falcon3-3B-Base-1.58bit",
      UINT64_C(3000000000),
      { "Falcon3 3B Base 1.58bit", NULL, NULL, "Base-1.58bit", "Falcon3", "3B" } },
    { NULL, "llama", UINT64_C(0), { "Llama", NULL, NULL, NULL, NULL, NULL } },
    { NULL, "tiny-1k", UINT64_C(1500), { "Tiny 1k", NULL, NULL, NULL, "tiny", "1K" } },
    { NULL,
      "iter3-model-12M-12m",
      UINT64_C(12000000),
      { "Iter3 Model 12M 12m", NULL, NULL, NULL, "iter3-model", "12M" } },
    { NULL,
      "UPPER-lower-MiXed-10x",
      UINT64_C(123456),
      { "UPPER Lower MiXed 10x", NULL, NULL, "10x", "UPPER-lower-MiXed", "123K" } },
    { NULL, "m-500", UINT64_C(1000000000000), { "M 500", "500", NULL, NULL, "m", "1000B" } },
    { NULL, "x-3T", UINT64_C(3000000000000), { "X 3T", NULL, NULL, NULL, "x", "3T" } },
    { NULL, "big-1.5", UINT64_C(2500000000000), { "Big 1.5", "1.5", NULL, NULL, "big", "2.5T" } },
};

START_TEST(same_as_gguf_py)
{
    static const char *const fields[] = { "name", "version", "organization", "finetune", "basename", "size_label" };
    struct identity id;
    struct error err = { 0 };
    ck_ok(identity_guess(&id, rows[_i].hub, rows[_i].folder, rows[_i].n_params, &err), err);
    const char *have[6] = { id.name, id.version, id.organization, id.finetune, id.basename, id.size_label };
    for (size_t k = 0; k < 6; k++)
        ck_assert_msg(!rows[_i].want[k] ? !have[k] : have[k] && !strcmp(have[k], rows[_i].want[k]),
                      "%s: %s is %s, expected %s", rows[_i].folder, fields[k], have[k] ? have[k] : "absent",
                      rows[_i].want[k] ? rows[_i].want[k] : "absent");
    identity_free(&id);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("identity");
    TCase *c = tcase_create("identity");
    suite_add_tcase(s, c);
    tcase_add_loop_test(c, same_as_gguf_py, 0, sizeof rows / sizeof rows[0]);
    return s;
}

int main(void)
{
    return support_main(suite);
}
