/* SPDX-License-Identifier: Apache-2.0 */
#include "base/model/hparams.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/model/roles.h"
#include "base/util/text.h"

enum { MAX_LAYERS = 512, MAX_HEADS = 65536, MAX_WIDTH = 1 << 24, MAX_CTX = 1 << 30 };

static const struct family {
    const char *name;
    enum arch arch;
    bool rope_neox, qk_norm;
} families[] = {
    { "llama", ARCH_LLAMA, false, false },
    { "qwen3", ARCH_QWEN3, true, true },
};

/* What the steps of one reading share. */
struct reading {
    struct hparams *h;
    const struct gguf *g;
    const struct family *family;
    struct error *err;
};

static int __attribute__((format(printf, 3, 4))) fail(const struct reading *r, int code, const char *fmt, ...)
{
    char text[1024], path[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return error_set(r->err, code, "%s: %s", text_quote(path, sizeof path, r->g->file.path, strlen(r->g->file.path)),
                     text);
}

static char *full_key(const struct reading *r, const char *suffix, char buf[160])
{
    snprintf(buf, 160, "%s.%s", r->h->arch_name, suffix);
    return buf;
}

/* A count within [min, max]; absent: *out keeps its value unless `required`. */
static int count(const struct reading *r, const char *suffix, bool required, uint32_t min, uint32_t max, uint32_t *out)
{
    char key[160];
    full_key(r, suffix, key);
    int rc = required ? gguf_need_u32(r->g, key, out, r->err) : gguf_opt_u32(r->g, key, out, r->err);
    if (rc)
        return rc;
    if (gguf_find(r->g, key) && (*out < min || *out > max))
        return fail(r, ERROR_FORMAT, "%s is %" PRIu32 ", expected %" PRIu32 " to %" PRIu32, key, *out, min, max);
    return 0;
}

/* A finite number above 0 (or at least 0). */
static int number(const struct reading *r, const char *suffix, bool required, bool zero_ok, float *out)
{
    char key[160];
    full_key(r, suffix, key);
    int rc = required ? gguf_need_f32(r->g, key, out, r->err) : gguf_opt_f32(r->g, key, out, r->err);
    if (rc)
        return rc;
    if (!isfinite(*out) || *out < 0 || (*out == 0 && !zero_ok))
        return fail(r, ERROR_FORMAT, "%s is %g, expected a finite number %s 0", key, (double)*out,
                    zero_ok ? "of at least" : "above");
    return 0;
}

static int read_arch(struct reading *r)
{
    struct gguf_str s;
    char q[96];
    uint32_t parts = 0;
    int rc = gguf_need_str(r->g, "general.architecture", &s, r->err);
    if (!rc)
        rc = gguf_opt_u32(r->g, "split.count", &parts, r->err);
    if (rc)
        return rc;
    if (parts > 1)
        return fail(r, ERROR_UNSUPPORTED, "one of %" PRIu32 " parts (split.count): merge them first", parts);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].name) == s.n && !memcmp(families[i].name, s.s, s.n))
            r->family = &families[i];
    if (!r->family)
        return fail(r, ERROR_UNSUPPORTED, "general.architecture is '%s', supported are llama and qwen3",
                    text_quote(q, sizeof q, s.s, s.n));
    r->h->arch = r->family->arch;
    r->h->rope_neox = r->family->rope_neox;
    snprintf(r->h->arch_name, sizeof r->h->arch_name, "%s", r->family->name);
    return 0;
}

