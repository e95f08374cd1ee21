/* SPDX-License-Identifier: Apache-2.0 */
/* tern-pack: from a full-precision GGUF model to a ternary one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pack/emit.h"
#include "pack/report.h"

static const char program[] = "tern-pack";

/* Each line with the program's name before it. */
static void say_lines(const struct buffer *b, const char *kind)
{
    for (size_t i = 0, n; i < b->len; i += n + 1) {
        n = strcspn(b->data + i, "\n");
        fprintf(stderr, "%s: %s%.*s\n", program, kind, (int)n, b->data + i);
    }
}

static int file_sha256(const char *path, char hex[65], struct error *err)
{
    struct digest_result d;
    int rc = digest_file(DIGEST_SHA256, path, &d, err);
    if (rc == 0)
        digest_hex(d.sha256, 32, hex);
    return rc;
}

static int make_plan(struct plan *p, const struct gguf *g, const struct pack_options *o, struct progress *progress,
                     struct error *err)
{
    int rc = plan_open(p, g, o, err);
    say_lines(&p->offenders, "");
    if (rc == 0)
        rc = emit_check_output(o, p->data_bytes, err);
    if (rc == 0 && (!o->common.dry_run || o->stats))
        rc = file_sha256(o->model, p->source_sha256, err);
    if (rc == 0)
        rc = plan_scan(p, progress, err);
    if (rc == 0 && o->stats)
        rc = plan_load_stats(p, err);
    if (!o->common.quiet)
        say_lines(&p->warnings, "warning: ");
    return rc;
}

static int tell(const struct emit *e, struct error *err)
{
    const struct cli_common *c = &e->plan->options->common;
    struct buffer table = { 0 }, remarks = { 0 }, json = { 0 };
    int rc = report_table(e, &table, err);
    if (rc == 0 && e->done)
        rc = report_remarks(e, &remarks, err);
    if (rc == 0 && c->json)
        rc = report_json(e, &json, err);
    if (rc == 0 && !c->quiet) {
        fwrite(table.data, 1, table.len, stderr);
        say_lines(&remarks, "");
    }
    if (rc == 0 && json.len)
        fwrite(json.data, 1, json.len, stdout);
    buffer_free(&table);
    buffer_free(&remarks);
    buffer_free(&json);
    return rc;
}

static int pack(const struct pack_options *o, struct error *err)
{
    struct gguf g = { .file = FILE_INIT };
    struct plan plan = { 0 };
    struct emit emit = { 0 };
    struct pool *pool = NULL;
    struct progress *progress = NULL;
    const struct kernels *k;
    int rc = kernels_select(&k, getenv("TERNPACK_KERNELS"), err);
    if (rc == 0)
        rc = progress_open(&progress, (enum progress_mode)o->common.progress, 2, err);
    if (rc == 0)
        rc = gguf_open(&g, o->model, FILE_SEQUENTIAL, err);
    if (rc == 0)
        rc = make_plan(&plan, &g, o, progress, err);
    if (rc == 0)
        rc = emit_open(&emit, &plan, err);
    if (rc == 0 && !o->common.dry_run && (rc = pool_open(&pool, (unsigned)o->common.threads, err)) == 0) {
        if (o->common.verbose)
            fprintf(stderr, "%s: kernels %s, %u threads\n", program, k->name, pool_threads(pool));
        rc = emit_run(&emit, k, pool, progress, err);
    }
    if (rc == 0)
        rc = tell(&emit, err);
    pool_close(pool);
    emit_close(&emit);
    plan_free(&plan);
    progress_close(progress);
    gguf_close(&g);
    return rc;
}

int main(int argc, char **argv)
{
    struct pack_options o;
    struct error err = { 0 };
    interrupt_install();
    int rc = options_parse(&o, argc, argv, &err);
    if (rc == 0)
        rc = pack(&o, &err);
    options_free(&o);
    return cli_finish(program, rc, &err);
}
