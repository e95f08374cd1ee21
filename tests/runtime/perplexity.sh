# SPDX-License-Identifier: Apache-2.0
# Perplexity and divergence of the demo models against their reference figures, and what bad input gets.
. "${TERNPACK_SRCDIR:-.}/tests/support/env.sh"

# value KEY < JSON: the first number or word of that name
value() { grep -o "\"$1\": \"\{0,1\}[^,\"}]*" | head -n 1 | sed 's/^[^:]*: "\{0,1\}//'; }
reference() { tr -d '\n' < "$1/reference.json" | sed -n 's/.*"test": *{[^}]*"ppl": *\([0-9.]*\).*/\1/p'; }

text=$src/data/garden-corpus/test.txt
for name in garden-3m garden-3m-ternary; do
    "$convert" -q "$src/data/$name" -o "$tmp/$name.gguf" || fail "convert $name"
    ! sanitized || continue # the whole text takes minutes there; tests/flow/garden.sh looks at its first chunks
    "$run" perplexity "$tmp/$name.gguf" -q -f "$text" -c 256 --json > "$tmp/$name.json" || fail "perplexity of $name"
    want=$(reference "$src/data/$name")
    is_near "$(value perplexity < "$tmp/$name.json")" "$want" 2e-4 || fail "$name: $(cat "$tmp/$name.json"), expected $want"
done
if ! sanitized; then
    [ "$(value tokens < "$tmp/garden-3m.json")" = 13680 ] || fail "token count"
    [ "$(value chunks < "$tmp/garden-3m.json")" = 53 ] || fail "chunk count"
    [ "$(value scored < "$tmp/garden-3m.json")" = 6731 ] || fail "scored tokens"
    [ "$(value bos < "$tmp/garden-3m.json")" = false ] || fail "BOS"
    [ "$(value corpus_sha256 < "$tmp/garden-3m.json")" = "$(sha256sum < "$text" | cut -d ' ' -f 1)" ] || fail "corpus digest"
    is_near "$(value stderr < "$tmp/garden-3m.json")" 0.019355892588 1e-3 || fail "standard error"
fi

model=$tmp/garden-3m.gguf

# ppl MODEL OPTION...: over the first chunks
chunks=10
! sanitized || chunks=2
ppl() { "$run" perplexity "$1" -q -f "$text" -c 256 --chunks $chunks --json "${@:2}" | value perplexity; }

# the same figure, to the last digit, for any number of threads; nearly so in smaller batches, from memory, for each kernel
want=$(ppl "$model")
for j in 1 3; do
    [ "$(ppl "$model" -j $j)" = "$want" ] || fail "-j $j changes it"
done
is_near "$(ppl "$model" -b 100 --no-mmap)" "$want" 1e-5 || fail "-b 100"
is_near "$(TERNPACK_KERNELS=scalar ppl "$model")" "$want" 1e-5 || fail "scalar kernels"
is_near "$(ppl "$model" --kv-type f16)" "$want" 1e-3 || fail "f16 cache"

# packed ternary weights: the source's figure with unrounded activations, nearly so with 8-bit ones, the same for each kernel
want=$(ppl "$tmp/garden-3m-ternary.gguf")
for type in PQ2_0 PTQ1_0 Q2_0; do
    packed=$tmp/$type.gguf
    "$pack" -q "$tmp/garden-3m-ternary.gguf" -o "$packed" --type $type --embed-type F16 --on-ragged f16 || { fail "pack $type"; continue; }
    is_near "$(ppl "$packed" --exact)" "$want" 1e-5 || fail "$type --exact"
    got=$(ppl "$packed")
    is_near "$got" "$want" 5e-3 || fail "$type: $got, the source has $want"
    is_near "$(TERNPACK_KERNELS=scalar ppl "$packed")" "$got" 1e-4 || fail "$type: scalar kernels"
done

