/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Special ids, add_* flags, stop ids and chat templates. Which file wins, and the order of the keys, follow llama.cpp's
 * converter: first what tokenizer.json's post-processor and tokenizer_config.json say (by content, among the added
 * tokens), then config.json's ids for what is still open.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util/file.h"
#include "base/util/text.h"
#include "convert/vocab_private.h"

enum { BOS, EOS, UNK, SEP, PAD, CLS, MASK, EOT, N_TYPES };
static const char *const types[N_TYPES] = { "bos", "eos", "unk", "sep", "pad", "cls", "mask", "eot" };

enum { MAX_TEMPLATE = 1 << 22 };

/* ---- ids -------------------------------------------------------------------------------------------------------- */

static const struct vocab_special *find_special(const struct vocab *v, const char *type)
{
    for (size_t i = 0; i < v->n_specials; i++)
        if (strcmp(v->specials[i].type, type) == 0)
            return &v->specials[i];
    return NULL;
}

/* The first file that names an id wins. */
static int set_special(struct vocab *v, const char *type, int64_t id, const char *file, struct error *err)
{
    if (id < 0 || (uint64_t)id >= v->n_rows)
        return vocab_add_note(v, err, "%s: %s_token_id %" PRId64 " is no token and is left out", file, type, id);
    if (!find_special(v, type) && v->n_specials < VOCAB_MAX_SPECIALS)
        v->specials[v->n_specials++] = (struct vocab_special){ type, (uint32_t)id };
    return 0;
}

static void set_flag(struct vocab *v, const char *key, bool value)
{
    size_t i = 0;
    while (i < v->n_flags && strcmp(v->flags[i].key, key) != 0)
        i++;
    if (i == VOCAB_MAX_FLAGS)
        return;
    v->flags[i] = (struct vocab_flag){ key, value };
    if (i == v->n_flags)
        v->n_flags++;
}

/* `"eos_token": "</s>"` or `"eos_token": {"content": "</s>", ...}`; NULL when absent or null. */
static const char *content_of(const struct json *config, const char *type)
{
    char key[32];
    snprintf(key, sizeof key, "%s_token", type);
    const struct json *entry = json_get(config, key);
    const char *s = json_str(entry);
    return s ? s : json_str(json_get(entry, "content"));
}

static bool same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

static const char *special_of(const struct json *template_item)
{
    return json_str(json_get(json_get(template_item, "SpecialToken"), "id"));
}

static const struct json *last_of(const struct json *list)
{
    const struct json *last = NULL;
    for (const struct json *c = json_first(list); c; c = json_next(c))
        last = c;
    return last;
}

/* A separator between A and B of the pair template means add_sep; its absence is said too when something else is there.
 */
static void read_pair(struct vocab *v, const struct json *pair, const char *first, const char *last,
                      const char *const content[N_TYPES])
{
    const struct json *c = json_first(pair), *middle;
    size_t n = json_count(pair);
    if (c && first && same(special_of(c), first)) {
        c = json_next(c);
        n--;
    }
    if (n && last && same(special_of(last_of(pair)), last))
        n--;
    if (n < 3 || !same(json_str(json_get(json_get(c, "Sequence"), "id")), "A"))
        return;
    const struct json *end = c;
    for (size_t i = 1; i < n; i++)
        end = json_next(end);
    if (!same(json_str(json_get(json_get(end, "Sequence"), "id")), "B"))
        return;
    bool add_sep = false;
    middle = json_next(c);
    for (size_t i = 0; i < 2 && i < n - 2; i++, middle = json_next(middle)) {
        const char *s = special_of(middle);
        add_sep |= (same(s, content[SEP]) || same(s, content[EOS])) && (i == 1 || !last);
    }
    set_flag(v, "sep", add_sep);
}

/* Whether text gets BOS and EOS, from a TemplateProcessing. A last token other than eos_token makes that the end token,
 * and the former one ends a turn. */
static void read_template(struct vocab *v, const struct json *p, bool has_config, const char *content[N_TYPES])
{
    const struct json *single = json_get(p, "single");
    const char *first = NULL, *last = NULL;
    if (json_count(single) > 1) {
        first = special_of(json_first(single));
        last = special_of(last_of(single));
    }
    if (first) {
        if (!has_config)
            content[BOS] = first;
        set_flag(v, "bos", same(first, content[BOS]) || same(first, content[CLS]));
    }
    if (last) {
        if (has_config && !same(last, content[EOS]))
            content[EOT] = content[EOS];
        content[EOS] = last;
        set_flag(v, "eos", true);
    }
    read_pair(v, json_get(p, "pair"), first, last, content);
}

static void read_post_processor(struct vocab *v, const struct json *post, bool has_config, const char *content[N_TYPES])
{
    const struct json *list = json_get(post, "processors");
    if (same(json_str(json_get(post, "type")), "TemplateProcessing"))
        read_template(v, post, has_config, content);
    for (const struct json *p = json_first(list); p; p = json_next(p))
        if (same(json_str(json_get(p, "type")), "TemplateProcessing"))
            read_template(v, p, has_config, content);
}