static int read_sizes(struct reading *r)
{
    struct hparams *h = r->h;
    uint32_t experts = 0, value_length, window = 0;
    char key[160];
    int rc;
    if ((rc = count(r, "block_count", true, 1, MAX_LAYERS, &h->n_layer)) ||
        (rc = count(r, "context_length", true, 1, MAX_CTX, &h->n_ctx_train)) ||
        (rc = count(r, "embedding_length", true, 1, MAX_WIDTH, &h->n_embd)) ||
        (rc = count(r, "feed_forward_length", true, 1, MAX_WIDTH, &h->n_ff)) ||
        (rc = count(r, "attention.head_count", true, 1, MAX_HEADS, &h->n_head)))
        return rc;
    h->n_head_kv = h->n_head;
    if ((rc = count(r, "attention.head_count_kv", false, 1, MAX_HEADS, &h->n_head_kv)))
        return rc;
    if (h->n_head % h->n_head_kv)
        return fail(r, ERROR_FORMAT,
                    "attention.head_count %" PRIu32 " is no multiple of attention.head_count_kv %" PRIu32, h->n_head,
                    h->n_head_kv);
    if (!gguf_find(r->g, full_key(r, "attention.key_length", key)) && h->n_embd % h->n_head)
        return fail(r, ERROR_FORMAT,
                    "embedding_length %" PRIu32 " is no multiple of attention.head_count %" PRIu32
                    " and there is no attention.key_length",
                    h->n_embd, h->n_head);
    h->head_dim = h->n_embd / h->n_head;
    if ((rc = count(r, "attention.key_length", false, 1, 65536, &h->head_dim)))
        return rc;
    value_length = h->head_dim;
    if ((rc = count(r, "attention.value_length", false, 1, 65536, &value_length)) ||
        (rc = count(r, "expert_count", false, 0, UINT32_MAX, &experts)) ||
        (rc = count(r, "attention.sliding_window", false, 0, UINT32_MAX, &window)))
        return rc;
    if (value_length != h->head_dim)
        return fail(r, ERROR_UNSUPPORTED,
                    "attention.value_length %" PRIu32 " differs from attention.key_length %" PRIu32, value_length,
                    h->head_dim);
    if (experts)
        return fail(r, ERROR_UNSUPPORTED, "%s.expert_count is %" PRIu32 ": only dense models are supported",
                    h->arch_name, experts);
    if (window && window < h->n_ctx_train)
        return fail(r, ERROR_UNSUPPORTED,
                    "%s.attention.sliding_window is %" PRIu32 ": sliding windows are not supported", h->arch_name,
                    window);
    return number(r, "attention.layer_norm_rms_epsilon", true, false, &h->rms_eps);
}

static int read_rope(struct reading *r)
{
    struct hparams *h = r->h;
    struct gguf_str type = { "none", 4 };
    float attn_factor = 1;
    char key[160], q[64];
    h->n_rot = h->head_dim;
    h->rope_base = 10000;
    h->rope_factor = 1;
    h->rope_orig_ctx = h->n_ctx_train;
    h->yarn_ext_factor = h->yarn_attn_factor = h->yarn_beta_slow = 1;
    h->yarn_beta_fast = 32;
    int rc;
    if ((rc = count(r, "rope.dimension_count", false, 2, h->head_dim, &h->n_rot)) ||
        (rc = number(r, "rope.freq_base", false, false, &h->rope_base)) ||
        (rc = gguf_opt_str(r->g, full_key(r, "rope.scaling.type", key), &type, r->err)))
        return rc;
    if (h->n_rot < 2 || h->n_rot % 2)
        return fail(r, ERROR_FORMAT, "rope.dimension_count is %" PRIu32 ", expected an even number of at least 2",
                    h->n_rot);
    if (type.n == 6 && !memcmp(type.s, "linear", 6))
        h->rope_scaling = ROPE_LINEAR;
    else if (type.n == 4 && !memcmp(type.s, "yarn", 4))
        h->rope_scaling = ROPE_YARN;
    else if (type.n != 4 || memcmp(type.s, "none", 4))
        return fail(r, ERROR_UNSUPPORTED, "%s is '%s', supported are none, linear and yarn", key,
                    text_quote(q, sizeof q, type.s, type.n));
    if (h->rope_scaling == ROPE_NONE)
        return 0;
    if ((rc = number(r, "rope.scaling.factor", true, false, &h->rope_factor)) ||
        (rc = count(r, "rope.scaling.original_context_length", false, 1, MAX_CTX, &h->rope_orig_ctx)) ||
        (rc = number(r, "rope.scaling.attn_factor", false, false, &attn_factor)) ||
        (rc = number(r, "rope.scaling.yarn_ext_factor", false, true, &h->yarn_ext_factor)) ||
        (rc = number(r, "rope.scaling.yarn_attn_factor", false, false, &h->yarn_attn_factor)) ||
        (rc = number(r, "rope.scaling.yarn_beta_fast", false, false, &h->yarn_beta_fast)) ||
        (rc = number(r, "rope.scaling.yarn_beta_slow", false, false, &h->yarn_beta_slow)))
        return rc;
    h->yarn_attn_factor *= attn_factor;
    return 0;
}

/* ne of a tensor as the hyperparameters want it: n_in, n_out (1 for vectors). */
static void expected_shape(const struct hparams *h, enum role role, uint64_t ne[2])
{
    uint64_t q = (uint64_t)h->n_head * h->head_dim, kv = (uint64_t)h->n_head_kv * h->head_dim;
    ne[0] = h->n_embd;
    ne[1] = 1;
    switch (role) {
    case ROLE_TOKEN_EMBD:
    case ROLE_OUTPUT:
        ne[1] = h->n_vocab;
        break;
    case ROLE_ROPE_FREQS:
        ne[0] = h->n_rot / 2;
        break;
    case ROLE_ATTN_Q:
        ne[1] = q;
        break;
    case ROLE_ATTN_K:
    case ROLE_ATTN_V:
        ne[1] = kv;
        break;
    case ROLE_ATTN_Q_NORM:
    case ROLE_ATTN_K_NORM:
        ne[0] = h->head_dim;
        break;
    case ROLE_ATTN_OUTPUT:
        ne[0] = q, ne[1] = h->n_embd;
        break;
    case ROLE_FFN_GATE:
    case ROLE_FFN_UP:
        ne[1] = h->n_ff;
        break;
    case ROLE_FFN_DOWN:
        ne[0] = h->n_ff, ne[1] = h->n_embd;
        break;
    default:
        break; /* norms: n_embd */
    }
}

