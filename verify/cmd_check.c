/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/cmd_check.h"

#include <stdio.h>

#include "verify/compare.h"
#include "verify/dump.h"
#include "verify/listing.h"
#include "verify/table.h"
#include "verify/verify.h"

static void worsen(struct session *s, int status)
{
    if (status && s->status != 1)
        s->status = status;
}

/* Print and forget what is in the buffer. */
static void say(struct session *s, FILE *to, struct buffer *b)
{
    if (b->len && !(s->o.status && to == stdout))
        fwrite(b->data, 1, b->len, to);
    b->len = 0;
}

static int compare_one(struct session *s, const char *path, struct report *r, struct compare *c, struct error *err)
{
    const struct options *o = &s->o;
    struct compare_options co = { path,    o->against, o->stats, o->tensor, o->fail_above_given ? o->fail_above : -1,
                                  s->pool, s->progress };
    struct error bad = { 0 };
    int code = report_settle(r, compare_run(c, &co, r, &bad), &bad, err);

    if (!code && o->common.json && c->n)
        code = table_json(c, (enum options_sort)o->sort, o->against, &r->facts, err);
    return code;
}

static int check_one(struct session *s, const char *path, bool first, struct error *err)
{
    const struct options *o = &s->o;
    struct verify v = { o->tensor, o->strict, o->common.dry_run, o->common.json, s->pool, s->progress };
    struct report r;
    struct compare c = { 0 };
    int code;

    report_init(&r, path);
    code = verify_path(path, &v, &r, err);
    if (!code && o->against && !o->common.dry_run && !r.n_errors)
        code = compare_one(s, path, &r, &c, err);
    if (!code && o->common.json && !first)
        code = buffer_append(&s->out, ",", 1, err);
    if (!code)
        code = o->common.json ? report_json(&r, &s->out, err)
                              : report_text(&r, o->common.quiet, o->common.verbose > 0, &s->out, err);
    if (!code && !o->common.json && c.n)
        code = table_text(&c, (enum options_sort)o->sort, &s->out, err);
    worsen(s, error_exit_status(r.code));
    say(s, stdout, &s->out);
    compare_free(&c);
    report_free(&r);
    return code;
}

static int check_list(struct session *s, struct error *err)
{
    const struct options *o = &s->o;
    struct listing_options lo = { o->ignore_missing, o->strict, o->common.quiet, o->common.json, o->status };
    struct listing_result res = { 0 };
    int code = listing_check(o->check, &lo, s->pool, s->progress, &res, err);

    if (!code) {
        say(s, stderr, &res.talk);
        say(s, stdout, &res.out);
        worsen(s, res.failed);
    }
    listing_free(&res);
    return code;
}

int cmd_dump(struct session *s, struct error *err)
{
    int code = 0;
    for (size_t i = 0; i < s->o.n_paths && !code; i++) {
        code = dump_path(s->o.paths[i], s->o.tensor, &s->out, err);
        say(s, stdout, &s->out);
    }
    return code;
}

int cmd_check(struct session *s, struct error *err)
{
    bool json = s->o.common.json;
    int code = json ? buffer_printf(&s->out, err, "{\"files\":[") : 0;

    for (size_t i = 0; i < s->o.n_paths && !code; i++)
        code = check_one(s, s->o.paths[i], i == 0, err);
    if (!code && json)
        code = buffer_printf(&s->out, err, "]%s", s->o.check ? ",\"list\":" : "");
    say(s, stdout, &s->out);
    if (!code && s->o.check)
        code = check_list(s, err);
    if (!code && json)
        code = buffer_printf(&s->out, err, "}\n");
    say(s, stdout, &s->out);
    return code;
}
