/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/options.h"

#include "base/util/mem.h"

#define AT(member) offsetof(struct calib_options, member)

enum { MAX_CTX = 1 << 20, MAX_SAMPLES = 1 << 30, DEFAULT_CTX = 512 };

static const struct cli_option table[] = {
    { .name = "file",
      .letter = 'f',
      .kind = CLI_LIST,
      .offset = AT(files),
      .arg = "CORPUS",
      .help = "text to run the model over, plain or gzip; may be repeated",
      .group = "Files" },
    { .name = "output",
      .letter = 'o',
      .kind = CLI_STRING,
      .offset = AT(output),
      .arg = "STATS.gguf",
      .help = "file to write" },
    { .name = "jsonl-field",
      .kind = CLI_STRING,
      .offset = AT(jsonl_field),
      .arg = "NAME",
      .help = "each line of CORPUS is a JSON object; its member NAME is the text" },
    { .name = "samples",
      .kind = CLI_U64,
      .offset = AT(samples),
      .arg = "N",
      .min = 1,
      .max = MAX_SAMPLES,
      .seen_offset = AT(samples_given),
      .help = "evaluate the first N chunks (default all)",
      .group = "Calibration" },
    { .name = "calibration-samples",
      .kind = CLI_U64,
      .offset = AT(alias_samples),
      .arg = "N",
      .min = 1,
      .max = MAX_SAMPLES,
      .seen_offset = AT(alias_given),
      .help = "the same as --samples",
      .hidden = true },
    { .name = "ctx",
      .letter = 'c',
      .kind = CLI_U64,
      .offset = AT(n_ctx),
      .arg = "N",
      .min = 2,
      .max = MAX_CTX,
      .help = "tokens of a chunk (default 512)" },
    { .name = "parse-special",
      .kind = CLI_FLAG,
      .offset = AT(parse_special),
      .help = "control tokens such as <|im_start|> in the text are tokens (default: plain characters)" },
};

static const struct cli_spec spec = {
    .program = "tern-calib",
    .operands = "MODEL.gguf",
    .summary = "Run a model over text and write how much each input channel of its linear layers matters.",
    .options = table,
    .n_options = sizeof table / sizeof *table,
    .min_operands = 1,
    .max_operands = 1,
};

int options_parse(struct calib_options *o, int argc, char **argv, struct error *err)
{
    size_t n_operands = 0;
    *o = (struct calib_options){ .n_ctx = DEFAULT_CTX };
    int rc = cli_parse(&spec, argc, argv, o, &o->operands, &n_operands, err);
    if (rc)
        return rc;
    o->model = o->operands[0];
    if (!o->files.n)
        return error_set(err, ERROR_USAGE, "no text: -f CORPUS is needed");
    if (!o->output && !o->common.dry_run)
        return error_set(err, ERROR_USAGE, "no output: give -o STATS.gguf (or --dry-run)");
    if (o->samples_given && o->alias_given)
        return error_set(err, ERROR_USAGE, "--samples and --calibration-samples are the same option");
    if (o->alias_given)
        o->samples = o->alias_samples;
    if (o->jsonl_field && !*o->jsonl_field)
        return error_set(err, ERROR_USAGE, "--jsonl-field needs a name");
    return 0;
}

void options_free(struct calib_options *o)
{
    cli_free(&spec, o);
    mem_free(o->operands);
    o->operands = NULL;
}