static int from_tokenizer_config(struct vocab *v, const struct json *tokenizer, const struct json *config,
                                 const char *const content[N_TYPES], struct error *err)
{
    int code = 0;
    for (int t = 0; t < N_TYPES && !code; t++) {
        char key[32];
        bool add = false;
        uint64_t id = 0;
        snprintf(key, sizeof key, "add_%s_token", types[t]);
        if ((t == BOS || t == EOS || t == SEP) && !json_is_null(json_get(config, key))) {
            if ((code = vocab_flag(config, key, &add, err)))
                return error_prefix(err, "tokenizer_config.json");
            set_flag(v, types[t], add);
        }
        for (const struct json *a = json_first(json_get(tokenizer, "added_tokens")); a && content[t]; a = json_next(a))
            if (same(json_str(json_get(a, "content")), content[t])) {
                if (json_u64(json_get(a, "id"), &id) && id <= INT32_MAX)
                    code = set_special(v, types[t], (int64_t)id, "tokenizer_config.json", err);
                break;
            }
    }
    return code;
}

static const struct json *config_id(const struct json *config, const char *type)
{
    char key[32];
    snprintf(key, sizeof key, "%s_token_id", type);
    const struct json *id = json_get(config, key);
    return json_is_null(id) ? json_get(json_get(config, "text_config"), key) : id;
}

/* ---- stop ids --------------------------------------------------------------------------------------------------- */

static bool is_stop(const struct vocab *v, int64_t id)
{
    for (size_t i = 0; i < v->n_stops; i++)
        if (v->stops[i] == id)
            return true;
    return false;
}

static int add_stop(struct vocab *v, int64_t id, const char *file, struct error *err)
{
    if (id < 0 || (uint64_t)id >= v->n_rows)
        return vocab_add_note(v, err, "%s: eos_token_id %" PRId64 " is no token and is left out", file, id);
    if (!is_stop(v, id) && v->n_stops < VOCAB_MAX_STOPS)
        v->stops[v->n_stops++] = (int32_t)id;
    return 0;
}

/* A number or a list of them. */
static int add_stops(struct vocab *v, const struct json *ids, const char *file, struct error *err)
{
    int64_t id;
    int code = 0;
    if (json_i64(ids, &id))
        return add_stop(v, id, file, err);
    if (ids && json_kind(ids) == JSON_ARRAY)
        for (const struct json *c = json_first(ids); c && !code; c = json_next(c))
            code = json_i64(c, &id) ? add_stop(v, id, file, err)
                                    : error_set(err, ERROR_FORMAT, "%s: eos_token_id: expected integers, found %s",
                                                file, json_kind_name(c));
    return code;
}

/* llama.cpp finds these by text; a key of their own states them for other readers. */
static const char *role_of_stop(const char *text)
{
    if (same(text, "<|eom_id|>"))
        return "eom";
    if (same(text, "<|eot_id|>") || same(text, "<|im_end|>") || same(text, "<|end|>") || same(text, "<end_of_turn>"))
        return "eot";
    return NULL;
}

/* No end token is lost, and files that disagree are named. */
static int read_stops(struct vocab *v, const struct json *config, struct error *err)
{
    struct json_doc *doc = NULL;
    const struct json *general = config_id(config, "eos"), *generation;
    const struct vocab_special *eos;
    int64_t id;
    int code = vocab_parse(v, "generation_config.json", &doc, err);
    if (code)
        return code;
    generation = doc ? json_get(json_root(doc), "eos_token_id") : NULL;
    if ((eos = find_special(v, "eos")))
        code = add_stop(v, eos->id, "tokenizer_config.json", err);
    bool tokenizer_eos = eos != NULL;
    if (!code)
        code = add_stops(v, generation, "generation_config.json", err);
    if (!code && tokenizer_eos && v->n_stops > 1)
        code = vocab_add_note(v, err, "generation_config.json names %zu further end token(s) beside %" PRIu32 " (%s)",
                              v->n_stops - 1, eos->id, v->tokens[eos->id].s);
    if (!code && json_i64(general, &id) && v->n_stops && !is_stop(v, id))
        code = vocab_add_note(v, err, "config.json: eos_token_id %" PRId64 " differs from %" PRId32 "; both end a text",
                              id, v->stops[0]);
    if (!code)
        code = add_stops(v, general, "config.json", err);
    if (!code && !tokenizer_eos && v->n_stops)
        code = set_special(v, "eos", v->stops[0], "generation_config.json", err);
    for (size_t i = 1; i < v->n_stops && !code; i++) {
        const char *role = role_of_stop(v->tokens[v->stops[i]].s);
        if (role && !find_special(v, role))
            code = set_special(v, role, v->stops[i], "generation_config.json", err);
    }
    const struct vocab_special *bos = find_special(v, "bos");
    if (!code && bos && json_i64(config_id(config, "bos"), &id) && id != bos->id)
        code = vocab_add_note(v, err,
                              "config.json: bos_token_id %" PRId64 " differs from tokenizer_config.json's %" PRIu32
                              ", which is kept",
                              id, bos->id);
    json_free(doc);
    return code;
}

