/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenBLAS chooses its kernels by the CPU's model number when it is loaded, and takes SSE3 ones for a model newer than
 * itself (version 0.3.21 on a 2023 server: 30 instead of 140 GFLOPS). The choice can only be changed by
 * OPENBLAS_CORETYPE in the environment at that moment.
 */
#ifndef TERNPACK_RUNTIME_BLAS_H
#define TERNPACK_RUNTIME_BLAS_H

/* For a main(), before anything else: when the choice is too old for this CPU, set the variable and start the program
 * again (same process id). Returns when nothing is to be done or the restart failed. A variable set by the user is left
 * alone. */
void blas_choose(char **argv);

#endif
