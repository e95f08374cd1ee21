/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/util/mem.h"
#include "base/util/text.h"
#include "runtime/commands.h"

static const struct run_command commands[] = {
    { "perplexity", cmd_perplexity, "perplexity of texts, as llama-perplexity computes it" },
    { "kl", cmd_kl, "divergence of the predictions from a reference's" },
    { "bench", cmd_bench, "tokens per second" },
    { "logits", cmd_logits, "logits of given ids" },
    { "generate", cmd_generate, "continue a prompt" },
    { "tokenize", cmd_tokenize, "token ids of texts" },
};
enum { PPL = 1, KL = 2, BENCH = 4, LOGITS = 8, GENERATE = 16, TOKENIZE = 32, SCORE = PPL | KL, MODEL = 31 };

enum {
    FILE_,
    PARSE_SPECIAL,
    IDS,
    OUTPUT,
    CTX,
    BATCH,
    CHUNKS,
    PPL_STRIDE,
    REF,
    KL_BASE,
    SAVE_KL_BASE,
    PROMPT,
    N_PREDICT,
    CHAT,
    SYSTEM,
    TEMP,
    TOP_K,
    TOP_P,
    MIN_P,
    REPEAT_PENALTY,
    REPEAT_LAST_N,
    MIROSTAT,
    MIROSTAT_ENT,
    MIROSTAT_LR,
    SEED,
    THREADS,
    KV_TYPE,
    NO_MMAP,
    MLOCK,
    EXACT,
    N_OPTIONS
};
_Static_assert((int)N_OPTIONS <= (int)RUN_MAX_OPTIONS, "run_options.seen is too short");

#define AT(field) offsetof(struct run_options, field)
#define SEEN(i) .seen_offset = AT(seen) + (i)

