/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/family.h"

#include <stdio.h>
#include <string.h>

static const struct family *const families[] = { &family_llama, &family_mistral, &family_qwen3 };

static const struct {
    const char *alias, *architecture;
} aliases[] = {
    { "LLaMAForCausalLM", "LlamaForCausalLM" }, /* spelling of the first LLaMA conversions */
};

const struct family *family_at(unsigned index)
{
    return index < sizeof families / sizeof families[0] ? families[index] : NULL;
}

const struct family *family_find(const char *architecture, const char *model_type)
{
    if (architecture)
        for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
            if (!strcmp(architecture, aliases[i].alias))
                architecture = aliases[i].architecture;

    const struct family *f;
    for (unsigned i = 0; (f = family_at(i)); i++)
        if (architecture ? !strcmp(architecture, f->architecture) : model_type && !strcmp(model_type, f->model_type))
            return f;
    return NULL;
}

int family_no_check(const struct config *c, struct error *err)
{
    (void)c, (void)err;
    return 0;
}

int family_put_vocab_and_rope(const struct config *c, struct gguf_writer *w, struct error *err)
{
    char key[128];
    snprintf(key, sizeof key, "%s.vocab_size", c->family->gguf);
    int rc = gguf_put_u32(w, key, c->n_vocab, err);
    if (rc)
        return rc;
    snprintf(key, sizeof key, "%s.rope.dimension_count", c->family->gguf);
    return gguf_put_u32(w, key, c->head_dim, err);
}

int family_put_nothing(const struct config *c, struct gguf_writer *w, struct error *err)
{
    (void)c, (void)w, (void)err;
    return 0;
}

uint64_t family_permuted_row(uint64_t row, uint32_t head_dim)
{
    uint64_t head = row / head_dim, r = row % head_dim;
    return head * head_dim + r % 2 * (head_dim / 2) + r / 2;
}
