/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/util/json.h"
#include "runtime/chat.h"
#include "tests/support/support.h"

#define SMOLLM2                                                                                                        \
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"     \
    "You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'<|im_start|>' " \
    "+ "                                                                                                               \
    "message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ " \
    "'<|im_start|>assistant\n' }}{% endif %}"
#define QWEN25                                                                                                         \
    "{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' " \
    "}}"                                                                                                               \
    "{%- else %}{{- '<|im_start|>system\\nYou are Qwen.<|im_end|>\\n' }}{%- endif %}..."
#define LLAMA31                                                                                                        \
    "{%- if not date_string is defined %}{%- set date_string = \"26 Jul 2024\" %}{%- endif %}{{- "                     \
    "\"<|start_header_id|>"                                                                                            \
    "system<|end_header_id|>\\n\\n\" }}{{- \"Cutting Knowledge Date: December 2023\\n\" }}"
#define LLAMA2                                                                                                         \
    "{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}{{ bos_token + "      \
    "'[INST] ' + "                                                                                                     \
    "content.strip() + ' [/INST]' }}{{ ' '  + content.strip() + ' ' + eos_token }}"

static const struct chat_message one[] = { { "user", " Hi\n" } };
static const struct chat_message two[] = { { "system", "Be brief." }, { "user", "Hi" } };
static const struct chat_message four[] = { { "system", "S" }, { "user", "a" }, { "assistant", "b" }, { "user", "c" } };

#define CASE(t, m, p, text)                                                                                            \
    {                                                                                                                  \
        t, m, sizeof m / sizeof *m, p, text                                                                            \
    }

START_TEST(families)
{
    static const struct {
        const char *template;
        const struct chat_message *messages;
        size_t n;
        bool prompt;
        const char *text;
    } rows[] = {
        CASE(SMOLLM2, one, true,
             "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
             "<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n"),
        CASE(SMOLLM2, two, false, "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"),
        CASE(QWEN25, one, true,
             "<|im_start|>system\nYou are Qwen.<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n"
             "<|im_start|>assistant\n"),
        CASE("<|im_start|> plain", four, true,
             "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>"
             "assistant\nb<|im_end|>\n<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n"),
        CASE("<|im_start|> <|im_sep|>", two, true,
             "<|im_start|>system<|im_sep|>Be brief.<|im_end|><|im_start|>user<|im_sep|>"
             "Hi<|im_end|><|im_start|>assistant<|im_sep|>"),
        CASE("<|start_header_id|> <|end_header_id|>", one, true,
             "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
             "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        CASE(LLAMA31, one, false,
             "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday "
             "Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"),
        CASE(LLAMA31, two, false,
             "<|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\nToday "
             "Date: 26 Jul 2024\n\nBe brief.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHi"
             "<|eot_id|>"),
        CASE("<|header_start|> <|header_end|>", one, true,
             "<|header_start|>user<|header_end|>\n\nHi<|eot|><|header_start|>"
             "assistant<|header_end|>\n\n"),
        CASE("<|user|> <|assistant|> <|end|>", two, true,
             "<|system|>\nBe brief.<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\n"),
        CASE("<|user|> <|endoftext|>", two, true,
             "<|system|>\nBe brief.<|endoftext|>\n<|user|>\nHi<|endoftext|>\n"
             "<|assistant|>\n"),
        CASE("<start_of_turn>", four, true,
             "<start_of_turn>user\nS\n\na<end_of_turn>\n<start_of_turn>model\nb<end_of_turn>\n"
             "<start_of_turn>user\nc<end_of_turn>\n<start_of_turn>model\n"),
        CASE("<|start_of_role|>", one, true,
             "<|start_of_role|>user<|end_of_role|> Hi\n<|end_of_text|>\n<|start_of_role|>"
             "assistant<|end_of_role|>"),
        CASE(LLAMA2, four, true, "[INST] <<SYS>>\nS\n<</SYS>>\n\na [/INST] b </s><s>[INST] c [/INST]"),
        CASE("[INST] plain", four, true, "[INST] S\na [/INST]b</s>[INST] c [/INST]"),
        CASE("' [INST] ' + system_message", four, true, " [INST] S\n\na [/INST] b</s> [INST] c [/INST]"),
        CASE("[AVAILABLE_TOOLS] [/INST]\"[INST]\"", four, true, "[INST]S\n\na[/INST]b</s>[INST]c[/INST]"),
        CASE("[SYSTEM_PROMPT] [INST]", four, true,
             "[SYSTEM_PROMPT] S[/SYSTEM_PROMPT][INST] a[/INST] b</s>[INST] c[/INST]"),
        CASE("<\uff5cUser\uff5c><\uff5cAssistant\uff5c>", four, true,
             "S\n\n<\uff5cUser\uff5c>a<\uff5cAssistant\uff5c>b"
             "<\uff5cend\u2581of\u2581sentence\uff5c><\uff5cUser\uff5c>c<\uff5cAssistant\uff5c>"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        struct buffer out = { 0 };
        ck_ok(chat_apply(rows[i].template, rows[i].messages, rows[i].n, rows[i].prompt, &out, &e), e);
        ck_assert_msg(strcmp(out.data, rows[i].text) == 0, "row %zu: %s", i, out.data);
        buffer_free(&out);
    }
}
END_TEST

START_TEST(unknown_template)
{
    struct error e = { 0 };
    struct buffer out = { 0 };
    static const char template[] =
        "{% for m in messages %}\n{{ '### ' + m.role + ': ' + m.content }} and much more text follows";
    ck_assert_int_eq(chat_apply(template, one, 1, true, &out, &e), ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(e.text, "{% for m in messages %}"));
    ck_assert_ptr_null(strstr(e.text, "much more"));
    ck_assert_ptr_null(strchr(e.text, '\n'));
    ck_assert_int_eq(chat_apply("", one, 1, true, &out, &e), ERROR_UNSUPPORTED);
    ck_assert_int_eq(chat_apply("<|im_start|> <end_of_utterance>", one, 1, true, &out, &e), ERROR_UNSUPPORTED);
    ck_assert_uint_eq(out.len, 0);
    buffer_free(&out);
}
END_TEST

START_TEST(demo_model)
{
    struct error e = { 0 };
    struct json_doc *config = NULL, *reference = NULL;
    struct buffer out = { 0 };
    const struct chat_message m = { "user", "What grows in the walled garden?" };
    ck_ok(json_parse_file(&config, support_path("data/garden-3m/tokenizer_config.json"), 1 << 24, 32, &e), e);
    ck_ok(json_parse_file(&reference, support_path("data/garden-3m/reference.json"), 1 << 24, 32, &e), e);
    ck_ok(chat_apply(json_str(json_get(json_root(config), "chat_template")), &m, 1, true, &out, &e), e);
    ck_assert_str_eq(out.data, json_str(json_get(json_root(reference), "chat_template_example")));
    buffer_free(&out);
    json_free(config);
    json_free(reference);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("chat");
    TCase *c = tcase_create("all");
    tcase_add_test(c, families);
    tcase_add_test(c, unknown_template);
    tcase_add_test(c, demo_model);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