static const struct cli_option options[] = {
    [FILE_] = { "file", 'f', CLI_LIST, AT(files), "TEXT", "text file; may be repeated (perplexity, kl, tokenize)",
                "Input", SEEN(FILE_) },
    [PARSE_SPECIAL] = { "parse-special", 0, CLI_FLAG, AT(parse_special), NULL,
                        "control tokens such as <|im_start|> in the text are tokens, not plain characters",
                        SEEN(PARSE_SPECIAL) },
    [IDS] = { "ids", 0, CLI_STRING, AT(ids), "FILE", "token ids, a JSON array (logits)", SEEN(IDS) },
    [OUTPUT] = { "output", 'o', CLI_STRING, AT(output), "FILE", "float32 rows, little-endian (logits)", SEEN(OUTPUT) },

    [CTX] = { "ctx", 'c', CLI_U64, AT(n_ctx), "N", "context; scoring cuts the text into chunks of this (default 512)",
              "Evaluation", .min = 4, .max = 1 << 24, SEEN(CTX) },
    [BATCH] = { "batch", 'b', CLI_U64, AT(n_batch), "N", "most tokens evaluated at once (default 512)", .min = 1,
                .max = 65536, SEEN(BATCH) },
    [CHUNKS] = { "chunks", 0, CLI_U64, AT(chunks), "N", "stop after N chunks (default: all)", .min = 1, .max = 1e9,
                 SEEN(CHUNKS) },
    [PPL_STRIDE] = { "ppl-stride", 0, CLI_U64, AT(ppl_stride), "N",
                     "overlapping windows N apart, each scoring its last N tokens (perplexity)", .min = 1,
                     .max = 1 << 24, SEEN(PPL_STRIDE) },
    [REF] = { "ref", 0, CLI_STRING, AT(ref), "REF.gguf", "reference model (kl)", SEEN(REF) },
    [KL_BASE] = { "kl-base", 0, CLI_STRING, AT(kl_base), "FILE",
                  "reference as log-probabilities, llama-perplexity's format (kl)", SEEN(KL_BASE) },
    [SAVE_KL_BASE] = { "save-kl-base", 0, CLI_STRING, AT(save_kl_base), "FILE",
                       "write such a file: of the model (perplexity) or of the reference (kl)", SEEN(SAVE_KL_BASE) },

    [PROMPT] = { "prompt", 'p', CLI_STRING, AT(prompt), "TEXT|N",
                 "text to continue; bench: prompt tokens (default 512)", "Generation", SEEN(PROMPT) },
    [N_PREDICT] = { "n-predict", 'n', CLI_U64, AT(n_predict), "N", "most tokens to generate (default 128)", .min = 1,
                    .max = 1 << 24, SEEN(N_PREDICT) },
    [CHAT] = { "chat", 0, CLI_FLAG, AT(chat), NULL, "the prompt is a user's message in the file's chat template",
               SEEN(CHAT) },
    [SYSTEM] = { "system", 0, CLI_STRING, AT(system), "TEXT", "system message before it", SEEN(SYSTEM) },
    [TEMP] = { "temp", 0, CLI_F64, AT(temp), "T", "temperature, 0: always the likeliest token (default 0.8)",
               .max = 100, SEEN(TEMP) },
    [TOP_K] = { "top-k", 0, CLI_U64, AT(top_k), "K", "only the K likeliest, 0: all (default 40)", .max = 1 << 24,
                SEEN(TOP_K) },
    [TOP_P] = { "top-p", 0, CLI_F64, AT(top_p), "P", "the likeliest that together reach P, 1: all (default 0.95)",
                .max = 1, SEEN(TOP_P) },
    [MIN_P] = { "min-p", 0, CLI_F64, AT(min_p), "P", "at least P times the likeliest, 0: all (default 0.05)", .max = 1,
                SEEN(MIN_P) },
    [REPEAT_PENALTY] = { "repeat-penalty", 0, CLI_F64, AT(repeat_penalty), "X",
                         "weaken recent tokens, 1: off (default 1)", .min = 0.01, .max = 100, SEEN(REPEAT_PENALTY) },
    [REPEAT_LAST_N] = { "repeat-last-n", 0, CLI_U64, AT(repeat_last_n), "N", "how many are recent (default 64)",
                        .max = 65536, SEEN(REPEAT_LAST_N) },
    [MIROSTAT] = { "mirostat", 0, CLI_CHOICE, AT(mirostat), "0|2",
                   "steer to a target surprise instead of top-k, top-p, min-p", .choices = "0|2", SEEN(MIROSTAT) },
    [MIROSTAT_ENT] = { "mirostat-ent", 0, CLI_F64, AT(mirostat_ent), "TAU", "target surprise in bits (default 5)",
                       .min = 0.01, .max = 100, SEEN(MIROSTAT_ENT) },
    [MIROSTAT_LR] = { "mirostat-lr", 0, CLI_F64, AT(mirostat_lr), "ETA", "learning rate (default 0.1)", .min = 0.0001,
                      .max = 10, SEEN(MIROSTAT_LR) },
    [SEED] = { "seed", 's', CLI_U64, AT(seed), "N", "of the random draws (default 1)", SEEN(SEED) },

    [THREADS] = { "cpu-threads", 't', CLI_U64, AT(threads), "N", "the same as -j", "Machine", .min = 1, .max = 1024,
                  SEEN(THREADS) },
    [KV_TYPE] = { "kv-type", 0, CLI_CHOICE, AT(kv_type), "TYPE",
                  "key/value cache (default f32; generate and bench f16)", .choices = "f32|f16|q8_0", SEEN(KV_TYPE) },
    [NO_MMAP] = { "no-mmap", 0, CLI_FLAG, AT(no_mmap), NULL, "read the weights into memory instead of mapping the file",
                  SEEN(NO_MMAP) },
    [MLOCK] = { "mlock", 0, CLI_FLAG, AT(mlock), NULL, "keep the weights in memory", SEEN(MLOCK) },
    [EXACT] = { "exact", 0, CLI_FLAG, AT(exact), NULL, "multiply ternary weights with unrounded activations (slower)",
                SEEN(EXACT) },
};

/* Which commands use an option. */
static const unsigned used_by[N_OPTIONS] = {
    [FILE_] = SCORE | TOKENIZE,
    [PARSE_SPECIAL] = SCORE | TOKENIZE | GENERATE,
    [IDS] = LOGITS,
    [OUTPUT] = LOGITS,
    [CTX] = SCORE | GENERATE,
    [BATCH] = MODEL,
    [CHUNKS] = SCORE,
    [PPL_STRIDE] = PPL,
    [REF] = KL,
    [KL_BASE] = KL,
    [SAVE_KL_BASE] = SCORE,
    [PROMPT] = GENERATE | BENCH,
    [N_PREDICT] = GENERATE | BENCH,
    [CHAT] = GENERATE,
    [SYSTEM] = GENERATE,
    [TEMP] = GENERATE,
    [TOP_K] = GENERATE,
    [TOP_P] = GENERATE,
    [MIN_P] = GENERATE,
    [REPEAT_PENALTY] = GENERATE,
    [REPEAT_LAST_N] = GENERATE,
    [MIROSTAT] = GENERATE,
    [MIROSTAT_ENT] = GENERATE,
    [MIROSTAT_LR] = GENERATE,
    [SEED] = GENERATE,
    [THREADS] = MODEL,
    [KV_TYPE] = MODEL,
    [NO_MMAP] = MODEL,
    [MLOCK] = MODEL,
    [EXACT] = MODEL,
};
enum { USE_JSON = SCORE | BENCH | TOKENIZE, USE_FORCE = SCORE | LOGITS, USE_DRY_RUN = SCORE | GENERATE | LOGITS };

