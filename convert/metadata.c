/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/metadata.h"

#include <stdio.h>
#include <string.h>

#include "base/util/text.h"

static const char *const identity_keys[] = {
    "general.name",       "general.author",     "general.version",      "general.organization",
    "general.finetune",   "general.basename",   "general.description",  "general.quantized_by",
    "general.size_label", "general.license",    "general.license.name", "general.license.link",
    "general.url",        "general.doi",        "general.uuid",         "general.repo_url",
    "general.source.url", "general.source.doi", "general.source.uuid",  "general.source.repo_url",
};

const char *metadata_identity_key(unsigned index)
{
    return index < sizeof identity_keys / sizeof identity_keys[0] ? identity_keys[index] : NULL;
}

bool metadata_is_identity(const char *key)
{
    const char *k;
    for (unsigned i = 0; (k = metadata_identity_key(i)); i++)
        if (!strcmp(k, key))
            return true;
    return false;
}

const char *metadata_get(const struct metadata *m, const char *key)
{
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->items[i].key, key))
            return m->items[i].value;
    return NULL;
}

/* Keys under these prefixes state facts of the file; readers act on them. */
static bool reserved(const char *key, const char *arch)
{
    static const char *const prefixes[] = { "general.",  "tokenizer.", "split.",   "ternpack.", "prism.",
                                            "quantize.", "imatrix.",   "adapter.", "GGUF." };
    size_t n = strlen(arch);
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (text_starts(key, prefixes[i]))
            return !metadata_is_identity(key);
    return !strncmp(key, arch, n) && key[n] == '.';
}

static bool well_formed(const char *key)
{
    size_t n = strlen(key);
    return n && n < 256 && strchr(key, '.') &&
           strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

static int add(struct metadata *m, const char *text, const char *arch, struct error *err)
{
    const char *eq = strchr(text, '=');
    char quoted[160];
    text_quote(quoted, sizeof quoted, text, strlen(text));
    if (!eq)
        return error_set(err, ERROR_USAGE, "--metadata=%s: expected KEY=VALUE", quoted);

    char *key = arena_strndup(&m->arena, text, (size_t)(eq - text), err);
    if (!key)
        return ERROR_NOMEM;
    if (!well_formed(key))
        return error_set(err, ERROR_USAGE, "--metadata=%s: a key is letters, digits, '_', '-' and at least one '.'",
                         quoted);
    if (reserved(key, arch))
        return error_set(err, ERROR_USAGE, "--metadata=%s: the conversion decides this key", quoted);
    if (metadata_get(m, key))
        return error_set(err, ERROR_USAGE, "--metadata=%s: the key is given twice", quoted);
    if (text_utf8_check(eq + 1, strlen(eq + 1)) != strlen(eq + 1))
        return error_set(err, ERROR_USAGE, "--metadata=%s: the value is not UTF-8", quoted);
    m->items[m->n++] = (struct metadata_item){ key, eq + 1 };
    return 0;
}

int metadata_parse(struct metadata *m, const struct cli_list *list, const char *arch, struct error *err)
{
    *m = (struct metadata){ 0 };
    m->items = arena_alloc(&m->arena, list->n + 1, sizeof *m->items, err);
    int rc = m->items ? 0 : ERROR_NOMEM;
    for (size_t i = 0; !rc && i < list->n; i++)
        rc = add(m, list->items[i], arch, err);
    if (rc)
        metadata_free(m);
    return rc;
}

void metadata_free(struct metadata *m)
{
    arena_free(&m->arena);
    *m = (struct metadata){ 0 };
}