int vocab_read_special(struct vocab *v, const struct json *tokenizer, const struct json *tokenizer_config,
                       const struct json *config, struct error *err)
{
    const char *content[N_TYPES] = { NULL };
    struct json_doc *map = NULL;
    int64_t id;
    int code = vocab_parse(v, "special_tokens_map.json", &map, err);
    for (int t = 0; t < EOT; t++) {
        char key[32];
        snprintf(key, sizeof key, "%s_token", types[t]);
        content[t] = content_of(tokenizer_config, types[t]);
        if (!content[t] && map && tokenizer_config && !json_get(tokenizer_config, key))
            content[t] = content_of(json_root(map), types[t]);
    }
    if (!content[BOS])
        content[BOS] = content[CLS];
    if (!content[EOS])
        content[EOS] = content[SEP];
    read_post_processor(v, json_get(tokenizer, "post_processor"), tokenizer_config != NULL, content);
    if (!code && tokenizer_config)
        code = from_tokenizer_config(v, tokenizer, tokenizer_config, content, err);
    for (int t = 0; t < EOT && !code; t++)
        if (json_i64(config_id(config, types[t]), &id))
            code = set_special(v, types[t], id, "config.json", err);
    if (!code)
        code = read_stops(v, config, err);
    json_free(map);
    return code;
}

/* ---- chat templates --------------------------------------------------------------------------------------------- */

static int add_template(struct vocab *v, const char *name, const char *text, struct error *err)
{
    struct vocab_template *grown = arena_alloc(&v->arena, v->n_templates + 1, sizeof *grown, err);
    char *copy = arena_strndup(&v->arena, text, strlen(text), err), *safe = NULL;
    if (name && strcmp(name, "default") != 0) {
        safe = arena_strndup(&v->arena, name, strlen(name), err);
        for (char *p = safe; p && *p; p++)
            if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *p))
                *p = '_';
        if (!safe)
            return ERROR_NOMEM;
    }
    if (!grown || !copy)
        return ERROR_NOMEM;
    for (size_t i = 0; i < v->n_templates; i++) {
        grown[i] = v->templates[i];
        if (grown[i].name == safe || same(grown[i].name, safe))
            return error_set(err, ERROR_FORMAT, "tokenizer_config.json: chat_template: \"%s\" twice",
                             safe ? safe : "default");
    }
    grown[v->n_templates++] = (struct vocab_template){ safe, copy };
    v->templates = grown;
    return 0;
}

static int from_value(struct vocab *v, const struct json *value, struct error *err)
{
    int code = 0;
    if (json_str(value))
        return add_template(v, NULL, json_str(value), err);
    if (!value || json_kind(value) != JSON_ARRAY)
        return 0;
    for (const struct json *c = json_first(value); c && !code; c = json_next(c)) {
        const char *name = json_str(json_get(c, "name")), *text = json_str(json_get(c, "template"));
        if (name && *name && text)
            code = add_template(v, name, text, err);
    }
    return code;
}

/* tokenizer_config.json's own template wins over chat_template.jinja, and that over chat_template.json. */
int vocab_read_templates(struct vocab *v, const struct json *tokenizer_config, struct error *err)
{
    struct json_doc *doc = NULL;
    char *path = NULL, *text = NULL;
    size_t n = 0;
    int code = vocab_kind(tokenizer_config, "chat_template", 1 << JSON_STRING | 1 << JSON_ARRAY,
                          "a string or an array of templates", err);
    if (code)
        return error_prefix(err, "%s/tokenizer_config.json", v->dir);
    code = from_value(v, json_get(tokenizer_config, "chat_template"), err);
    if (code || json_get(tokenizer_config, "chat_template"))
        return code;
    path = file_join(v->dir, "chat_template.jinja", err);
    if (!path) {
        code = ERROR_NOMEM;
    } else if (file_exists(path)) {
        code = file_read_all(path, MAX_TEMPLATE, &text, &n, err);
        if (!code && (strlen(text) != n || text_utf8_check(text, n) != n))
            code =
                error_set(err, ERROR_FORMAT, "%s: not UTF-8 text: byte %zu", path, text_utf8_check(text, strlen(text)));
        if (!code)
            code = add_template(v, NULL, text, err);
    } else {
        code = vocab_parse(v, "chat_template.json", &doc, err);
        if (!code && doc)
            code = from_value(v, json_get(json_root(doc), "chat_template"), err);
    }
    json_free(doc);
    mem_free(text);
    mem_free(path);
    return code;
}
