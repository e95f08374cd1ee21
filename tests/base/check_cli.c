/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util/cli.h"
#include "base/util/file.h"
#include "base/util/mem.h"
#include "base/util/progress.h"
#include "tests/support/support.h"

struct options {
    struct cli_common common;
    const char *out;
    int type;
    bool type_given, flag;
    uint64_t n, mem;
    double ratio;
    struct cli_list corpus;
};
#define AT(member) offsetof(struct options, member)

static const struct cli_option table[] = {
    { .name = "output", .letter = 'o', .kind = CLI_STRING, .offset = AT(out), .arg = "FILE", .help = "where to" },
    { .name = "type",
      .kind = CLI_CHOICE,
      .offset = AT(type),
      .seen_offset = AT(type_given),
      .group = "Target",
      .choices = "TQ1_0|Q2_0|PQ2_0",
      .help = "packing" },
    { .name = "chunks",
      .letter = 'n',
      .kind = CLI_U64,
      .offset = AT(n),
      .arg = "N",
      .min = 1,
      .max = 9,
      .help = "chunks" },
    { .name = "samples",
      .kind = CLI_U64,
      .offset = AT(n),
      .arg = "N",
      .min = 1,
      .max = 9,
      .help = "alias",
      .hidden = true },
    { .name = "mem", .kind = CLI_SIZE, .offset = AT(mem), .arg = "SIZE", .help = "memory" },
    { .name = "ratio", .kind = CLI_F64, .offset = AT(ratio), .arg = "R", .max = 1, .help = "share" },
    { .name = "file", .letter = 'f', .kind = CLI_LIST, .offset = AT(corpus), .arg = "FILE", .help = "text" },
    { .name = "flag", .letter = 'x', .kind = CLI_FLAG, .offset = AT(flag), .help = "a flag" },
};
static const struct cli_spec spec = {
    "tern-test", "MODEL [MORE]", "Tests.", table, sizeof table / sizeof *table, 1, 2
};

static struct options o;
static struct error e;
static const char **operands;
static size_t n_operands;

/* Parse a command line given as words; returns the code. Frees what the call before left. */
#define PARSE(...) parse((char *[]){ "tern-test", __VA_ARGS__, NULL })
static int parse(char **argv)
{
    int argc = 0;
    while (argv[argc])
        argc++;
    cli_free(&spec, &o);
    mem_free(operands);
    memset(&o, 0, sizeof o);
    memset(&e, 0, sizeof e);
    int code = cli_parse(&spec, argc, argv, &o, &operands, &n_operands, &e);
    return code;
}

static void done(void)
{
    cli_free(&spec, &o);
    mem_free(operands);
    operands = NULL;
}

START_TEST(every_spelling)
{
    ck_ok(PARSE("-vvq", "m.gguf", "-oX", "--type", "q2_0", "--mem=2K", "--ratio", "0.25", "-f", "a", "--file=b", "-fc",
                "-n3", "-x", "-", "--progress=json"),
          e);
    ck_assert_uint_eq(o.common.verbose, 2);
    ck_assert(o.common.quiet && o.flag && o.type_given);
    ck_assert_str_eq(o.out, "X");
    ck_assert_int_eq(o.type, 1);
    ck_assert_uint_eq(o.mem, 2048);
    ck_assert(o.ratio == 0.25);
    ck_assert_uint_eq(o.corpus.n, 3);
    ck_assert_str_eq(o.corpus.items[0], "a");
    ck_assert_str_eq(o.corpus.items[2], "c");
    ck_assert_uint_eq(o.n, 3);
    ck_assert_uint_eq(n_operands, 2);
    ck_assert_str_eq(operands[1], "-");
    ck_assert_int_eq(o.common.progress, PROGRESS_NONE); /* quiet wins */
    ck_ok(PARSE("m", "--progress=json", "-j", "4", "--json", "--force", "--dry-run"), e);
    ck_assert_int_eq(o.common.progress, PROGRESS_JSON);
    ck_assert(o.common.threads == 4 && o.common.json && o.common.force && o.common.dry_run && !o.type_given);
    ck_ok(PARSE("--", "-m", "--type"), e);
    ck_assert_str_eq(operands[0], "-m");
    ck_assert_str_eq(operands[1], "--type");
    done();
}
END_TEST

START_TEST(value_may_look_like_an_option)
{
    ck_ok(PARSE("m", "--output", "-x"), e);
    ck_assert_str_eq(o.out, "-x");
    ck_assert(!o.flag);
    ck_ok(PARSE("m", "--output="), e);
    ck_assert_str_eq(o.out, "");
    ck_ok(PARSE("m", "-xo", "--"), e);
    ck_assert_str_eq(o.out, "--");
    ck_assert(o.flag);
    done();
}
END_TEST

