/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of long work on stderr. Terminal: one line that redraws (phase, items done/total, bytes, rate, ETA), at most
 * ten times a second. Not a terminal: a plain line every 10 s. JSON: one object a line, at phase start, every second
 * and at phase end: {"phase":..,"done":..,"total":..,"bytes":..,"total_bytes":..,"seconds":..}. A NULL progress is
 * silent. Functions may be called from any thread.
 */
#ifndef TERNPACK_BASE_UTIL_PROGRESS_H
#define TERNPACK_BASE_UTIL_PROGRESS_H

#include <stdint.h>

#include "base/util/error.h"

struct progress;
enum progress_mode { PROGRESS_AUTO, PROGRESS_NONE, PROGRESS_PLAIN, PROGRESS_JSON };

int progress_open(struct progress **out, enum progress_mode mode, int fd, struct error *err); /* NONE gives NULL, 0 */
void progress_phase(struct progress *p, const char *phase, uint64_t total, uint64_t total_bytes); /* 0: unknown */
void progress_add(struct progress *p, uint64_t items, uint64_t bytes);
void progress_end(struct progress *p); /* finish the phase: final line, or clear the terminal line */
void progress_close(struct progress *p);

#endif
