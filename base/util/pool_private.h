/* SPDX-License-Identifier: Apache-2.0 */
/* What parallel.c offers to pipe.c. */
#ifndef TERNPACK_BASE_UTIL_POOL_PRIVATE_H
#define TERNPACK_BASE_UTIL_POOL_PRIVATE_H

#include "base/util/parallel.h"

/* Every other thread of the pool calls fn(arg, worker) once, worker 1...; the caller goes on at once and must call
 * pool_finish, which returns when all of them have. p == NULL: there are none. */
void pool_start(struct pool *p, void (*fn)(void *arg, unsigned worker), void *arg);
void pool_finish(struct pool *p);

#endif
