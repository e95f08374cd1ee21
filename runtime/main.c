/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/blas.h"
#include "runtime/commands.h"

int main(int argc, char **argv)
{
    struct error err = { 0 };
    struct run_options options;
    const struct run_command *command = NULL;

    blas_choose(argv);
    int rc = run_parse(argc, argv, &options, &command, &err);
    if (!rc)
        rc = command->run(&options, &err);
    run_free(&options);
    return cli_finish("tern-run", rc, &err);
}
