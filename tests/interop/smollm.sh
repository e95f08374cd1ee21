#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A real checkpoint, SmolLM2-135M: perplexity against transformers (float32, 40 chunks: 23.5122) and llama.cpp (100 chunks:
# 23.4735), and bounded memory.
. "$(dirname "$0")/../support/env.sh"
need_checkpoint smollm2-135m
need_shared data/corpus/wiki.test.raw
cd "$tmp" || exit 1
measure=$bld/tests/bench/measure

# rss LIMIT_KIB COMMAND...: peak resident set within the limit
rss() {
    local limit=$1 kib
    shift
    "$measure" -o rss.json "$@" >/dev/null 2>rss.err || { fail "$*: $(tail -n 1 rss.err)"; return; }
    kib=$(json_num max_rss_kib <rss.json)
    echo "$(basename "$1") ${2##*/}: peak RSS $kib KiB (limit $limit)"
    [ -n "$kib" ] && [ "${kib%.*}" -le "$limit" ] || fail "$*: peak RSS ${kib:-unknown} KiB, limit $limit"
}
# What a program needs to print its help is its baseline.
baseline() { "$measure" -o rss.json "$1" --help >/dev/null 2>&1; json_num max_rss_kib <rss.json; }

mib=1024
rss $(($(baseline "$convert") + 100 * mib)) "$convert" "$checkpoint" -o m.gguf -q
rss $(($(baseline "$pack") + 100 * mib)) "$pack" m.gguf -o p.gguf --type Q2_0 -q
rss $(($(baseline "$verify") + 100 * mib)) "$verify" p.gguf -q
rss $(($(baseline "$verify") + 100 * mib)) "$verify" p.gguf --against m.gguf -q
size_kib=$(($(stat -c %s m.gguf) / 1024))
rss $((size_kib * 3 / 2)) "$run" perplexity m.gguf -f "$shared/data/corpus/wiki.test.raw" -c 512 --chunks 4 -q

for spec in "40 23.5122 2e-4" "100 23.4735 1.5e-3"; do
    set -- $spec
    got=$("$run" perplexity m.gguf -f "$shared/data/corpus/wiki.test.raw" -c 512 --chunks "$1" --json -q 2>err.txt | json_num perplexity)
    echo "F16, $1 chunks: $got (expected $2 within $3)"
    near "$got" "$2" "$3" "perplexity of SmolLM2-135M over $1 chunks"
done
finish
