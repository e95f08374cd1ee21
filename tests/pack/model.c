/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/pack/model.h"

#include <math.h>

#include "base/format/gguf.h"
#include "base/util/bytes.h"
#include "base/util/rng.h"

static size_t store(uint32_t type, float v, uint8_t *out)
{
    if (type == BLOCK_F32)
        bytes_put_f32(out, v);
    else
        bytes_put_u16(out, type == BLOCK_F16 ? bytes_f16_from_f32(v) : bytes_bf16_from_f32(v));
    return type == BLOCK_F32 ? 4 : 2;
}

static int write_tensor(struct gguf_writer *w, const struct model_tensor *t, struct rng *r, struct error *err)
{
    uint64_t n_rows = t->n_rows ? t->n_rows : 1;
    float scale = 0;
    int rc = 0;
    for (uint64_t i = 0; i < n_rows * t->n_cols && rc == 0; i++) {
        uint8_t bytes[4];
        float v;
        if (t->values == MODEL_TERNARY) {
            if (i % t->group == 0)
                scale = (float)(1 + rng_below(r, 15)) / 64;
            v = scale * (float)((int)rng_below(r, 3) - 1);
        } else {
            v = (float)(rng_normal(r) * (t->values == MODEL_ZERO ? 0 : t->values == MODEL_TINY ? 1e-10 : 0.02));
        }
        if (t->poison != 0 && i == (n_rows - 1) * t->n_cols + 1)
            v = (float)t->poison;
        rc = gguf_writer_data(w, bytes, store(t->type, v, bytes), err);
    }
    return rc;
}

int model_write(const char *path, const struct model_tensor *tensors, const char *extra_key, uint64_t seed,
                struct error *err)
{
    struct gguf_writer *w = NULL;
    struct rng r;
    rng_seed(&r, seed);
    int rc = gguf_writer_new(&w, 32, err);
    if (rc == 0)
        rc = gguf_put_str(w, "general.architecture", "llama", 5, err);
    if (rc == 0)
        rc = gguf_put_u32(w, "general.file_type", 1, err);
    if (rc == 0)
        rc = gguf_put_u32(w, "llama.block_count", 1, err);
    if (rc == 0 && extra_key)
        rc = gguf_put_str(w, extra_key, "x", 1, err);
    for (const struct model_tensor *t = tensors; t->name && rc == 0; t++)
        rc = gguf_put_tensor(w, t->name, t->type, t->n_rows ? 2 : 1,
                             (uint64_t[]){ t->n_cols, t->n_rows ? t->n_rows : 1 }, err);
    if (rc == 0)
        rc = gguf_writer_begin(w, path, true, err);
    for (const struct model_tensor *t = tensors; t->name && rc == 0; t++)
        rc = write_tensor(w, t, &r, err);
    if (rc == 0)
        rc = gguf_writer_commit(w, err);
    gguf_writer_free(w);
    return rc;
}
