/* SPDX-License-Identifier: Apache-2.0 */
/* Where the other programs are. */
#ifndef TERNPACK_DRIVER_PROGRAMS_H
#define TERNPACK_DRIVER_PROGRAMS_H

#include "base/util/error.h"

/* Path of an executable, owned by the caller: in the folder that the environment names with TERNPACK_BINDIR; else
 * beside this program (installed), else in its own folder of the build tree (`folder`, e.g. "convert", beside this
 * program's folder). NULL and ERROR_IO with the places searched when it is nowhere. */
char *programs_find(const char *name, const char *folder, struct error *err);

#endif
