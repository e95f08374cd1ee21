/* SPDX-License-Identifier: Apache-2.0 */
/* Qwen3, dense: heads normalised one by one, rotary halves as in the checkpoint, head size of its own. */
#include "convert/family.h"

/* The qwen3 graph of GGUF readers takes no per-frequency divisors. */
static int check_rope(const struct config *c, struct error *err)
{
    if (c->rope.type != CONFIG_ROPE_LLAMA3)
        return 0;
    return error_set(err, ERROR_UNSUPPORTED,
                     "config.json: rope type llama3 is not supported for %s (expected default, linear or yarn)",
                     c->architecture);
}

const struct family family_qwen3 = {
    .architecture = "Qwen3ForCausalLM",
    .model_type = "qwen3",
    .gguf = "qwen3",
    .qk_norm = true,
    .default_head_dim = 128,
    .check = check_rope,
    .put_keys = family_put_nothing,
};
