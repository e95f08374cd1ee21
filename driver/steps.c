/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/util/digest.h"
#include "base/util/file.h"
#include "base/util/parallel.h"
#include "driver/child.h"
#include "driver/driver.h"

enum { RESULT_DEPTH = 16 };

/* tern-verify tells what is wrong in its result, not on standard error. */
static void explain(const struct child *c, struct error *err)
{
    struct json_doc *doc = NULL;
    const char *text = NULL, *where = NULL;
    if (!c->out.len || json_parse(&doc, c->out.data, c->out.len, "result", RESULT_DEPTH, 0, NULL))
        return;
    const struct json *problem = json_first(json_get(json_first(json_get(json_root(doc), "files")), "problems"));
    if (!json_need_str(doc, problem, "text", &text, NULL)) {
        json_opt_str(doc, problem, "where", &where, NULL);
        error_set(err, err->code, "%s%s%s", where ? where : "", where ? ": " : "", text);
    }
    json_free(doc);
}

static int digest_output(struct step *s, struct error *err)
{
    struct file f = FILE_INIT;
    struct digest_result r;
    if (!s->output)
        return 0;
    int code = file_open(&f, s->output, 0, err);
    if (!code) {
        s->bytes = f.size;
        file_close(&f);
        code = digest_file(DIGEST_SHA256, s->output, &r, err);
    }
    if (!code)
        digest_hex(r.sha256, 32, s->sha256);
    return code;
}

static int run_one(struct driver *d, struct step *s, const char *label, struct error *err)
{
    struct error local = { 0 };
    struct child c = { .label = label, .progress = d->progress };
    int code = child_run(&c, &s->command, &local);

    s->seconds = c.seconds;
    report_talk(d, s->name, &c.talk, code && code != ERROR_INTERRUPTED);
    if (code && code != ERROR_INTERRUPTED)
        explain(&c, &local);
    if (!code)
        code = json_parse(&s->result, c.out.data ? c.out.data : "", c.out.len, "its result", RESULT_DEPTH, 0, &local);
    if (!code && !(s->result_text = mem_strndup(c.out.data, c.out.len, &local)))
        code = ERROR_NOMEM;
    if (!code)
        code = digest_output(s, &local);
    s->done = !code;
    if (code) {
        local.code = code;
        if (code != ERROR_INTERRUPTED)
            error_prefix(&local, "%s", s->name);
        if (err)
            *err = local;
    }
    child_free(&c);
    return code;
}

int steps_run(struct driver *d, struct error *err)
{
    int n = 0, place = 0, code = 0;
    for (int i = 0; i < N_STEPS; i++)
        n += d->steps[i].wanted;
    for (int i = 0; !code && i < N_STEPS; i++) {
        struct step *s = &d->steps[i];
        char label[32];
        if (!s->wanted)
            continue;
        snprintf(label, sizeof label, "%s (%d/%d)", s->name, ++place, n);
        code = interrupt_check(err);
        if (!code)
            code = state_key(d, (enum step_id)i, err);
        if (code || state_reuse(d, (enum step_id)i))
            continue;
        if (d->old)
            report_note(d, s->name, "nothing to use again, it is done now");
        code = run_one(d, s, label, err);
        if (!code)
            code = state_save(d, err);
    }
    return code;
}
