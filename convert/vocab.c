/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/vocab.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/text.h"
#include "convert/vocab_private.h"

enum { MAX_JSON = 1 << 30, MAX_DEPTH = 64 };

int vocab_add_note(struct vocab *v, struct error *err, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    int code = mem_reserve((void **)&v->notes, &v->cap_notes, v->n_notes + 1, sizeof *v->notes, "notes", err);
    if (code)
        return code;
    v->notes[v->n_notes] = arena_strndup(&v->arena, text, strlen(text), err);
    return v->notes[v->n_notes] ? (v->n_notes++, 0) : ERROR_NOMEM;
}

int vocab_parse(const struct vocab *v, const char *name, struct json_doc **doc, struct error *err)
{
    *doc = NULL;
    char *path = file_join(v->dir, name, err);
    int code = path ? 0 : ERROR_NOMEM;
    if (path && file_exists(path)) {
        code = json_parse_file(doc, path, MAX_JSON, MAX_DEPTH, err);
        if (!code && json_kind(json_root(*doc)) != JSON_OBJECT) {
            code =
                error_set(err, ERROR_FORMAT, "%s: expected an object, found %s", path, json_kind_name(json_root(*doc)));
            json_free(*doc);
            *doc = NULL;
        }
    }
    mem_free(path);
    return code;
}

int vocab_flag(const struct json *obj, const char *key, bool *out, struct error *err)
{
    const struct json *v = json_get(obj, key);
    if (json_is_null(v) || json_bool(v, out))
        return 0;
    return error_set(err, ERROR_FORMAT, "%s: expected true or false, found %s", key, json_kind_name(v));
}

int vocab_kind(const struct json *obj, const char *key, unsigned kinds, const char *expected, struct error *err)
{
    const struct json *v = json_get(obj, key);
    if (json_is_null(v) || kinds >> json_kind(v) & 1)
        return 0;
    return error_set(err, ERROR_FORMAT, "%s: expected %s, found %s", key, expected, json_kind_name(v));
}

static bool is(const struct json *v, const char *key, const char *word)
{
    const char *s = json_str(json_get(v, key));
    return s && strcmp(s, word) == 0;
}

/* A ByteLevel anywhere in a pre-tokenizer or decoder, also within a Sequence. */
static bool has_byte_level(const struct json *v)
{
    static const char *const lists[] = { "pretokenizers", "decoders" };
    if (is(v, "type", "ByteLevel"))
        return true;
    for (size_t i = 0; i < 2; i++)
        for (const struct json *c = json_first(json_get(v, lists[i])); c; c = json_next(c))
            if (is(c, "type", "ByteLevel"))
                return true;
    return false;
}

/* Only byte-level BPE; everything else is refused by its name. */
static int check_kind(const struct json *root, struct error *err)
{
    static const char *const affixes[] = { "continuing_subword_prefix", "end_of_word_suffix" };
    const struct json *model = json_get(root, "model");
    const char *type = json_str(json_get(model, "type"));
    bool fallback = false;
    char q[80];
    int code = vocab_kind(model, "type", 1 << JSON_STRING, "a string", err);
    for (size_t i = 0; i < 2 && !code; i++)
        code = vocab_kind(model, affixes[i], 1 << JSON_STRING, "a string", err);
    if (!code)
        code = vocab_flag(model, "byte_fallback", &fallback, err);
    if (code)
        return error_prefix(err, "model");
    if (!type && json_get(model, "merges")) /* files of old versions leave it out */
        type = "BPE";
    if (!type)
        return error_set(err, ERROR_FORMAT, "model.type: expected a string, found %s",
                         json_kind_name(json_get(model, "type")));
    if (strcmp(type, "BPE") != 0)
        return error_set(err, ERROR_UNSUPPORTED, "model.type is %s; only byte-level BPE tokenizers are supported",
                         text_quote(q, sizeof q, type, strlen(type)));
    if (fallback || (!has_byte_level(json_get(root, "pre_tokenizer")) && !has_byte_level(json_get(root, "decoder"))))
        return error_set(err, ERROR_UNSUPPORTED,
                         "a SentencePiece-style BPE tokenizer (%s); only byte-level BPE tokenizers "
                         "are supported",
                         fallback ? "byte_fallback" : "no ByteLevel step");
    for (size_t i = 0; i < 2; i++) {
        const char *s = json_str(json_get(model, affixes[i]));
        if (s && *s)
            return error_set(err, ERROR_UNSUPPORTED, "model.%s \"%s\": byte-level BPE has none", affixes[i],
                             text_quote(q, sizeof q, s, strlen(s)));
    }
    return 0;
}