static bool in_family(const struct family *f, enum role role)
{
    return role != ROLE_OTHER && (f->qk_norm || (role != ROLE_ATTN_Q_NORM && role != ROLE_ATTN_K_NORM));
}

/* Tensors of the file against the family: nothing unknown (a bias left out would be a wrong answer), right shapes. */
static int check_present(const struct reading *r)
{
    for (size_t i = 0; i < r->g->n_tensors; i++) {
        const struct gguf_tensor *t = &r->g->tensors[i];
        uint64_t ne[2];
        int layer;
        enum role role = role_of(t->name, &layer);
        char q[160];
        text_quote(q, sizeof q, t->name, strlen(t->name));
        if (layer >= 0 && (uint32_t)layer >= r->h->n_layer)
            return fail(r, ERROR_FORMAT, "tensor %s: layer %d, but %s.block_count is %" PRIu32, q, layer,
                        r->h->arch_name, r->h->n_layer);
        if (!in_family(r->family, role))
            return fail(r, ERROR_UNSUPPORTED, "tensor %s is not known in architecture %s", q, r->h->arch_name);
        expected_shape(r->h, role, ne);
        if (t->ne[0] != ne[0] || t->ne[1] != ne[1] || t->ne[2] != 1 || t->ne[3] != 1)
            return fail(r, ERROR_FORMAT,
                        "tensor %s: expected shape [%" PRIu64 ", %" PRIu64 "], found [%" PRIu64 ", %" PRIu64 "%s]", q,
                        ne[0], ne[1], t->ne[0], t->ne[1], t->ne[2] * t->ne[3] == 1 ? "" : ", ...");
    }
    return 0;
}

static int check_complete(const struct reading *r)
{
    for (int role = 0; role < ROLE_OTHER; role++) {
        if (role == ROLE_ROPE_FREQS || role == ROLE_OUTPUT || !in_family(r->family, role))
            continue;
        uint32_t n = role_info(role)->per_layer ? r->h->n_layer : 1;
        for (uint32_t layer = 0; layer < n; layer++) {
            char name[64];
            if (!gguf_tensor(r->g, role_name(role, (int)layer, name)))
                return fail(r, ERROR_FORMAT, "missing tensor %s (%s.block_count is %" PRIu32 ")", name, r->h->arch_name,
                            r->h->n_layer);
        }
    }
    return 0;
}

static int read_vocab(struct reading *r)
{
    struct hparams *h = r->h;
    const struct gguf_tensor *embd = gguf_tensor(r->g, "token_embd.weight");
    const struct gguf_kv *tokens = gguf_find(r->g, "tokenizer.ggml.tokens");
    if (!embd)
        return fail(r, ERROR_FORMAT, "missing tensor token_embd.weight");
    if (embd->ne[1] < 1 || embd->ne[1] > INT32_MAX)
        return fail(r, ERROR_FORMAT, "tensor token_embd.weight: %" PRIu64 " rows", embd->ne[1]);
    h->n_vocab = (uint32_t)embd->ne[1];
    uint32_t claimed = h->n_vocab;
    int rc = count(r, "vocab_size", false, 1, INT32_MAX, &claimed);
    if (rc)
        return rc;
    if (claimed != h->n_vocab)
        return fail(r, ERROR_FORMAT, "%s.vocab_size is %" PRIu32 ", token_embd.weight has %" PRIu32 " rows",
                    h->arch_name, claimed, h->n_vocab);
    if (tokens && tokens->type == GGUF_ARRAY && tokens->count != h->n_vocab)
        return fail(r, ERROR_FORMAT,
                    "tokenizer.ggml.tokens has %" PRIu64 " entries, token_embd.weight %" PRIu32 " rows", tokens->count,
                    h->n_vocab);
    h->tied = !gguf_tensor(r->g, "output.weight");
    return 0;
}

int hparams_read(struct hparams *h, const struct gguf *g, struct error *err)
{
    struct reading r = { .h = h, .g = g, .err = err };
    *h = (struct hparams){ 0 };
    int rc;
    if ((rc = read_arch(&r)) || (rc = read_sizes(&r)) || (rc = read_rope(&r)) || (rc = read_vocab(&r)) ||
        (rc = check_present(&r)))
        return rc;
    return check_complete(&r);
}
