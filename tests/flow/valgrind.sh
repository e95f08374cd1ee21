#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One small end-to-end run under valgrind: no invalid access, no leak. AVX2 kernels are left to the sanitizer build (valgrind
# emulates slowly and differs in OpenBLAS's own kernels).
. "$(dirname "$0")/../support/env.sh"
command -v valgrind >/dev/null || skip "valgrind is not installed"
! sanitized || skip "a sanitizer build does not run under valgrind"
cd "$tmp" || exit 1
export TERNPACK_KERNELS=scalar OPENBLAS_CORETYPE=${OPENBLAS_CORETYPE:-Haswell}
vg() {
    valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect "$@" >out.txt 2>&1
    local status=$?
    [ $status = 0 ] || { fail "valgrind $1: exit $status"; tail -n 20 out.txt; }
}
fixture=$src/tests/data/arch/qwen3
head -c 3000 "$src/data/garden-corpus/test.txt" >text.txt
vg "$convert" "$fixture" -o m.gguf -q
vg "$verify" m.gguf -q
vg "$calib" m.gguf -f text.txt --ctx 64 --samples 2 -o s.gguf -q
vg "$pack" m.gguf -o p.gguf --type Q2_0 --method weighted --stats s.gguf --on-ragged f16 -q
vg "$verify" p.gguf --against m.gguf -q
vg "$run" perplexity p.gguf -f text.txt -c 64 --chunks 2 -q
vg "$run" generate p.gguf -p "the" -n 4 -q
vg "$run" tokenize p.gguf -f text.txt
finish
