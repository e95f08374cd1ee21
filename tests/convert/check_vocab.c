/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util/bytes.h"
#include "base/util/file.h"
#include "convert/vocab.h"
#include "tests/convert/folder.h"
#include "tests/support/support.h"

#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,\"use_regex\":true}"
#define DIGITS "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true}," BYTES "]}"
#define VOCAB "{\"a\":0,\"b\":1,\"ab\":2,\"c\":3,\"<eos>\":4,\"<bos>\":5,\"<user>\":6,\"<|end|>\":7}"
#define MERGES "[\"a b\"]"
#define SPECIAL(id, text) "{\"id\":" id ",\"content\":\"" text "\",\"special\":true}"
#define PLAIN(id, text) "{\"id\":" id ",\"content\":\"" text "\",\"special\":false}"
#define ADDED "[" SPECIAL("4", "<eos>") "," SPECIAL("5", "<bos>") "," PLAIN("6", "<user>") "," PLAIN("7", "<|end|>") "]"
#define TOKENIZER(vocab, merges, added, pre, rest)                                                                     \
    "{\"model\":{\"type\":\"BPE\",\"vocab\":" vocab ",\"merges\":" merges "},\"added_tokens\":" added                  \
    ",\"pre_tokenizer\":" pre rest "}"
#define GOOD TOKENIZER(VOCAB, MERGES, ADDED, BYTES, "")

static char dir[512];

static const char *fresh(void)
{
    static int n;
    char name[32];
    snprintf(name, sizeof name, "checkpoint%d", n++);
    snprintf(dir, sizeof dir, "%s", support_tmp(name));
    mkdir(dir, 0777);
    return dir;
}

static int open_as(struct vocab **v, const char *config, uint64_t rows, const char *pre, struct error *e)
{
    struct json_doc *d = NULL;
    ck_ok(json_parse(&d, config, strlen(config), "config.json", 32, 0, e), *e);
    int code = vocab_open(v, dir, d, rows, pre, e);
    json_free(d);
    ck_assert((code == 0) == (*v != NULL));
    return code;
}

/* Open, write, read back. */
static void keys(struct gguf *g, const char *config, uint64_t rows, const char *notes)
{
    struct error e = { 0 };
    struct vocab *v = NULL;
    struct gguf_writer *w;
    char all[2048] = "";
    const char *path = support_tmp("vocab.gguf");
    ck_ok(open_as(&v, config, rows, NULL, &e), e);
    for (size_t i = 0; i < vocab_n_notes(v); i++) {
        strncat(all, vocab_note(v, i), sizeof all - strlen(all) - 1);
        strncat(all, "\n", sizeof all - strlen(all) - 1);
    }
    ck_assert_msg(notes ? strstr(all, notes) != NULL : !*all, "notes: %s", all);
    ck_assert_ptr_null(vocab_note(v, vocab_n_notes(v)));
    ck_ok(gguf_writer_new(&w, 32, &e), e);
    ck_ok(vocab_put(v, w, &e), e);
    ck_ok(gguf_writer_begin(w, path, true, &e), e);
    ck_ok(gguf_writer_commit(w, &e), e);
    gguf_writer_free(w);
    vocab_free(v);
    ck_ok(gguf_open(g, path, 0, &e), e);
}

/* "key=value" of every key, in order; arrays of numbers as a,b,c and of strings as a|b|c. */
static const char *dump(const struct gguf *g)
{
    static char out[8192];
    size_t len = 0;
    out[0] = '\0';
    for (size_t k = 0; k < g->n_kv; k++) {
        const struct gguf_kv *kv = &g->kv[k];
        enum gguf_type type = kv->type == GGUF_ARRAY ? kv->elem : kv->type;
        const char *key = strncmp(kv->key, "tokenizer.", 10) == 0 ? kv->key + 10 : kv->key;
        len += (size_t)snprintf(out + len, sizeof out - len, "%s=", key);
        struct gguf_str s;
        size_t cursor = 0;
        for (uint64_t i = 0; i < kv->count; i++) {
            if (type == GGUF_STRING && gguf_next_str(kv, &cursor, &s))
                len += (size_t)snprintf(out + len, sizeof out - len, "%s%.*s", i ? "|" : "", (int)s.n, s.s);
            else if (type == GGUF_BOOL)
                len += (size_t)snprintf(out + len, sizeof out - len, "%s", *kv->value ? "true" : "false");
            else
                len += (size_t)snprintf(out + len, sizeof out - len, "%s%d", i ? "," : "",
                                        (int)bytes_get_u32(kv->value + 4 * i));
        }
        len += (size_t)snprintf(out + len, sizeof out - len, "\n");
    }
    return out;
}

