#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job on the demo checkpoints, tool by tool: convert, calibrate, pack, verify, measure. Figures come from
# data/*/reference.json (transformers, float32).
. "$(dirname "$0")/../support/env.sh"
corpus=$src/data/garden-corpus
cd "$tmp" || exit 1

# A sanitizer build looks at fewer chunks.
chunks=53
! sanitized || chunks=3
ppl() { "$run" perplexity "$@" -f "$corpus/test.txt" -c 256 --chunks $chunks --json -q 2>err.txt | json_num perplexity; }
# exp of the mean over the first chunks: "chunk_nll_sum" of "test" in reference.json, 127 scored tokens a chunk
reference_ppl() {
    tr -d '\n' <"$1" | sed 's/.*"test": {//; s/.*"chunk_nll_sum": \[//; s/\].*//' | tr -d ' ' | tr ',' '\n' |
        awk -v k=$chunks 'NR <= k { s += $1; n++ } END { if (n == k) printf "%.9f\n", exp(s / (127 * k)) }'
}

for name in garden-3m garden-3m-ternary; do
    ok "$convert" "$src/data/$name" -o "$name.gguf" -q
    ok "$verify" -q "$name.gguf"
    got=$(ppl "$name.gguf")
    near "$got" "$(reference_ppl "$src/data/$name/reference.json")" 2e-4 "perplexity of $name (F16)"
done
f16=$(ppl garden-3m-ternary.gguf)

# Trained ternary: every packing that holds groups of 128 is exact, so the perplexity with FP32 activations is the source's.
for type in PQ2_0 PTQ1_0 Q2_0; do
    ok "$pack" garden-3m-ternary.gguf -o "t.$type.gguf" --type $type --embed-type F16 --lossless require -q
    ok "$verify" -q "t.$type.gguf"
    ok sha256sum -c "t.$type.gguf.sha256"
    out=$("$verify" "t.$type.gguf" --against garden-3m-ternary.gguf --fail-above 0 2>&1) || fail "$type differs from its source: $(printf '%s' "$out" | tail -n 1)"
    got=$(ppl "t.$type.gguf" --exact)
    near "$got" "$f16" 1e-5 "perplexity of garden-3m-ternary as $type, --exact"
    got=$(ppl "t.$type.gguf")
    near "$got" "$f16" 5e-3 "perplexity of garden-3m-ternary as $type, int8 activations"
done

# An ordinary checkpoint: statistics, then both methods. On this easy text they lose 2 to 3 percent (1.632 becomes 1.67 to 1.68).
f16=$(ppl garden-3m.gguf)
ok "$calib" garden-3m.gguf -f "$corpus/train.txt" --ctx 256 --samples 32 -o stats.gguf -q
ok "$verify" -q stats.gguf
for method in optimal weighted; do
    stats=()
    [ $method = optimal ] || stats=(--stats stats.gguf)
    for type in Q2_0 PQ2_0 TQ2_0; do
        ok "$pack" garden-3m.gguf -o "o.$method.$type.gguf" --type $type --method $method "${stats[@]}" -q
        ok "$verify" -q "o.$method.$type.gguf"
        got=$(ppl "o.$method.$type.gguf")
        echo "garden-3m $type $method: perplexity $got"
        near "$got" "$f16" 0.04 "perplexity of garden-3m as $type, $method"
    done
done

# Same bytes whatever the threads and kernels.
for j in 1 2; do
    for k in scalar avx2; do
        TERNPACK_KERNELS=$k "$pack" garden-3m.gguf -o "same.$j.$k.gguf" --type Q2_0 --method weighted --stats stats.gguf -j $j -q 2>/dev/null ||
            { [ $k = avx2 ] && ! grep -qw avx2 /proc/cpuinfo || fail "tern-pack -j $j with $k kernels"; }
    done
done
[ "$(sha256sum same.*.gguf | cut -d' ' -f1 | sort -u | wc -l)" = 1 ] || fail "tern-pack's bytes depend on threads or kernels"
a=$(TERNPACK_KERNELS=scalar "$run" perplexity t.Q2_0.gguf -f "$corpus/test.txt" -c 256 --chunks 2 -j 1 --json -q 2>/dev/null | json_num nll)
b=$("$run" perplexity t.Q2_0.gguf -f "$corpus/test.txt" -c 256 --chunks 2 -j 2 --json -q 2>/dev/null | json_num nll)
near "$b" "$a" 1e-6 "NLL with the best kernel against scalar"
finish
