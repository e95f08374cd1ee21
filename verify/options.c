/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/options.h"

#include <string.h>

#include "base/util/mem.h"

#define AT(member) offsetof(struct options, member)

static const struct cli_option table[] = {
    { .name = "check",
      .letter = 'c',
      .kind = CLI_STRING,
      .offset = AT(check),
      .arg = "MANIFEST",
      .group = "Checksum list",
      .help = "check the files named in a list of sha256sum's format" },
    { .name = "ignore-missing",
      .kind = CLI_FLAG,
      .offset = AT(ignore_missing),
      .help = "with -c: do not fail for files that are absent" },
    { .name = "strict",
      .kind = CLI_FLAG,
      .offset = AT(strict),
      .help = "fail for malformed lines of a list, and for files of a folder that its SHA256SUMS does not name" },
    { .name = "status", .kind = CLI_FLAG, .offset = AT(status), .help = "print nothing, the exit status tells" },
    { .name = "against",
      .kind = CLI_STRING,
      .offset = AT(against),
      .arg = "REF",
      .group = "Comparison",
      .help = "error of each tensor against a reference: a GGUF file or a Hugging Face folder" },
    { .name = "stats",
      .kind = CLI_STRING,
      .offset = AT(stats),
      .arg = "STATS.gguf",
      .help = "importance statistics for the weighted error" },
    { .name = "sort",
      .kind = CLI_CHOICE,
      .offset = AT(sort),
      .arg = "ORDER",
      .choices = "file|name|error|size",
      .seen_offset = AT(sort_given),
      .help = "order of the table: file (default), name, error or size (largest first)" },
    { .name = "fail-above",
      .kind = CLI_F64,
      .offset = AT(fail_above),
      .arg = "X",
      .min = 0,
      .max = 1e30,
      .seen_offset = AT(fail_above_given),
      .help = "fail when the relative error of any tensor is above X" },
    { .name = "dump",
      .kind = CLI_FLAG,
      .offset = AT(dump),
      .group = "Looking",
      .help = "print keys and tensors instead of checking" },
    { .name = "tensor", .kind = CLI_STRING, .offset = AT(tensor), .arg = "NAME", .help = "look at this tensor only" },
};

static const struct cli_spec spec = {
    .program = "tern-verify",
    .operands = "FILE|FOLDER...",
    .summary = "Check GGUF and safetensors files and Hugging Face folders, and measure errors against a reference.",
    .options = table,
    .n_options = sizeof table / sizeof *table,
    .min_operands = 0,
    .max_operands = SIZE_MAX,
};

static int check_combination(const struct options *o, struct error *err)
{
    if (!o->n_paths && !o->check)
        return error_set(err, ERROR_USAGE, "missing operand: name a file or folder, or give -c MANIFEST");
    if (o->common.force)
        return error_set(err, ERROR_USAGE, "--force: tern-verify writes no file");
    if (o->ignore_missing && !o->check)
        return error_set(err, ERROR_USAGE, "--ignore-missing needs -c MANIFEST");
    if (o->against && o->n_paths != 1)
        return error_set(err, ERROR_USAGE, "--against needs exactly one FILE, found %zu", o->n_paths);
    if (o->against && (o->dump || o->check))
        return error_set(err, ERROR_USAGE, "--against and %s cannot be combined", o->dump ? "--dump" : "--check");
    if (o->dump && (o->check || o->common.json || o->status || o->common.dry_run))
        return error_set(err, ERROR_USAGE, "--dump and %s cannot be combined",
                         o->check         ? "--check"
                         : o->common.json ? "--json"
                         : o->status      ? "--status"
                                          : "--dry-run");
    if (!o->against && (o->stats || o->sort_given || o->fail_above_given))
        return error_set(err, ERROR_USAGE, "%s needs --against REF",
                         o->stats        ? "--stats"
                         : o->sort_given ? "--sort"
                                         : "--fail-above");
    if (o->tensor && !o->n_paths)
        return error_set(err, ERROR_USAGE, "--tensor needs a FILE");
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct error *err)
{
    memset(o, 0, sizeof *o);
    int code = cli_parse(&spec, argc, argv, o, &o->paths, &o->n_paths, err);
    return code ? code : check_combination(o, err);
}

void options_free(struct options *o)
{
    cli_free(&spec, o);
    mem_free(o->paths);
    memset(o, 0, sizeof *o);
}
