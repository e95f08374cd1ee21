/* SPDX-License-Identifier: Apache-2.0 */
/* Llama 1 to 3 and everything of that shape: SmolLM2, TinyLlama; Mistral where its window never closes. */
#include "convert/family.h"

#include <math.h>

/* A window as long as the context never hides a position; any shorter one changes the attention of long texts, and the
 * llama graph of GGUF readers has no window. Absent means 4096: the default of the Mistral configuration class. */
static int check_window(const struct config *c, struct error *err)
{
    uint64_t window = 4096;
    const struct json *v = json_get(json_root(c->doc), "sliding_window");
    if (v && json_is_null(v))
        return 0;
    int rc = json_opt_u64(c->doc, json_root(c->doc), "sliding_window", 1, UINT64_MAX, &window, err);
    if (rc || window >= c->n_ctx)
        return rc;
    return error_set(err, ERROR_UNSUPPORTED,
                     "config.json: sliding_window: %llu%s is shorter than max_position_embeddings %u; sliding-window "
                     "attention is not supported (expected null or at least %u)",
                     (unsigned long long)window, v ? "" : " (the default when absent)", c->n_ctx, c->n_ctx);
}

/* Long wavelengths are stretched by `factor`, short ones kept, those between blended by how often they turn within the
 * original context. Float32 throughout, in the order of the reference, because the file's bytes must be equal to its.
 */
void family_llama3_freqs(const struct config *c, float *out)
{
    const struct config_scaling *s = &c->rope;
    float factor = (float)s->factor, low = (float)s->low_freq, old = (float)s->orig_ctx;
    float low_wavelen = (float)(s->orig_ctx / s->low_freq), high_wavelen = (float)(s->orig_ctx / s->high_freq);
    for (uint32_t i = 0; i < c->head_dim / 2; i++) {
        float freq = 1.0f / powf((float)c->rope_theta, (float)(2 * i) / (float)c->head_dim);
        float wavelen = (float)(2 * M_PI) / freq;
        if (wavelen < high_wavelen) {
            out[i] = 1;
        } else if (wavelen > low_wavelen) {
            out[i] = factor;
        } else {
            float smooth = (old / wavelen - low) / (float)(s->high_freq - s->low_freq);
            out[i] = 1 / ((1 - smooth) / factor + smooth);
        }
    }
}

const struct family family_llama = {
    .architecture = "LlamaForCausalLM",
    .model_type = "llama",
    .gguf = "llama",
    .permute_qk = true,
    .kv_defaults_to_heads = true,
    .check = family_no_check,
    .put_keys = family_put_vocab_and_rope,
};

const struct family family_mistral = {
    .architecture = "MistralForCausalLM",
    .model_type = "mistral",
    .gguf = "llama",
    .permute_qk = true,
    .check = check_window,
    .put_keys = family_put_vocab_and_rope,
};
