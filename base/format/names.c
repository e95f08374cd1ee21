/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format/names.h"

#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/util/mem.h"

struct names_slot {
    const char *key; /* NULL: free */
    size_t value;
};

/* The slot that holds key, or the free one where it belongs. The table is never full. */
static struct names_slot *probe(const struct names *t, const char *key)
{
    size_t at = (size_t)XXH3_64bits_withSeed(key, strlen(key), t->seed) & (t->cap - 1);
    while (t->slots[at].key && strcmp(t->slots[at].key, key))
        at = (at + 1) & (t->cap - 1);
    return &t->slots[at];
}

static int grow(struct names *t, struct error *err)
{
    struct names bigger = { .cap = t->cap ? t->cap * 2 : 64, .n = t->n, .seed = t->seed };
    /* The seed steers only where an entry sits, never what is found: results stay the same from run to run. */
    if (!t->cap && getrandom(&bigger.seed, sizeof bigger.seed, GRND_NONBLOCK) != (ssize_t)sizeof bigger.seed)
        bigger.seed = (uintptr_t)t;
    bigger.slots = mem_zalloc(bigger.cap, sizeof *bigger.slots, "the table of names", err);
    if (!bigger.slots)
        return ERROR_NOMEM;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].key)
            *probe(&bigger, t->slots[i].key) = t->slots[i];
    mem_free(t->slots);
    *t = bigger;
    return 0;
}

int names_add(struct names *t, const char *key, size_t value, struct error *err)
{
    if (t->n * 2 >= t->cap) {
        int rc = grow(t, err);
        if (rc)
            return rc;
    }
    struct names_slot *s = probe(t, key);
    if (s->key)
        return 1;
    *s = (struct names_slot){ .key = key, .value = value };
    t->n++;
    return 0;
}

size_t names_find(const struct names *t, const char *key)
{
    if (!t->cap)
        return NAMES_NONE;
    const struct names_slot *s = probe(t, key);
    return s->key ? s->value : NAMES_NONE;
}

void names_free(struct names *t)
{
    mem_free(t->slots);
    *t = (struct names){ 0 };
}
