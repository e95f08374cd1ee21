/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/options.h"

#include <inttypes.h>

#include "base/util/mem.h"

#define AT(member) offsetof(struct driver_options, member)

static const char *const dtypes[] = { "auto", "f16", "bf16", "f32", "f16", "bf16", "f32" };
static const char *const types[] = { "TQ1_0", "TQ2_0", "Q2_0", "PQ2_0", "PTQ1_0" };
static const char *const methods[] = { "optimal", "weighted" };
static const char *const heads[] = { "Q8_0", "F16" };
static const char *const ragged[] = { "error", "f16", "q8_0" };
static const char *const lossless[] = { "auto", "require" };
enum { TYPE_TQ2_0 = 1, TYPE_Q2_0 = 2, TYPE_PQ2_0 = 3, METHOD_OPTIMAL = 0, METHOD_WEIGHTED = 1 };

static const struct cli_option table[] = {
    { .name = "output",
      .letter = 'o',
      .kind = CLI_STRING,
      .offset = AT(output),
      .arg = "OUT.gguf",
      .group = "Files",
      .help = "file to write, and OUT.gguf.sha256 beside it" },
    { .name = "resume",
      .kind = CLI_FLAG,
      .offset = AT(resume),
      .help = "go on in OUT.gguf.work: what an earlier run finished from the same inputs is used again" },
    { .name = "keep", .kind = CLI_FLAG, .offset = AT(keep), .help = "leave OUT.gguf.work with the intermediate files" },

    { .name = "dtype",
      .kind = CLI_CHOICE,
      .offset = AT(dtype),
      .seen_offset = AT(dtype_given),
      .arg = "TYPE",
      .group = "Conversion",
      .choices = "auto|f16|bf16|f32|float16|bfloat16|float32",
      .help = "type of the full-precision model (default auto: the checkpoint's own)" },
    { .name = "clamp",
      .kind = CLI_FLAG,
      .offset = AT(clamp),
      .help = "with f16: clamp what does not fit instead of refusing" },
    { .name = "pre",
      .kind = CLI_STRING,
      .offset = AT(pre),
      .arg = "NAME",
      .help = "pre-tokenizer, where it is not recognised" },
    { .name = "allow-extra",
      .kind = CLI_LIST,
      .offset = AT(allow_extra),
      .arg = "REGEX",
      .help = "leave out the tensors whose names match; repeatable" },
    { .name = "metadata",
      .kind = CLI_LIST,
      .offset = AT(metadata),
      .arg = "KEY=VALUE",
      .help = "add a key; repeatable" },

    { .name = "file",
      .letter = 'f',
      .kind = CLI_LIST,
      .offset = AT(corpora),
      .arg = "TEXT",
      .group = "Calibration",
      .help = "calibration text, plain or .gz; repeatable. Without one the weights alone decide" },
    { .name = "samples",
      .kind = CLI_U64,
      .offset = AT(samples),
      .arg = "N",
      .min = 1,
      .max = 1e9,
      .help = "chunks of calibration text (default: that of tern-calib)" },

    { .name = "type",
      .kind = CLI_CHOICE,
      .offset = AT(type),
      .seen_offset = AT(type_given),
      .arg = "TYPE",
      .group = "Target",
      .choices = "TQ1_0|TQ2_0|Q2_0|PQ2_0|PTQ1_0",
      .help = "packing of the linear layers (default Q2_0); stock llama.cpp opens TQ1_0, TQ2_0 and Q2_0" },
    { .name = "group-size",
      .kind = CLI_U64,
      .offset = AT(group_size),
      .seen_offset = AT(group_size_given),
      .arg = "N",
      .min = 64,
      .max = 256,
      .help = "weights per scale: 64 picks Q2_0, 128 PQ2_0, 256 TQ2_0; with --type only checked" },
    { .name = "method",
      .kind = CLI_CHOICE,
      .offset = AT(method),
      .seen_offset = AT(method_given),
      .arg = "NAME",
      .choices = "optimal|weighted",
      .help = "how values are fitted (default weighted with -f, else optimal)" },
    { .name = "sparsity-ratio",
      .kind = CLI_F64,
      .offset = AT(sparsity_ratio),
      .seen_offset = AT(sparsity_given),
      .arg = "R",
      .max = 1,
      .help = "share of zeros in each group (default: the optimum)" },
    { .name = "zeros-per-group",
      .kind = CLI_U64,
      .offset = AT(zeros_per_group),
      .seen_offset = AT(zeros_given),
      .arg = "N",
      .max = 255,
      .help = "number of zeros in each group (default: the optimum)" },
    { .name = "embed-type",
      .kind = CLI_CHOICE,
      .offset = AT(embed_type),
      .seen_offset = AT(embed_type_given),
      .arg = "TYPE",
      .choices = "Q8_0|F16",
      .help = "type of the token embedding (default Q8_0)" },
    { .name = "output-type",
      .kind = CLI_CHOICE,
      .offset = AT(output_type),
      .seen_offset = AT(output_type_given),
      .arg = "TYPE",
      .choices = "Q8_0|F16",
      .help = "type of the output head (default Q8_0)" },
    { .name = "override",
      .kind = CLI_LIST,
      .offset = AT(overrides),
      .arg = "REGEX=TYPE",
      .help = "type for the matrices whose names match; repeatable, the first match wins" },
    { .name = "on-ragged",
      .kind = CLI_CHOICE,
      .offset = AT(on_ragged),
      .seen_offset = AT(on_ragged_given),
      .arg = "WHAT",
      .choices = "error|f16|q8_0",
      .help = "rows that are no whole number of blocks (default error)" },
    { .name = "lossless",
      .kind = CLI_CHOICE,
      .offset = AT(lossless),
      .seen_offset = AT(lossless_given),
      .arg = "WHAT",
      .choices = "auto|require",
      .help = "require: refuse tensors that are not ternary already (default auto)" },

    { .name = "eval",
      .kind = CLI_STRING,
      .offset = AT(eval),
      .arg = "TEXT",
      .group = "Evaluation",
      .help = "text for perplexity before and after, and the divergence between both" },
    { .name = "chunks",
      .kind = CLI_U64,
      .offset = AT(chunks),
      .arg = "N",
      .min = 1,
      .max = 1e9,
      .help = "stop the evaluation after N chunks (default: all)" },
    { .name = "ctx",
      .letter = 'c',
      .kind = CLI_U64,
      .offset = AT(n_ctx),
      .arg = "N",
      .min = 4,
      .max = 1 << 24,
      .help = "tokens per chunk, in calibration and evaluation (default 512)" },
    { .name = "exact",
      .kind = CLI_FLAG,
      .offset = AT(exact),
      .help = "evaluate with unrounded activations (slower; default: 8-bit activations against ternary weights)" },

    { .name = "model-path",
      .kind = CLI_STRING,
      .offset = AT(model),
      .arg = "DIR",
      .group = "Other spellings",
      .help = "the same as the operand MODEL_DIR",
      .hidden = true },
    { .name = "output-path",
      .kind = CLI_STRING,
      .offset = AT(output),
      .arg = "FILE",
      .help = "the same as -o",
      .hidden = true },
    { .name = "calibration-dataset",
      .kind = CLI_LIST,
      .offset = AT(corpora),
      .arg = "TEXT",
      .help = "the same as -f",
      .hidden = true },
    { .name = "calibration-samples",
      .kind = CLI_U64,
      .offset = AT(samples),
      .arg = "N",
      .min = 1,
      .max = 1e9,
      .help = "the same as --samples",
      .hidden = true },
};