static int read_rules(struct vocab *v, const struct json *root, const char *pre, struct error *err)
{
    char names[256];
    if (vocab_flag(json_get(root, "model"), "ignore_merges", &v->ignore_merges, err))
        return error_prefix(err, "model");
    if (pre) {
        v->pre = pretokenizer_find(pre, strlen(pre));
        if (!v->pre)
            return error_set(err, ERROR_USAGE, "--pre: unknown pre-tokenizer \"%s\" (known: %s)", pre,
                             pretokenizer_names(names, sizeof names));
    } else {
        int code = pretokenizer_match(json_get(root, "pre_tokenizer"), v->ignore_merges, &v->pre, err);
        if (code)
            return code;
    }
    return pretokenizer_normalizer(json_get(root, "normalizer"), &v->nfc, err);
}

/* The classes that llama.cpp converts as "llama" write add_space_prefix, and add_bos_token false for 49152 tokens. */
static bool is_llama(const struct json *config)
{
    const char *arch = json_str(json_first(json_get(config, "architectures")));
    if (arch)
        return text_starts(arch, "Llama") || text_starts(arch, "LLaMA") || text_starts(arch, "Mistral");
    return is(config, "model_type", "llama") || is(config, "model_type", "mistral");
}

static int missing(const char *dir, struct error *err)
{
    char *model = file_join(dir, "tokenizer.model", err);
    bool spm = model && file_exists(model);
    mem_free(model);
    return error_set(err, ERROR_MISSING,
                     "%s: no tokenizer.json; copy tokenizer.json and tokenizer_config.json from the model "
                     "this one was made from%s",
                     dir, spm ? " (tokenizer.model alone is a SentencePiece tokenizer, which is not supported)" : "");
}

static int load(struct vocab *v, const struct json *root, const struct json *tokenizer_config,
                const struct json *config, const char *pre, struct error *err)
{
    int code = check_kind(root, err);
    if (!code)
        code = read_rules(v, root, pre, err);
    if (!code)
        code = vocab_read_tokens(v, root, tokenizer_config, err);
    if (!code)
        code = vocab_read_merges(v, json_get(root, "model"), err);
    if (code)
        return code;
    v->llama = is_llama(config);
    v->has_space_prefix = v->llama && json_bool(json_get(tokenizer_config, "add_prefix_space"), &v->space_prefix);
    return vocab_read_special(v, root, tokenizer_config, config, err);
}

int vocab_open(struct vocab **out, const char *dir, const struct json_doc *config, uint64_t n_rows, const char *pre,
               struct error *err)
{
    struct json_doc *tokenizer = NULL, *tokenizer_config = NULL;
    struct vocab *v = mem_zalloc(1, sizeof *v, "vocabulary", err);
    int code = ERROR_NOMEM;