#define HEAD(pre, tokens, types)                                                                                       \
    "ggml.model=gpt2\nggml.pre=" pre "\nggml.tokens=" tokens "\nggml.token_type=" types "\n"
#define TOKENS "a|b|ab|c|<eos>|<bos>|<user>|<|end|>"
#define TYPES "1,1,1,1,3,3,4,3" /* <|end|> looks special */
#define PLAIN_HEAD(pre) HEAD(pre, TOKENS, TYPES) "ggml.merges=a b\n"

START_TEST(keys_and_their_order)
{
    static const struct {
        const char *tokenizer, *tokenizer_config, *generation, *config;
        uint64_t rows;
        const char *want, *notes;
    } rows[] = {
        { GOOD, NULL, NULL, "{}", 8, PLAIN_HEAD("gpt-2"), NULL },
        { TOKENIZER(VOCAB, "[[\"a\",\"b\"]]", ADDED, DIGITS, ""), NULL, NULL, "{}", 8, PLAIN_HEAD("smollm"), NULL },
        /* by content among the added tokens first, config.json's ids for the rest */
        { GOOD,
          "{\"eos_token\":{\"content\":\"<eos>\"},\"bos_token\":null,\"add_bos_token\":true,\"chat_template\":\"T\"}",
          NULL, "{\"bos_token_id\":5,\"eos_token_id\":4,\"pad_token_id\":0}", 8,
          PLAIN_HEAD(
              "gpt-2") "ggml.eos_token_id=4\nggml.bos_token_id=5\nggml.padding_token_id=0\nggml.add_bos_token=true\n"
                       "chat_template=T\n",
          NULL },
        /* every stop id is kept, files that disagree are named */
        { GOOD, "{\"eos_token\":\"<eos>\"}", "{\"eos_token_id\":[7,4]}", "{\"eos_token_id\":5}", 8,
          PLAIN_HEAD("gpt-2") "ggml.eos_token_id=4\nggml.eot_token_id=7\nternpack.eos_token_ids=4,7,5\n",
          "config.json: eos_token_id 5 differs from 4" },
        { GOOD, NULL, "{\"eos_token_id\":[7,4]}", "{}", 8,
          PLAIN_HEAD("gpt-2") "ggml.eos_token_id=7\nternpack.eos_token_ids=7,4\n", NULL },
        { GOOD, "{\"bos_token\":\"<bos>\"}", NULL, "{\"bos_token_id\":4}", 8,
          PLAIN_HEAD("gpt-2") "ggml.bos_token_id=5\n", "bos_token_id 4 differs" },
        { GOOD, NULL, NULL, "{\"pad_token_id\":-1,\"eos_token_id\":99,\"bos_token_id\":5}", 8,
          PLAIN_HEAD("gpt-2") "ggml.bos_token_id=5\n", "pad_token_id -1 is no token" },
        /* the class for Llama: add_space_prefix first */
        { GOOD, "{\"add_prefix_space\":false}", NULL, "{\"architectures\":[\"LlamaForCausalLM\"]}", 8,
          "ggml.add_space_prefix=false\n" PLAIN_HEAD("gpt-2"), NULL },
        { GOOD, "{\"add_prefix_space\":false}", NULL, "{\"architectures\":[\"Qwen3ForCausalLM\"]}", 8,
          PLAIN_HEAD("gpt-2"), NULL },
        /* rows without tokens, also between them */
        { GOOD, NULL, NULL, "{}", 10, HEAD("gpt-2", TOKENS "|[PAD8]|[PAD9]", TYPES ",5,5") "ggml.merges=a b\n",
          "8 tokens for 10 embedding rows" },
        { TOKENIZER("{\"a\":0,\"b\":1,\"ab\":3}", MERGES, "[]", BYTES, ""), NULL, NULL, "{}", 4,
          HEAD("gpt-2", "a|b|[PAD2]|ab", "1,1,5,1") "ggml.merges=a b\n", "some between other tokens" },
        /* a post-processor that adds BOS */
        { TOKENIZER(
              VOCAB, MERGES, ADDED, BYTES,
              ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"<bos>\"}},"
              "{\"Sequence\":{\"id\":\"A\"}}],\"pair\":[{\"SpecialToken\":{\"id\":\"<bos>\"}},{\"Sequence\":{\"id\":"
              "\"A\"}},"
              "{\"SpecialToken\":{\"id\":\"<bos>\"}},{\"Sequence\":{\"id\":\"B\"}}]}"),
          "{\"bos_token\":\"<bos>\",\"eos_token\":\"<eos>\"}", NULL, "{}", 8,
          PLAIN_HEAD(
              "gpt-2") "ggml.bos_token_id=5\nggml.eos_token_id=4\nggml.add_bos_token=true\nggml.add_sep_token=false\n",
          NULL },
        /* what llama.cpp cannot say goes to keys of our own */
        { TOKENIZER(VOCAB, MERGES, ADDED, BYTES, ",\"normalizer\":{\"type\":\"NFC\"}"), NULL, NULL, "{}", 8,
          PLAIN_HEAD("gpt-2") "ternpack.tokenizer.nfc=true\n", NULL },
        { "{\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,\"vocab\":" VOCAB ",\"merges\":" MERGES
          "},\"added_tokens\":" ADDED ",\"pre_tokenizer\":" BYTES "}",
          NULL, NULL, "{}", 8, PLAIN_HEAD("gpt-2") "ternpack.tokenizer.ignore_merges=true\n", NULL },
        /* named templates */
        { GOOD,
          "{\"chat_template\":[{\"name\":\"default\",\"template\":\"D\"},{\"name\":\"tool use\",\"template\":\"U\"}]}",
          NULL, "{}", 8, PLAIN_HEAD("gpt-2") "chat_template.tool_use=U\nchat_templates=tool_use\nchat_template=D\n",
          NULL },
        /* tokenizer_config.json says what is special */
        { GOOD, "{\"added_tokens_decoder\":{\"6\":{\"content\":\"<user>\",\"special\":true}}}", NULL, "{}", 8,
          HEAD("gpt-2", TOKENS, "1,1,1,1,3,3,3,3") "ggml.merges=a b\n", NULL },
        { TOKENIZER(VOCAB, MERGES, "[{\"id\":6,\"content\":\"<user>\",\"special\":false,\"lstrip\":true}]", BYTES, ""),
          NULL, NULL, "{}", 8, HEAD("gpt-2", TOKENS, "1,1,1,1,1,1,4,1") "ggml.merges=a b\n", "GGUF has no place" },
        /* U+2581 in an added token is a space; a byte-order mark is skipped */
        { "\xef\xbb\xbf" TOKENIZER("{\"a\":0,\"b\":1,\"ab\":2}", MERGES, "[" PLAIN("3", "x\u2581y") "]", BYTES, ""),
          NULL, NULL, "{}", 4, HEAD("gpt-2", "a|b|ab|x y", "1,1,1,4") "ggml.merges=a b\n", NULL },
        { TOKENIZER("{\"\u0120\":0,\"t\":1,\"\u0120t\":2,\"\u4e2d\":3}", "[\"\u0120 t\"]", "[]", BYTES, ""), NULL, NULL,
          "{}", 4, HEAD("gpt-2", "\u0120|t|\u0120t|\u4e2d", "1,1,1,1") "ggml.merges=\u0120 t\n", NULL },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct gguf g = { 0 };
        fresh();
        folder_text(dir, "tokenizer.json", rows[i].tokenizer);
        if (rows[i].tokenizer_config)
            folder_text(dir, "tokenizer_config.json", rows[i].tokenizer_config);
        if (rows[i].generation)
            folder_text(dir, "generation_config.json", rows[i].generation);
        const char *note = rows[i].notes;
        if (!note && rows[i].generation)
            note = "";
        keys(&g, rows[i].config, rows[i].rows, note);
        const char *got = dump(&g);
        ck_assert_msg(strcmp(got, rows[i].want) == 0, "row %zu:\n%s\nwanted:\n%s", i, got, rows[i].want);
        gguf_close(&g);
    }
}
END_TEST

