/* SPDX-License-Identifier: Apache-2.0 */
/* What a program says on standard error: lines of progress, and lines for people. */
#ifndef TERNPACK_DRIVER_TALK_H
#define TERNPACK_DRIVER_TALK_H

#include "driver/child.h"

int talk_take(struct child *c, const char *bytes, size_t n, struct error *err);
int talk_end(struct child *c, struct error *err); /* a last line without its newline */
/* Move the last line for people into err->text, without the program's name and the hint to --help. */
void talk_last(struct child *c, struct error *err);

#endif
