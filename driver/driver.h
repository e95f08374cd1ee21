/* SPDX-License-Identifier: Apache-2.0 */
/* One run of ternpack: its options, its inputs, its steps and where their files are. */
#ifndef TERNPACK_DRIVER_DRIVER_H
#define TERNPACK_DRIVER_DRIVER_H

#include "base/util/json.h"
#include "base/util/progress.h"
#include "driver/command.h"
#include "driver/options.h"

enum step_id { STEP_CONVERT, STEP_CALIB, STEP_PACK, STEP_VERIFY, STEP_EVAL, N_STEPS };

struct step {
    const char *name; /* "convert" */
    bool wanted, done, reused;
    struct command command;
    char *output;      /* file it makes, NULL: none */
    uint64_t bytes;    /* of the output */
    char sha256[65];   /* of the output, "" for none */
    char key[65];      /* digest of everything that decides the result */
    double seconds;    /* what it took when it ran */
    char *result_text; /* the JSON it printed */
    struct json_doc *result;
};

enum input_kind { INPUT_MODEL, INPUT_CORPUS, INPUT_EVAL };
struct input {
    enum input_kind kind;
    char *path;
    uint64_t bytes;
    char sha256[65];
};

struct driver {
    const struct driver_options *o;
    struct progress *progress;
    struct step steps[N_STEPS];
    struct input *inputs; /* sorted within a kind */
    size_t n_inputs, cap_inputs;
    char *out, *sums;     /* OUT.gguf with links resolved, OUT.gguf.sha256 */
    char *work, *packed;  /* OUT.gguf.work, and its folder for the finished file */
    char *state;          /* OUT.gguf.work/state.json */
    int lock;             /* descriptor of the locked work folder, -1: not open */
    struct json_doc *old; /* state of an earlier run, NULL: none */
    /* what tern-convert's plan says */
    uint64_t parameters, source_bytes, packed_bytes;
    char architecture[64];
};

/* plan.c: steps and paths from the options; driver_free afterwards in every case. Then the commands, for which all
 * programs must exist. */
int driver_plan(struct driver *d, const struct driver_options *o, struct error *err);
int driver_commands(struct driver *d, struct error *err);
void driver_free(struct driver *d);

/* inputs.c: list the files that are read, refuse an output that is one of them, and later take their digests. */
int inputs_list(struct driver *d, struct error *err);
int inputs_digest(struct driver *d, struct error *err);

/* preflight.c: what can be known before the first long step: the checkpoint converts, rows fit the blocks, there is
 * room. */
int preflight(struct driver *d, struct error *err);

/* workdir.c: make or enter OUT.work and lock it; give the finished file its name; remove what is ours. */
int workdir_open(struct driver *d, struct error *err);
int workdir_deliver(struct driver *d, struct error *err);
void workdir_close(struct driver *d, bool remove);

/* state.c: reuse what an earlier run finished; note what this one has. */
int state_load(struct driver *d, struct error *err);
int state_save(const struct driver *d, struct error *err);
/* Key of a step, from its recipe and the digests of what it reads. Steps before it must be done. */
int state_key(struct driver *d, enum step_id id, struct error *err);
/* true when the earlier run's result of this step still stands; it is then loaded. */
bool state_reuse(struct driver *d, enum step_id id);

/* steps.c: run what is wanted and not reused. */
int steps_run(struct driver *d, struct error *err);

/* report.c: the plan of --dry-run, and the summary; as text, or with --json as one object. Printed on standard output.
 */
int report_plan(const struct driver *d, struct error *err);
int report_summary(const struct driver *d, struct error *err);
/* On standard error: a remark of ours on a step, and what a step said to people: warnings always, the rest with -v or
 * when it failed; nothing with -q unless it failed. */
void report_note(const struct driver *d, const char *step, const char *text);
void report_talk(const struct driver *d, const char *step, const struct buffer *talk, bool failed);

#endif