    *out = NULL;
    if (!v || !(v->dir = mem_strdup(dir, err)))
        goto out;
    v->n_rows = n_rows;
    if (n_rows == 0 || n_rows > INT32_MAX / 4) {
        code = error_set(err, ERROR_FORMAT, "%s: an embedding of %" PRIu64 " rows has no tokenizer", dir, n_rows);
        goto out;
    }
    if ((code = vocab_parse(v, "tokenizer.json", &tokenizer, err)))
        goto out;
    if (!tokenizer) {
        code = missing(dir, err);
        goto out;
    }
    if ((code = vocab_parse(v, "tokenizer_config.json", &tokenizer_config, err)))
        goto out;
    const struct json *tc = tokenizer_config ? json_root(tokenizer_config) : NULL;
    code = load(v, json_root(tokenizer), tc, config ? json_root(config) : NULL, pre, err);
    if (code && code != ERROR_USAGE)
        error_prefix(err, "%s/tokenizer.json", dir);
    if (!code)
        code = vocab_read_templates(v, tc, err);
    if (code)
        goto out;
    *out = v;
    v = NULL;
out:
    json_free(tokenizer);
    json_free(tokenizer_config);
    vocab_free(v);
    return code;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static int put_text(struct gguf_writer *w, const char *key, const char *s, struct error *err)
{
    return gguf_put_str(w, key, s, strlen(s), err);
}

static int put_special(struct gguf_writer *w, const struct vocab_special *s, struct error *err)
{
    static const char *const names[][2] = {
        { "bos", "bos" },     { "eos", "eos" },
        { "unk", "unknown" }, { "sep", "seperator" }, /* the format's spelling */
        { "pad", "padding" }, { "mask", "mask" },
        { "eot", "eot" },     { "eom", "eom" },
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(s->type, names[i][0]) == 0) {
            char key[64];
            snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", names[i][1]);
            return gguf_put_u32(w, key, s->id, err);
        }
    return 0; /* "cls" has no key */
}

static int put_templates(const struct vocab *v, struct gguf_writer *w, struct error *err)
{
    struct gguf_str *names = mem_zalloc(v->n_templates, sizeof *names, "template names", err);
    const char *preferred = NULL;
    size_t n = 0;
    int code = names ? 0 : ERROR_NOMEM;
    for (size_t i = 0; i < v->n_templates && !code; i++) {
        const struct vocab_template *t = &v->templates[i];
        char key[300];
        if (!t->name) {
            preferred = t->text;
            continue;
        }
        snprintf(key, sizeof key, "tokenizer.chat_template.%.200s", t->name);
        names[n++] = (struct gguf_str){ t->name, strlen(t->name) };
        code = put_text(w, key, t->text, err);
    }
    if (!code && n)
        code = gguf_put_strs(w, "tokenizer.chat_templates", names, n, err);
    if (!code && preferred)
        code = put_text(w, "tokenizer.chat_template", preferred, err);
    mem_free(names);
    return code;
}

/* Keys of our own, only where llama.cpp's reading of the others would be incomplete. */
static int put_own(const struct vocab *v, struct gguf_writer *w, struct error *err)
{
    int code = 0;
    if (v->n_stops > 1)
        code = gguf_put_array(w, "ternpack.eos_token_ids", GGUF_I32, v->stops, v->n_stops, err);
    if (!code && v->nfc != v->pre->nfc)
        code = gguf_put_bool(w, "ternpack.tokenizer.nfc", v->nfc, err);
    if (!code && v->ignore_merges != v->pre->ignore_merges)
        code = gguf_put_bool(w, "ternpack.tokenizer.ignore_merges", v->ignore_merges, err);
    return code;
}

int vocab_put(const struct vocab *v, struct gguf_writer *w, struct error *err)
{
    int code = 0;
    if (v->has_space_prefix)
        code = gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", v->space_prefix, err);
    if (!code)
        code = put_text(w, "tokenizer.ggml.model", "gpt2", err);
    if (!code)
        code = put_text(w, "tokenizer.ggml.pre", v->pre->name, err);
    if (!code)
        code = gguf_put_strs(w, "tokenizer.ggml.tokens", v->tokens, v->n_rows, err);
    if (!code)
        code = gguf_put_array(w, "tokenizer.ggml.token_type", GGUF_I32, v->types, v->n_rows, err);
    if (!code)
        code = gguf_put_strs(w, "tokenizer.ggml.merges", v->merges, v->n_merges, err);
    for (size_t i = 0; i < v->n_specials && !code; i++)
        code = put_special(w, &v->specials[i], err);
    bool no_bos = v->llama && v->n_rows == 49152, bos_put = false;
    for (size_t i = 0; i < v->n_flags && !code; i++) {
        char key[64];
        bool bos = strcmp(v->flags[i].key, "bos") == 0;
        bos_put |= bos;
        snprintf(key, sizeof key, "tokenizer.ggml.add_%s_token", v->flags[i].key);
        code = gguf_put_bool(w, key, v->flags[i].value && !(bos && no_bos), err);
    }
    if (!code)
        code = put_templates(v, w, err);
    if (!code && no_bos && !bos_put)
        code = gguf_put_bool(w, "tokenizer.ggml.add_bos_token", false, err);
    return code ? code : put_own(v, w, err);
}

size_t vocab_n_notes(const struct vocab *v)
{
    return v->n_notes;
}

const char *vocab_note(const struct vocab *v, size_t i)
{
    return i < v->n_notes ? v->notes[i] : NULL;
}

void vocab_free(struct vocab *v)
{
    if (!v)
        return;
    mem_free(v->tokens);
    mem_free(v->types);
    mem_free(v->slots);
    mem_free(v->merges);
    mem_free(v->notes);
    mem_free(v->dir);
    arena_free(&v->arena);
    mem_free(v);
}
