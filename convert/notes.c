/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/util/mem.h"

int notes_add(struct notes *n, bool warning, struct error *err, const char *fmt, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);

    int rc = mem_reserve((void **)&n->items, &n->cap, n->n + 1, sizeof *n->items, "notes", err);
    if (rc)
        return rc;
    char *copy = mem_strdup(text, err);
    if (!copy)
        return ERROR_NOMEM;
    n->items[n->n++] = (struct note){ warning, copy };
    return 0;
}

void notes_free(struct notes *n)
{
    for (size_t i = 0; i < n->n; i++)
        mem_free(n->items[i].text);
    mem_free(n->items);
    *n = (struct notes){ 0 };
}
