/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of tern-run: `tern-run COMMAND MODEL.gguf [options]`. One options struct and one option table serve all
 * of them; each option says which commands use it, and giving it to another command is a usage error. A
 * command prints its result on stdout, talk on stderr unless quiet, and returns 0 or a code with *err filled.
 */
#ifndef TERNPACK_RUNTIME_COMMANDS_H
#define TERNPACK_RUNTIME_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util/cli.h"
#include "base/util/error.h"
#include "base/util/parallel.h"
#include "base/util/progress.h"
#include "runtime/model.h"

enum { RUN_MAX_OPTIONS = 48 };

struct run_options {
    struct cli_common common;   /* first: cli_parse fills it */
    bool seen[RUN_MAX_OPTIONS]; /* by index in the option table */
    const char *model;          /* MODEL.gguf */

    /* text and ids */
    struct cli_list files; /* -f, at least one where the command needs text */
    bool parse_special;    /* control tokens such as <|im_start|> in the text are tokens; default: plain characters */
    const char *ids;       /* logits: JSON array of token ids */
    const char *output;    /* logits: -o */

    /* evaluation */
    uint64_t n_ctx; /* -c, 0: the command's default */
    uint64_t n_batch;
    uint64_t chunks;          /* 0: all */
    uint64_t ppl_stride;      /* 0: chunks without overlap */
    const char *ref;          /* kl: reference model */
    const char *kl_base;      /* kl: log-probability file to compare with */
    const char *save_kl_base; /* perplexity, kl: log-probability file to write */

    /* generation and bench */
    const char *prompt; /* text; for bench the number of prompt tokens */
    const char *system; /* system message of a chat */
    uint64_t n_predict; /* -n */
    bool chat;
    double temp, top_p, min_p, repeat_penalty, mirostat_ent, mirostat_lr;
    uint64_t top_k, repeat_last_n, seed;
    int mirostat; /* 0: off, 1: version 2 */

    /* machine */
    uint64_t threads; /* -t, as in llama.cpp; the same as -j */
    int kv_type;      /* enum kv_type; run_parse has put in the command's default */
    bool no_mmap, mlock, exact;
};

struct run_command {
    const char *name;
    int (*run)(const struct run_options *o, struct error *err);
    const char *summary;
};
/* NULL when unknown / past the end. */
const struct run_command *run_command(const char *name);
const struct run_command *run_command_at(size_t i);

/* argv as main got it. *command and *o are filled; 0, CLI_DONE (help printed) or ERROR_USAGE. */
int run_parse(int argc, char **argv, struct run_options *o, const struct run_command **command, struct error *err);
void run_free(struct run_options *o);

/* What the model commands share: pool, kernels (TERNPACK_KERNELS; named on stderr with -v), model, progress (may be
 * NULL). */
struct run_env {
    struct pool *pool;
    const struct kernels *kernels;
    struct model_options model_options;
    struct model *model;
    struct progress *progress;
};
int run_env_open(struct run_env *e, const struct run_options *o, struct error *err);
void run_env_close(struct run_env *e); /* accepts a zero struct */
double run_seconds(void);              /* monotonic clock */
/* A line of talk on stderr, not with -q. */
/* 0, or ERROR_FORMAT naming the model when one of n logits is NaN or infinite. */
int run_check_logits(const struct run_options *o, const float *logits, size_t n, struct error *err);
void run_say(const struct run_options *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

int cmd_perplexity(const struct run_options *o, struct error *err);
int cmd_kl(const struct run_options *o, struct error *err);
int cmd_generate(const struct run_options *o, struct error *err);
int cmd_bench(const struct run_options *o, struct error *err);
int cmd_tokenize(const struct run_options *o, struct error *err); /* prints ids as one JSON array per file */
int cmd_logits(const struct run_options *o, struct error *err);

#endif