# chunks, stride, several texts
[ "$("$run" perplexity "$model" -q -f "$text" -c 256 --chunks 3 --json | value chunks)" = 3 ] || fail "--chunks"
"$run" perplexity "$model" -q -f "$text" -c 256 --chunks 5 --ppl-stride 64 --json > "$tmp/stride.json" || fail "--ppl-stride"
[ "$(value scored < "$tmp/stride.json")" = 320 ] && [ "$(value n_ctx < "$tmp/stride.json")" = 288 ] || fail "--ppl-stride counts"
"$run" perplexity "$model" -q -f "$text" -f "$src/data/garden-corpus/valid.txt" -c 256 --chunks 4 --json > "$tmp/two.json"
[ "$(value chunks < "$tmp/two.json")" = 8 ] && grep -q '"mean_perplexity"' "$tmp/two.json" || fail "two texts: $(cat "$tmp/two.json")"
expect 0 'mean of 2 files: perplexity' "$run" perplexity "$model" -q -f "$text" -f "$text" -c 256 --chunks 1
"$run" perplexity "$model" -q -f "$text" -c 256 --chunks 5 --json --dry-run > "$tmp/dry.json"
[ "$(value scored < "$tmp/dry.json")" = 635 ] && grep -q '"corpus_sha256"' "$tmp/dry.json" || fail "--dry-run --json: $(cat "$tmp/dry.json")"
"$run" kl "$model" --ref "$model" -q -f "$text" -c 256 --chunks 5 --json --dry-run > "$tmp/dry_kl.json"
cmp "$tmp/dry.json" "$tmp/dry_kl.json" || fail "kl --dry-run --json: $(cat "$tmp/dry_kl.json")"
"$run" perplexity "$model" -q -f "$text" -f "$text" -c 256 --chunks 5 --json --dry-run > "$tmp/dry.json"
[ "$(value chunks < "$tmp/dry.json")" = 10 ] || fail "--dry-run --json, two texts: $(cat "$tmp/dry.json")"
expect 0 '13680 tokens, BOS no, sha256 [0-9a-f]{64}' "$run" perplexity "$model" -f "$text" -c 256 --dry-run
echo "Seven words are too few for this." > "$tmp/short.txt"
expect 1 'short.txt: [0-9]+ tokens are too few.*at least 512' "$run" perplexity "$model" -q -f "$tmp/short.txt"
gzip -c "$tmp/short.txt" > "$tmp/short.txt.gz"
expect 1 'short.txt.gz: compressed with gzip' "$run" perplexity "$model" -q -f "$tmp/short.txt.gz"
: > "$tmp/empty.txt"
expect 1 'empty.txt' "$run" perplexity "$model" -q -f "$tmp/empty.txt"
expect 2 'needs a text' "$run" perplexity "$model"
expect 2 'does not use --ref' "$run" perplexity "$model" -f "$text" --ref "$model"

# control tokens in a text are plain characters unless asked for
printf '<|im_start|>user\n' > "$tmp/chat.txt"
n=$("$run" perplexity "$model" -f "$tmp/chat.txt" -c 4 --dry-run 2>&1 | sed -n 's/.*: \([0-9]*\) tokens.*/\1/p')
m=$("$run" perplexity "$model" -f "$tmp/chat.txt" -c 4 --dry-run --parse-special 2>&1 | sed -n 's/.*: \([0-9]*\) tokens.*/\1/p')
[ -n "$n" ] && [ -z "$m" ] || [ "${m:-0}" -lt "${n:-0}" ] || fail "--parse-special: $n and $m tokens"

# divergence: nothing from itself, something from the ternary twin; the log-probability file gives nearly the same
"$run" kl "$model" -q --ref "$model" -f "$text" -c 256 --chunks 4 --json > "$tmp/self.json" || fail "kl with itself"
is_near "$(value same_top1 < "$tmp/self.json")" 1 0 || fail "same top token with itself: $(cat "$tmp/self.json")"
awk -v k="$(value kl_max < "$tmp/self.json")" 'BEGIN { exit !(k ~ /^[-0-9.e+]+$/ && k < 1e-5 && k > -1e-5) }' || fail "KL with itself"
"$run" kl "$tmp/garden-3m-ternary.gguf" -q --ref "$model" -f "$text" -c 256 --chunks 8 --json --save-kl-base "$tmp/base" \
    > "$tmp/kl.json" || fail "kl"
"$run" perplexity "$model" -q -f "$text" -c 256 --chunks 8 --save-kl-base "$tmp/base2" > /dev/null || fail "--save-kl-base"
cmp -s "$tmp/base" "$tmp/base2" || fail "perplexity and kl write different log-probability files"
[ "$(stat -c %s "$tmp/base")" = $((20 + 8 * 256 * 4 + 8 * 127 * (8 + 2 * 1024))) ] || fail "size of the log-probability file"
"$run" kl "$tmp/garden-3m-ternary.gguf" -q --kl-base "$tmp/base" -f "$text" --json > "$tmp/kl2.json" || fail "--kl-base"
for key in kl_mean kl_median kl_99 kl_max rms_dp ppl_ratio perplexity ref_perplexity; do
    is_near "$(value $key < "$tmp/kl2.json")" "$(value $key < "$tmp/kl.json")" 0.01 ||
        fail "$key: $(value $key < "$tmp/kl.json") and $(value $key < "$tmp/kl2.json") by file"
done
awk -v k="$(value kl_mean < "$tmp/kl.json")" 'BEGIN { exit !(k > 0.001 && k < 0.1) }' || fail "KL of the ternary twin"
expect 2 'exist' "$run" perplexity "$model" -q -f "$text" -c 256 --save-kl-base "$tmp/base"
expect 2 'one reference' "$run" kl "$model" -f "$text"
expect 2 'one reference' "$run" kl "$model" -f "$text" --ref "$model" --kl-base "$tmp/base"
expect 1 'disagree on token' "$run" kl "$model" -q --kl-base "$tmp/base" -f "$src/data/garden-corpus/valid.txt"
head -c 100000 "$tmp/base" > "$tmp/cut"
expect 1 'the file has 100000' "$run" kl "$model" -q --kl-base "$tmp/cut"
expect 1 '_logits_' "$run" kl "$model" -q --kl-base "$text"

expect 1 'nosuch.gguf' "$run" perplexity "$tmp/nosuch.gguf" -f "$text"
expect 2 'kernels|nosuch' env TERNPACK_KERNELS=nosuch "$run" perplexity "$model" -f "$text"
finish
