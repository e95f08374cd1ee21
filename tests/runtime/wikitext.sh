# SPDX-License-Identifier: Apache-2.0
# A real model: SmolLM2-135M in F16 over the first 40 chunks of wikitext-2's test text, transformers' float32 figure, memory.
. "${TERNPACK_SRCDIR:-.}/tests/support/env.sh"
need_shared data/corpus/wiki.test.raw
need_checkpoint smollm2-135m
model=$tmp/smollm2.gguf
"$convert" -q "$checkpoint" --dtype f16 -o "$model" || { fail "convert"; finish; }

"$run" perplexity "$model" -q -f "$shared/data/corpus/wiki.test.raw" -c 512 --chunks 40 --json > "$tmp/json" &
pid=$!
peak=0
while kill -0 $pid 2> /dev/null; do
    now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$pid/status 2> /dev/null)
    [ "${now:-0}" -gt "$peak" ] && peak=$now
    sleep 0.2
done
wait $pid || fail "perplexity"
ppl=$(grep -o '"perplexity": [0-9.]*' "$tmp/json" | cut -d ' ' -f 2)
awk -v p="$ppl" 'BEGIN { d = p / 23.5122 - 1; exit !(p > 0 && d <= 2e-4 && d >= -2e-4) }' || fail "perplexity $ppl, expected 23.5122"
limit=$(($(stat -c %s "$model") / 1024 * 3 / 2))
[ "$peak" -gt 0 ] && [ "$peak" -le "$limit" ] || fail "peak memory $peak KiB, allowed $limit"
echo "perplexity $ppl, peak memory $peak KiB of $limit"
finish