static const struct cli_spec spec = {
    .program = "tern-run",
    .operands = "perplexity|kl|generate|bench|tokenize|logits MODEL.gguf",
    .summary = "Run a GGUF model: measure it, continue a text with it.",
    .options = options,
    .n_options = N_OPTIONS,
    .min_operands = 2,
    .max_operands = 2,
};

const struct run_command *run_command_at(size_t i)
{
    return i < sizeof commands / sizeof *commands ? &commands[i] : NULL;
}

const struct run_command *run_command(const char *name)
{
    for (size_t i = 0; run_command_at(i); i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int check_options(const struct run_options *o, const struct run_command *c, struct error *err)
{
    unsigned bit = 1u << (c - commands);
    for (size_t i = 0; i < N_OPTIONS; i++)
        if (o->seen[i] && !(used_by[i] & bit))
            return error_set(err, ERROR_USAGE, "%s does not use --%s", c->name, options[i].name);
    const struct {
        bool given;
        unsigned commands;
        const char *name;
    } common[] = { { o->common.json, USE_JSON, "json" },
                   { o->common.force, USE_FORCE, "force" },
                   { o->common.dry_run, USE_DRY_RUN, "dry-run" } };
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        if (common[i].given && !(common[i].commands & bit))
            return error_set(err, ERROR_USAGE, "%s does not use --%s", c->name, common[i].name);
    return 0;
}

static int check_needs(const struct run_options *o, const struct run_command *c, struct error *err)
{
    unsigned bit = 1u << (c - commands);
    if (bit & (PPL | TOKENIZE) && !o->files.n)
        return error_set(err, ERROR_USAGE, "%s needs a text: -f TEXT", c->name);
    if (bit == KL && !o->ref == !o->kl_base)
        return error_set(err, ERROR_USAGE, "kl needs one reference: --ref REF.gguf or --kl-base FILE");
    if (bit == KL && o->ref && !o->files.n)
        return error_set(err, ERROR_USAGE, "kl --ref needs a text: -f TEXT");
    if (bit & SCORE && (o->save_kl_base || bit == KL) && o->files.n > 1)
        return error_set(err, ERROR_USAGE,
                         "log-probabilities are kept and compared for one text at a time: give one -f");
    if (o->save_kl_base && (o->kl_base || o->ppl_stride))
        return error_set(err, ERROR_USAGE, "--save-kl-base does not go with --kl-base or --ppl-stride");
    if (bit == GENERATE && !o->prompt)
        return error_set(err, ERROR_USAGE, "generate needs a prompt: -p TEXT");
    if (o->system && !o->chat)
        return error_set(err, ERROR_USAGE, "--system is a message of a chat: add --chat");
    if (o->seen[MIROSTAT_ENT] + o->seen[MIROSTAT_LR] && !o->mirostat)
        return error_set(err, ERROR_USAGE, "--mirostat-ent and --mirostat-lr need --mirostat 2");
    if (bit == LOGITS && (!o->ids || !o->output))
        return error_set(err, ERROR_USAGE, "logits needs --ids IDS.json and -o OUT.f32");
    if (o->seen[THREADS] && o->common.threads)
        return error_set(err, ERROR_USAGE, "-t and -j are the same: give one");
    return 0;
}

int run_parse(int argc, char **argv, struct run_options *o, const struct run_command **command, struct error *err)
{
    const char **operands = NULL;
    size_t n_operands;
    char quoted[64];
    *o = (struct run_options){ .n_batch = 512,
                               .n_predict = 128,
                               .temp = 0.8,
                               .top_k = 40,
                               .top_p = 0.95,
                               .min_p = 0.05,
                               .repeat_penalty = 1,
                               .repeat_last_n = 64,
                               .mirostat_ent = 5,
                               .mirostat_lr = 0.1,
                               .seed = 1 };
    int rc = cli_parse(&spec, argc, argv, o, &operands, &n_operands, err);
    if (rc)
        return rc;
    const struct run_command *c = *command = run_command(operands[0]);
    o->model = operands[1];
    if (!c)
        rc = error_set(err, ERROR_USAGE, "unknown command '%s', expected one of %s",
                       text_quote(quoted, sizeof quoted, operands[0], strlen(operands[0])), spec.operands);
    mem_free(operands);
    if (rc)
        return rc;
    if (!o->seen[KV_TYPE] && 1u << (c - commands) & (GENERATE | BENCH))
        o->kv_type = KV_F16;
    if (o->seen[THREADS])
        o->common.threads = o->threads;
    rc = check_options(o, c, err);
    return rc ? rc : check_needs(o, c, err);
}

void run_free(struct run_options *o)
{
    cli_free(&spec, o);
}