static const struct cli_spec spec = {
    .program = "ternpack",
    .operands = "MODEL_DIR",
    .summary = "A Hugging Face checkpoint becomes a verified, measured ternary GGUF file: convert, calibrate, pack, "
               "verify, evaluate.",
    .options = table,
    .n_options = sizeof table / sizeof *table,
    .min_operands = 0,
    .max_operands = 1,
};

const char *driver_dtype(const struct driver_options *o)
{
    return dtypes[o->dtype];
}

const char *driver_method(const struct driver_options *o)
{
    return methods[o->method];
}

const char *driver_head_type(int choice)
{
    return heads[choice];
}

const char *driver_on_ragged(const struct driver_options *o)
{
    return ragged[o->on_ragged];
}

const char *driver_lossless(const struct driver_options *o)
{
    return lossless[o->lossless];
}

static int choose_type(struct driver_options *o, struct error *err)
{
    if (!o->type_given && o->group_size_given) {
        if (o->group_size != 64 && o->group_size != 128 && o->group_size != 256)
            return error_set(err, ERROR_USAGE,
                             "--group-size %" PRIu64 ": there are types for 64 (Q2_0), 128 (PQ2_0) and 256 (TQ2_0)",
                             o->group_size);
        o->type = o->group_size == 64 ? TYPE_Q2_0 : o->group_size == 128 ? TYPE_PQ2_0 : TYPE_TQ2_0;
    }
    o->block = block_by_name(types[o->type]);
    if (o->group_size_given && o->group_size != o->block->weights)
        return error_set(err, ERROR_USAGE, "--group-size %" PRIu64 ": %s has %u weights per scale", o->group_size,
                         o->block->name, o->block->weights);
    return 0;
}

static int check(struct driver_options *o, size_t n_operands, struct error *err)
{
    if (n_operands && o->model)
        return error_set(err, ERROR_USAGE, "the model is given twice: as operand and with --model-path");
    if (n_operands)
        o->model = o->operands[0];
    if (!o->model)
        return error_set(err, ERROR_USAGE, "missing operand: ternpack MODEL_DIR -o OUT.gguf");
    if (!o->output)
        return error_set(err, ERROR_USAGE, "no output: give -o OUT.gguf");
    if (o->samples && !o->corpora.n)
        return error_set(err, ERROR_USAGE, "--samples needs a calibration text: -f TEXT");
    if (o->method_given && o->method == METHOD_WEIGHTED && !o->corpora.n)
        return error_set(err, ERROR_USAGE, "--method weighted needs a calibration text: -f TEXT");
    if (o->method_given && o->method == METHOD_OPTIMAL && o->corpora.n)
        return error_set(err, ERROR_USAGE, "--method optimal does not use a calibration text; leave out one of them");
    if (!o->method_given)
        o->method = o->corpora.n ? METHOD_WEIGHTED : METHOD_OPTIMAL;
    if ((o->chunks || o->exact) && !o->eval)
        return error_set(err, ERROR_USAGE, "--%s needs an evaluation text: --eval TEXT",
                         o->chunks ? "chunks" : "exact");
    if (o->n_ctx && !o->eval && !o->corpora.n)
        return error_set(err, ERROR_USAGE, "--ctx needs a text: -f TEXT or --eval TEXT");
    if (o->sparsity_given && o->zeros_given)
        return error_set(err, ERROR_USAGE, "--sparsity-ratio and --zeros-per-group exclude each other");
    return choose_type(o, err);
}

int driver_options_parse(struct driver_options *o, int argc, char **argv, struct error *err)
{
    size_t n_operands = 0;
    *o = (struct driver_options){ .type = TYPE_Q2_0 };
    int code = cli_parse(&spec, argc, argv, o, &o->operands, &n_operands, err);
    return code ? code : check(o, n_operands, err);
}

void driver_options_free(struct driver_options *o)
{
    cli_free(&spec, o);
    mem_free(o->operands);
    o->operands = NULL;
}
