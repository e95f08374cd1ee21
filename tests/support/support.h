/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for unit tests: paths of data, temporary folders, guard pages, the main of a Check program. */
#ifndef TERNPACK_TESTS_SUPPORT_H
#define TERNPACK_TESTS_SUPPORT_H

#include <check.h>
#include <stddef.h>

/* Run the suite made by `suite`; returns the exit status (0 all passed, 1 not). TERNPACK_SEED is printed if set. */
int support_main(Suite *(*suite)(void));

/* Path below the source tree ("data/garden-3m/config.json"), in a static ring of 8 buffers. */
const char *support_path(const char *rel);
/* Path below ../shared, or NULL when there is none. */
const char *support_shared(const char *rel);

/* Fresh temporary folder (removed at exit of the process that made it) and a file path in it (ring of 8 buffers). */
const char *support_tmpdir(void);
const char *support_tmp(const char *name);

/* n bytes that end right before an inaccessible page (after: true) or start right after one. Freed with
 * support_guard_free. */
void *support_guard(size_t n, int after);
void support_guard_free(void *p, size_t n, int after);

/* Fails the test with err's text when code is not 0. `e` is a struct error. */
#define ck_ok(call, e) ck_assert_msg((call) == 0, "%s", (e).text)

#endif