START_TEST(misuse)
{
    static struct {
        char *words[4];
        const char *says;
    } rows[] = {
        { { "m", "--nope" }, "unknown option '--nope'" },
        { { "m", "--nope=a\nb" }, "unknown option '--nope=a\\x0ab'" },
        { { "m", "-z" }, "unknown option '-z'" },
        { { "m", "--typ", "Q2_0" }, "unknown option '--typ'" },
        { { "m", "--output" }, "--output: needs a value" },
        { { "m", "-o" }, "--output: needs a value" },
        { { "m", "--flag=1" }, "--flag: takes no value" },
        { { "m", "-x", "-x" }, "--flag: given twice" },
        { { "m", "-oa", "-ob" }, "--output: given twice" },
        { { "m", "--json", "--json" }, "--json: given twice" },
        { { "m", "-n1", "--samples=2" }, "--samples: given twice" },
        { { "m", "--type=Q3" }, "'Q3' is not one of TQ1_0|Q2_0|PQ2_0" },
        { { "m", "--type=Q2_" }, "is not one of" },
        { { "m", "--type=" }, "is not one of" },
        { { "m", "-n", "0" }, "'0' is not a whole number from 1 to 9" },
        { { "m", "-n", "10" }, "from 1 to 9" },
        { { "m", "-n", "2x" }, "'2x' is not a whole number" },
        { { "m", "-n", "-1" }, "'-1' is not a whole number" },
        { { "m", "--ratio=1.5" }, "'1.5' is not a number from 0 to 1" },
        { { "m", "--ratio=nan" }, "'nan' is not a number" },
        { { "m", "--mem=2Q" }, "is not a size" },
        { { "m", "-j99999" }, "is not a whole number from 0 to 1024" },
        { { "a", "b", "c" }, "extra operand 'c'" },
        { { "-x" }, "missing operand: tern-test MODEL [MORE]" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int code = PARSE(rows[i].words[0], rows[i].words[1], rows[i].words[2], rows[i].words[3]);
        ck_assert_msg(code == ERROR_USAGE, "row %zu: %d", i, code);
        ck_assert_msg(strstr(e.text, rows[i].says) != NULL, "row %zu: %s", i, e.text);
    }
    done();
}
END_TEST

/* What cli_parse prints on stdout for one option. */
static char *printed(char *option)
{
    struct error err = { 0 };
    char *text;
    size_t n;
    fflush(stdout);
    int saved = dup(1), fd = open(support_tmp("out"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(fd, 1);
    int code = PARSE(option);
    fflush(stdout);
    dup2(saved, 1);
    close(fd);
    close(saved);
    ck_assert_int_eq(code, CLI_DONE);
    ck_ok(file_read_all(support_tmp("out"), 1 << 20, &text, &n, &err), err);
    done();
    return text;
}

START_TEST(help)
{
    char *brief = printed("-h"), *full = printed("--help"), *names = printed("--list-options"),
         *version = printed("--version");
    ck_assert_ptr_nonnull(strstr(brief, "Usage: tern-test [OPTION]... MODEL [MORE]\n"));
    ck_assert_ptr_nonnull(strstr(brief, "--type TQ1_0|Q2_0|PQ2_0"));
    ck_assert_ptr_null(strstr(brief, "--samples"));
    ck_assert_ptr_nonnull(strstr(full, "\nTarget:\n"));
    ck_assert_ptr_nonnull(strstr(full, "--samples N"));
    ck_assert_ptr_nonnull(strstr(full, "-j, --threads N"));
    ck_assert_ptr_nonnull(strstr(full, "auto|none|plain|json"));
    ck_assert_ptr_eq(strstr(names, "output\ntype\nchunks\nsamples\nmem\nratio\nfile\nflag\nverbose\nquiet\nthreads\n"),
                     names);
    ck_assert_ptr_eq(strstr(version, "tern-test (ternpack) "), version);
    for (const char *line = full; *line; line += strcspn(line, "\n") + 1)
        ck_assert_uint_le(strcspn(line, "\n"), 100);
    mem_free(brief);
    mem_free(full);
    mem_free(names);
    mem_free(version);
}
END_TEST

START_TEST(finish_maps_codes)
{
    struct error err = { 0 };
    ck_assert_int_eq(cli_finish("t", 0, &err), 0);
    ck_assert_int_eq(cli_finish("t", CLI_DONE, &err), 0);
    ck_assert_int_eq(cli_finish("t", 2, &err), 2);
    ck_assert_int_eq(cli_finish("t", ERROR_FORMAT, &err), 1);
    ck_assert_int_eq(cli_finish("t", ERROR_USAGE, NULL), 2);
    ck_assert_int_eq(cli_finish("t", ERROR_INTERRUPTED, &err), 130);
    int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
        fflush(stdout);
        dup2(full, 1);
        printf("x");
        ck_assert_int_eq(cli_finish("t", 0, &err), 2);
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli");
    TCase *c = tcase_create("cli");
    tcase_add_test(c, every_spelling);
    tcase_add_test(c, value_may_look_like_an_option);
    tcase_add_test(c, misuse);
    tcase_add_test(c, help);
    tcase_add_test(c, finish_maps_codes);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
