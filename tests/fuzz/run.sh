#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SRCDIR TARGET SECONDS NAME:PATTERNS...  Called by `make fuzz-run` in the build folder: fuzz one target for that long,
# starting from its seed files. Fails on a finding; the input that found it is kept in fuzz/.
set -euo pipefail
src=$1 target=$2 seconds=$3
shift 3
[ -x "tests/fuzz/$target" ] || { echo "$target is not built (configure CC=clang --enable-fuzzers, then make)"; exit 1; }
mkdir -p "fuzz/seeds-$target" "fuzz/corpus-$target"
n=0
for entry; do
    [ "${entry%%:*}" = "$target" ] || continue
    for pattern in ${entry#*:}; do
        # seeds are small; large files only slow the fuzzer down. The loop variable globs below the source tree.
        for file in "$src"/$pattern; do
            [ -f "$file" ] && [ "$(stat -c %s "$file")" -le 65536 ] || continue
            n=$((n + 1))
            cp "$file" "fuzz/seeds-$target/$n"
        done
    done
done
[ "$n" -gt 0 ] || { echo "$target: no seeds found below $src"; exit 1; }
echo "$target: $n seeds, $seconds s"
"./tests/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="fuzz/finding-$target-" "fuzz/corpus-$target" "fuzz/seeds-$target"
