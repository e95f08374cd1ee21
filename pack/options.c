/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/options.h"

#include <inttypes.h>
#include <string.h>

#include "base/util/mem.h"

#define AT(member) offsetof(struct pack_options, member)

static const char *const type_names[] = { "TQ1_0", "TQ2_0", "Q2_0", "PQ2_0", "PTQ1_0" };
static const char *const head_names[] = { "Q8_0", "F16" };
enum { TYPE_Q2_0 = 2 };

static const struct cli_option table[] = {
    { .name = "output",
      .letter = 'o',
      .kind = CLI_STRING,
      .offset = AT(output),
      .arg = "OUT.gguf",
      .help = "file to write, and OUT.gguf.sha256 beside it",
      .group = "Files" },
    { .name = "stats",
      .kind = CLI_STRING,
      .offset = AT(stats),
      .arg = "STATS.gguf",
      .help = "importance statistics of tern-calib or llama-imatrix" },
    { .name = "type",
      .kind = CLI_CHOICE,
      .offset = AT(type_choice),
      .arg = "TYPE",
      .choices = "TQ1_0|TQ2_0|Q2_0|PQ2_0|PTQ1_0",
      .group = "Target",
      .help = "packing of the linear layers (default Q2_0)" },
    { .name = "group-size",
      .kind = CLI_U64,
      .offset = AT(group_size),
      .arg = "N",
      .min = 1,
      .max = 65536,
      .seen_offset = AT(group_size_given),
      .help = "weights per scale; the type fixes it, this only checks it" },
    { .name = "embed-type",
      .kind = CLI_CHOICE,
      .offset = AT(embed_choice),
      .arg = "TYPE",
      .choices = "Q8_0|F16",
      .help = "type of token_embd.weight (default Q8_0)" },
    { .name = "output-type",
      .kind = CLI_CHOICE,
      .offset = AT(output_choice),
      .arg = "TYPE",
      .choices = "Q8_0|F16",
      .help = "type of output.weight (default Q8_0)" },
    { .name = "override",
      .kind = CLI_LIST,
      .offset = AT(overrides),
      .arg = "REGEX=TYPE",
      .help = "type for the matrices whose name matches; repeatable, the first match wins" },
    { .name = "on-ragged",
      .kind = CLI_CHOICE,
      .offset = AT(on_ragged),
      .arg = "WHAT",
      .choices = "error|f16|q8_0",
      .help = "for rows that are no whole number of blocks (default error)" },
    { .name = "method",
      .kind = CLI_CHOICE,
      .offset = AT(method),
      .arg = "NAME",
      .choices = "optimal|weighted",
      .seen_offset = AT(method_given),
      .group = "Values",
      .help = "how values are fitted (default weighted with --stats, else optimal)" },
    { .name = "sparsity-ratio",
      .kind = CLI_F64,
      .offset = AT(sparsity_ratio),
      .arg = "R",
      .min = 0,
      .max = 1,
      .seen_offset = AT(sparsity_given),
      .help = "share of zeros in each group, 0 to below 1 (default: the optimum)" },
    { .name = "zeros-per-group",
      .kind = CLI_U64,
      .offset = AT(zeros_per_group),
      .arg = "N",
      .min = 0,
      .max = 255,
      .seen_offset = AT(zeros_given),
      .help = "number of zeros in each group (default: the optimum)" },
    { .name = "lossless",
      .kind = CLI_CHOICE,
      .offset = AT(lossless),
      .arg = "WHAT",
      .choices = "auto|require",
      .help = "ternary tensors exactly and others fitted, or others refused (default auto)" },
};

static const struct cli_spec spec = {
    .program = "tern-pack",
    .operands = "MODEL.gguf",
    .summary = "Pack the linear layers of a full-precision GGUF model into ternary blocks.",
    .options = table,
    .n_options = sizeof table / sizeof *table,
    .min_operands = 1,
    .max_operands = 1,
};

const char *options_method_name(int method)
{
    return method == PACK_WEIGHTED ? "weighted" : "optimal";
}

static int check(struct pack_options *o, struct error *err)
{
    if (!o->output && !o->common.dry_run)
        return error_set(err, ERROR_USAGE, "no output: give -o OUT.gguf (or --dry-run)");
    if (o->method_given && o->method == PACK_WEIGHTED && !o->stats)
        return error_set(err, ERROR_USAGE, "--method weighted needs --stats");
    if (o->method_given && o->method == PACK_OPTIMAL && o->stats)
        return error_set(err, ERROR_USAGE, "--method optimal does not use --stats; leave one of them out");
    if (!o->method_given)
        o->method = o->stats ? PACK_WEIGHTED : PACK_OPTIMAL;
    if (o->group_size_given && o->group_size != o->type->weights)
        return error_set(err, ERROR_USAGE, "--group-size %" PRIu64 ": %s has %u weights per scale", o->group_size,
                         o->type->name, o->type->weights);
    if (o->sparsity_given && o->zeros_given)
        return error_set(err, ERROR_USAGE, "--sparsity-ratio and --zeros-per-group exclude each other");
    if (o->sparsity_given && o->sparsity_ratio >= 1)
        return error_set(err, ERROR_USAGE, "--sparsity-ratio %g leaves no weight; it must be below 1",
                         o->sparsity_ratio);
    if (o->lossless == LOSSLESS_REQUIRE && (o->sparsity_given || o->zeros_given || o->stats))
        return error_set(err, ERROR_USAGE, "--lossless require fits nothing; it excludes --%s",
                         o->stats            ? "stats"
                         : o->sparsity_given ? "sparsity-ratio"
                                             : "zeros-per-group");
    return 0;
}

int options_parse(struct pack_options *o, int argc, char **argv, struct error *err)
{
    size_t n_operands = 0;
    *o = (struct pack_options){ .type_choice = TYPE_Q2_0 };
    int rc = cli_parse(&spec, argc, argv, o, &o->operands, &n_operands, err);
    if (rc != 0)
        return rc;
    o->model = o->operands[0];
    o->type = block_by_name(type_names[o->type_choice]);
    o->embed_type = block_by_name(head_names[o->embed_choice]);
    o->output_type = block_by_name(head_names[o->output_choice]);
    return check(o, err);
}

void options_free(struct pack_options *o)
{
    cli_free(&spec, o);
    mem_free(o->operands);
    o->operands = NULL;
}
