/* SPDX-License-Identifier: Apache-2.0 */
/* What vocab.c (opening, writing), vocab_tokens.c (tokens and merges) and vocab_special.c (ids, flags, templates)
 * share. */
#ifndef TERNPACK_CONVERT_VOCAB_PRIVATE_H
#define TERNPACK_CONVERT_VOCAB_PRIVATE_H

#include <stdbool.h>

#include "base/model/pretokenizer.h"
#include "base/util/mem.h"
#include "convert/vocab.h"

enum { VOCAB_NORMAL = 1, VOCAB_CONTROL = 3, VOCAB_USER = 4, VOCAB_UNUSED = 5 };
enum { VOCAB_MAX_TOKEN = 65536 }; /* bytes of one token; the reader's limit too */
enum { VOCAB_MAX_SPECIALS = 9, VOCAB_MAX_FLAGS = 3, VOCAB_MAX_STOPS = 64 };

struct vocab_special {
    const char *type; /* "bos", "eos", "unk", "sep", "pad", "cls", "mask", "eot", "eom" */
    uint32_t id;
};

struct vocab_flag {
    const char *key;
    bool value;
};

struct vocab_template {
    const char *name; /* NULL: the default one */
    const char *text;
};

struct vocab_slot {
    const char *text; /* NULL: free */
    uint32_t id;
};

struct vocab {
    struct arena arena;
    char *dir;

    struct gguf_str *tokens; /* n_rows of them; s is NUL-terminated, NULL while a hole */
    int32_t *types;
    uint64_t n_rows;
    struct vocab_slot *slots; /* text to id, open addressing, n_slots a power of two */
    size_t n_slots;
    struct gguf_str *merges;
    size_t n_merges;

    const struct pretokenizer *pre;
    bool nfc, ignore_merges;
    bool llama; /* converted by llama.cpp's class for Llama: two more keys */
    bool has_space_prefix, space_prefix;

    struct vocab_special specials[VOCAB_MAX_SPECIALS]; /* in llama.cpp's order of discovery */
    size_t n_specials;
    struct vocab_flag flags[VOCAB_MAX_FLAGS];
    size_t n_flags;
    struct vocab_template *templates;
    size_t n_templates;
    int32_t stops[VOCAB_MAX_STOPS]; /* the primary one first */
    size_t n_stops;

    char **notes;
    size_t n_notes, cap_notes;
};

/* A note for the report; one line. */
int vocab_add_note(struct vocab *v, struct error *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Parse dir/name; *doc stays NULL when there is no such file. */
int vocab_parse(const struct vocab *v, const char *name, struct json_doc **doc, struct error *err);
/* A member that may be absent or null but has no other kind: 0, or ERROR_FORMAT naming it. vocab_flag leaves *out alone
 * when it is absent; vocab_kind takes any of `kinds`, a sum of 1 << JSON_.... */
int vocab_flag(const struct json *obj, const char *key, bool *out, struct error *err);
int vocab_kind(const struct json *obj, const char *key, unsigned kinds, const char *expected, struct error *err);
bool vocab_find(const struct vocab *v, const char *text, uint32_t *id);

/* tokenizer: root of tokenizer.json. tokenizer_config may be NULL. */
int vocab_read_tokens(struct vocab *v, const struct json *tokenizer, const struct json *tokenizer_config,
                      struct error *err);
int vocab_read_merges(struct vocab *v, const struct json *model, struct error *err);
int vocab_read_special(struct vocab *v, const struct json *tokenizer, const struct json *tokenizer_config,
                       const struct json *config, struct error *err);
int vocab_read_templates(struct vocab *v, const struct json *tokenizer_config, struct error *err);

#endif
