#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --against end to end: a converted file equals its folder (names, Q and K rows), a packed one has the error it must have, and
# the figures do not depend on threads.
. "$(dirname "$0")/../support/env.sh"
cd "$tmp" || exit 1

for arch in llama_untied llama_tied llama_rope_llama3 qwen3; do
    folder=$src/tests/data/arch/$arch
    "$convert" "$folder" -o "$arch.gguf" --dtype f32 -q || { fail "$arch: tern-convert failed"; continue; }
    expect 0 "^$arch.gguf: OK" "$verify" "$arch.gguf" --against "$folder" --fail-above 0
    "$verify" "$arch.gguf" --against "$folder" --json >json
    grep -q '"total":{"tensors":[1-9][0-9]*,.*"relative_error":0,"cosine":1,"max_abs":0,' json || fail "$arch: $(tail -c 300 json)"
done
# The rows of Q do matter: against the wrong architecture's order the same file differs.
expect 1 'FAILED \(' "$verify" llama_untied.gguf --against "$src/tests/data/arch/qwen3"

"$convert" "$src/data/garden-3m" -o m.gguf -q && "$pack" m.gguf -o t.gguf --type Q2_0 -q || fail "no packed file"
"$verify" t.gguf --against m.gguf -j1 >j1 && "$verify" t.gguf --against m.gguf -j3 >j3 || fail "--against fails"
cmp -s j1 j3 || fail "the table depends on the number of threads"
"$verify" t.gguf --against "$src/data/garden-3m" >folder && cmp -s j1 folder || fail "the folder gives another table than the file"
expect 1 'relative error 0\.[0-9]+ is above 0.1' "$verify" t.gguf --against m.gguf --fail-above 0.1
expect 0 ': OK' "$verify" t.gguf --against m.gguf --fail-above 0.9
"$verify" t.gguf --against m.gguf --sort error --tensor blk.1.attn_q.weight >one
[ "$(grep -c '^blk' one)" = 1 ] && grep -q '^blk.1.attn_q.weight *Q2_0' one || fail "--tensor: $(cat one)"

# Sorting: sizes and errors fall, names rise.
"$verify" t.gguf --against m.gguf --sort name | awk '/^$/{exit} NR>2{print $1}' >names
LC_ALL=C sort -c names || fail "--sort name is not sorted"
"$verify" t.gguf --against m.gguf --sort error | awk '/^$/{exit} NR>2{print $4}' >errors
sort -rg -c errors || fail "--sort error is not sorted"
[ "$(wc -l <names)" = 46 ] || fail "the table has $(wc -l <names) tensors, expected 46"

# Statistics: a weighted column appears; statistics of another model are refused.
head -c 20000 "$src/data/garden-corpus/valid.txt" >text
"$calib" m.gguf -f text -o s.gguf --ctx 64 -q || fail "tern-calib failed"
expect 0 'rel.error +weighted' "$verify" t.gguf --against m.gguf --stats s.gguf
"$calib" qwen3.gguf -f text -o other.gguf --ctx 64 -q && expect 1 'statistics for' "$verify" t.gguf --against m.gguf --stats other.gguf

# A model that lacks a tensor, or has another shape.
expect 1 'shape \[' "$verify" qwen3.gguf --against m.gguf
finish