START_TEST(further_files)
{
    struct gguf g = { 0 };
    fresh();
    folder_text(dir, "tokenizer.json", GOOD);
    folder_text(dir, "tokenizer_config.json", "{}");
    folder_text(dir, "special_tokens_map.json", "{\"eos_token\":{\"content\":\"<eos>\"}}");
    folder_text(dir, "chat_template.jinja", "line\nTEMPLATE");
    folder_text(dir, "added_tokens.json", "{\"<user>\":6,\"<more>\":8}");
    keys(&g, "{}", 9, "1 token(s) only in added_tokens.json");
    ck_assert_str_eq(dump(&g), HEAD("gpt-2", TOKENS "|<more>", TYPES ",4") "ggml.merges=a b\nggml.eos_token_id=4\n"
                                                                           "chat_template=line\nTEMPLATE\n");
    gguf_close(&g);
    fresh();
    folder_text(dir, "tokenizer.json", GOOD);
    folder_text(dir, "chat_template.json", "{\"chat_template\":\"J\"}");
    keys(&g, "{}", 8, NULL);
    ck_assert_str_eq(dump(&g), PLAIN_HEAD("gpt-2") "chat_template=J\n");
    gguf_close(&g);
}
END_TEST

START_TEST(bad_tokenizers)
{
    static const struct {
        const char *tokenizer;
        uint64_t rows;
        int code;
        const char *says;
    } rows[] = {
        { TOKENIZER(VOCAB, MERGES, ADDED, BYTES, ""), 5, ERROR_FORMAT,
          "3 token(s) have no row in the embedding of 5: \"<bos>\" (5), \"<user>\" (6), \"<|end|>\" (7)" },
        { TOKENIZER("{\"a\":0,\"b\":1,\"ab\":1}", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT,
          "\"b\" and \"ab\" share id 1" },
        { TOKENIZER(VOCAB, MERGES, "[" SPECIAL("3", "<x>") "]", BYTES, ""), 8, ERROR_FORMAT,
          "\"c\" and \"<x>\" share id 3" },
        { TOKENIZER(VOCAB, MERGES, "[" SPECIAL("6", "c") "]", BYTES, ""), 8, ERROR_FORMAT,
          "\"c\" has two ids, 3 and 6" },
        { TOKENIZER("{\"a\":0,\"b\":1.5,\"ab\":2}", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT,
          "the id of token \"b\"" },
        { TOKENIZER("{\"a\":0,\"b\":-1,\"ab\":2}", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT, "the id of token \"b\"" },
        { TOKENIZER("{\"a\":0,\"b\":\"1\",\"ab\":2}", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT, "a string" },
        { TOKENIZER("{\"a\":0,\"a\":1}", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT, "duplicate key \"a\"" },
        { TOKENIZER("{}", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT, "model.vocab" },
        { TOKENIZER("[]", MERGES, "[]", BYTES, ""), 8, ERROR_FORMAT, "model.vocab" },
        { TOKENIZER(VOCAB, "[]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "model.merges" },
        { TOKENIZER(VOCAB, "{}", ADDED, BYTES, ""), 8, ERROR_FORMAT, "an object" },
        { TOKENIZER(VOCAB, "[\"a b\",\"a x\"]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "merges[1] needs the token \"x\"" },
        { TOKENIZER(VOCAB, "[\"a c\"]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "needs the token \"ac\"" },
        { TOKENIZER(VOCAB, "[\"ab\"]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "merges[0]: expected two tokens" },
        { TOKENIZER(VOCAB, "[\"a b c\"]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "expected two tokens" },
        { TOKENIZER(VOCAB, "[[\"a\"]]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "expected two tokens" },
        { TOKENIZER(VOCAB, "[[\"a\",\"b\",\"c\"]]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "expected two tokens" },
        { TOKENIZER(VOCAB, "[[\"a\",7]]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "expected two tokens" },
        { TOKENIZER(VOCAB, "[null]", ADDED, BYTES, ""), 8, ERROR_FORMAT, "expected two tokens" },
        { TOKENIZER(VOCAB, MERGES, "[{\"id\":4}]", BYTES, ""), 8, ERROR_FORMAT, "id 4 has no content" },
        { TOKENIZER(VOCAB, MERGES, "[{\"content\":\"<eos>\"}]", BYTES, ""), 8, ERROR_FORMAT,
          "added_tokens: an id is nothing" },
        { "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0.0]]},\"pre_tokenizer\":" BYTES "}", 8,
          ERROR_UNSUPPORTED, "Unigram" },
        { "{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", 8, ERROR_UNSUPPORTED, "WordPiece" },
        { "{\"model\":{\"vocab\":{\"a\":0}}}", 8, ERROR_FORMAT, "model.type" },
        { "{}", 8, ERROR_FORMAT, "model.type" },
        { "[]", 8, ERROR_FORMAT, "expected an object" },
        { "{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"vocab\":" VOCAB ",\"merges\":" MERGES "}}", 8,
          ERROR_UNSUPPORTED, "SentencePiece-style" },
        { "{\"model\":{\"type\":\"BPE\",\"vocab\":" VOCAB ",\"merges\":" MERGES
          "},\"pre_tokenizer\":{\"type\":\"Metaspace\"}}",
          8, ERROR_UNSUPPORTED, "SentencePiece-style" },
        { "{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"vocab\":" VOCAB ",\"merges\":" MERGES
          "},\"pre_tokenizer\":" BYTES "}",
          8, ERROR_UNSUPPORTED, "end_of_word_suffix" },
        { TOKENIZER(VOCAB, MERGES, ADDED,
                    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                    "\"foo+\"},\"behavior\":\"Isolated\",\"invert\":false}," BYTES "]}",
                    ""),
          8, ERROR_UNSUPPORTED, "foo+" },
        { TOKENIZER(VOCAB, MERGES, ADDED, BYTES, ",\"normalizer\":{\"type\":\"Lowercase\"}"), 8, ERROR_UNSUPPORTED,
          "Lowercase" },
        /* a member of another kind is not the same as none */
        { TOKENIZER(VOCAB, MERGES, "{}", BYTES, ""), 8, ERROR_FORMAT, "added_tokens: expected an array" },
        { TOKENIZER(VOCAB, MERGES, "[{\"id\":4,\"content\":\"<e>\",\"special\":1}]", BYTES, ""), 8, ERROR_FORMAT,
          "special: expected true or false" },
        { TOKENIZER(VOCAB, MERGES ",\"ignore_merges\":\"yes\"", ADDED, BYTES, ""), 8, ERROR_FORMAT, "ignore_merges" },
        { TOKENIZER(VOCAB, MERGES ",\"byte_fallback\":0", ADDED, BYTES, ""), 8, ERROR_FORMAT, "byte_fallback" },
        { TOKENIZER(VOCAB, MERGES ",\"end_of_word_suffix\":[]", ADDED, BYTES, ""), 8, ERROR_FORMAT,
          "end_of_word_suffix" },
        { "{\"model\":{\"type\":7,\"vocab\":" VOCAB ",\"merges\":" MERGES "}}", 8, ERROR_FORMAT, "type" },
        { "not json", 8, ERROR_FORMAT, "JSON" },
        { GOOD, 0, ERROR_FORMAT, "0 rows" },
        { GOOD, 1u << 31, ERROR_FORMAT, "2147483648 rows" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error e = { 0 };
        struct vocab *v = NULL;
        fresh();
        folder_text(dir, "tokenizer.json", rows[i].tokenizer);
        ck_assert_msg(open_as(&v, "{}", rows[i].rows, NULL, &e) == rows[i].code, "row %zu: %s", i, e.text);
        ck_assert_msg(strstr(e.text, rows[i].says) && strstr(e.text, dir), "row %zu: %s", i, e.text);
        ck_assert_ptr_null(strchr(e.text, '\n'));
    }
}
END_TEST

START_TEST(missing_and_forced)
{
    struct error e = { 0 };
    struct vocab *v = NULL;
    fresh();
    ck_assert_int_eq(open_as(&v, "{}", 8, NULL, &e), ERROR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "copy tokenizer.json"));
    folder_text(dir, "tokenizer.model", "x");
    ck_assert_int_eq(open_as(&v, "{}", 8, NULL, &e), ERROR_MISSING);
    ck_assert_ptr_nonnull(strstr(e.text, "SentencePiece"));

    /* --pre: an unknown rule is no dead end, a wrong name is a usage error */
    folder_text(dir, "tokenizer.json",
                TOKENIZER(VOCAB, MERGES, ADDED,
                          "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Foo\"}," BYTES "]}", ""));
    ck_assert_int_eq(open_as(&v, "{}", 8, NULL, &e), ERROR_UNSUPPORTED);
    ck_assert_int_eq(open_as(&v, "{}", 8, "nonsense", &e), ERROR_USAGE);
    ck_assert_ptr_nonnull(strstr(e.text, "nonsense"));
    ck_ok(open_as(&v, "{}", 8, "smollm", &e), e);
    vocab_free(v);

    folder_text(dir, "generation_config.json", "{\"eos_token_id\":[1,\"x\"]}");
    ck_assert_int_eq(open_as(&v, "{}", 8, "smollm", &e), ERROR_FORMAT);
    folder_text(dir, "generation_config.json", "{");
    ck_assert_int_eq(open_as(&v, "{}", 8, "smollm", &e), ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(e.text, "generation_config.json"));
    vocab_free(NULL);
}
END_TEST

START_TEST(demo_model)
{
    struct error e = { 0 };
    struct gguf g = { 0 };
    char *config;
    size_t n;
    struct gguf_str s;
    const struct gguf_kv *kv;
    uint32_t id;
    snprintf(dir, sizeof dir, "%s", support_path("data/garden-3m"));
    ck_ok(file_read_all(support_path("data/garden-3m/config.json"), 1 << 20, &config, &n, &e), e);
    keys(&g, config, 1024, "1 further end token");
    ck_ok(gguf_need_str(&g, "tokenizer.ggml.pre", &s, &e), e);
    ck_assert(s.n == 5 && memcmp(s.s, "qwen2", 5) == 0);
    ck_ok(gguf_need_array(&g, "tokenizer.ggml.merges", GGUF_STRING, &kv, &e), e);
    ck_assert_uint_eq(kv->count, 765);
    ck_ok(gguf_need_u32(&g, "tokenizer.ggml.eos_token_id", &id, &e), e);
    ck_assert_uint_eq(id, 1023);
    ck_assert_ptr_null(gguf_find(&g, "ternpack.tokenizer.nfc")); /* NFC goes without saying for qwen2 */
    mem_free(config);
    gguf_close(&g);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("vocab");
    TCase *c = tcase_create("all");
    tcase_add_test(c, keys_and_their_order);
    tcase_add_test(c, further_files);
    tcase_add_test(c, bad_tokenizers);
    tcase_add_test(c, missing_and_forced);
    tcase_add_test(c, demo_model);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
