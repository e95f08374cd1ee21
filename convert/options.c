/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/options.h"

#include "base/util/mem.h"

#define AT(member) offsetof(struct convert_options, member)

static const struct cli_option options[] = {
    { .name = "output",
      .letter = 'o',
      .kind = CLI_STRING,
      .offset = AT(out),
      .arg = "MODEL.gguf",
      .group = "Output",
      .help = "file to write (needed unless --dry-run)" },
    { .name = "dtype",
      .kind = CLI_CHOICE,
      .offset = AT(dtype),
      .arg = "TYPE",
      .choices = "auto|f16|bf16|f32",
      .help = "type of matrices; norms are always F32 (default: auto, as stored)" },
    { .name = "clamp",
      .kind = CLI_FLAG,
      .offset = AT(clamp),
      .help = "write the largest finite value where one overflows the type (default: refuse)" },
    { .name = "vocab-only",
      .kind = CLI_FLAG,
      .offset = AT(vocab_only),
      .help = "write keys and tokenizer, no tensors" },
    { .name = "metadata",
      .kind = CLI_LIST,
      .offset = AT(metadata),
      .arg = "KEY=VALUE",
      .help = "set a text key, such as general.author (repeatable)" },
    { .name = "pre",
      .kind = CLI_STRING,
      .offset = AT(pre),
      .arg = "NAME",
      .group = "Input",
      .help = "pre-tokenizer (default: recognised from tokenizer.json)" },
    { .name = "allow-extra",
      .kind = CLI_LIST,
      .offset = AT(allow_extra),
      .arg = "REGEX",
      .help = "leave out tensors of no known use whose name matches (repeatable)" },
};

static const struct cli_spec spec = {
    .program = "tern-convert",
    .operands = "MODEL_DIR",
    .summary = "Convert a Hugging Face checkpoint folder to a full-precision GGUF file.",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .min_operands = 1,
    .max_operands = 1,
};

int convert_options_parse(struct convert_options *o, int argc, char **argv, struct error *err)
{
    const char **operands = NULL;
    size_t n = 0;
    *o = (struct convert_options){ .dtype = DTYPE_AUTO };
    int rc = cli_parse(&spec, argc, argv, o, &operands, &n, err);
    if (!rc && !o->out && !o->common.dry_run)
        rc = error_set(err, ERROR_USAGE, "no output: give -o MODEL.gguf (or --dry-run)");
    if (!rc)
        o->dir = operands[0];
    mem_free(operands);
    return rc;
}

void convert_options_free(struct convert_options *o)
{
    cli_free(&spec, o);
}
