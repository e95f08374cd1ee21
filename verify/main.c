/* SPDX-License-Identifier: Apache-2.0 */
/* tern-verify: check model files and folders, and measure errors against a reference. */
#include "verify/cmd_check.h"

int main(int argc, char **argv)
{
    struct session s = { 0 };
    struct error err = { 0 };
    int code = options_parse(&s.o, argc, argv, &err), status;

    interrupt_install();
    if (!code)
        code = pool_open(&s.pool, (unsigned)s.o.common.threads, &err);
    if (!code)
        code = progress_open(&s.progress, (enum progress_mode)s.o.common.progress, 2, &err);
    if (!code)
        code = s.o.dump ? cmd_dump(&s, &err) : cmd_check(&s, &err);
    status = s.status;
    progress_close(s.progress);
    pool_close(s.pool);
    buffer_free(&s.out);
    options_free(&s.o);
    code = cli_finish("tern-verify", code, &err);
    return code ? code : status;
}
