# SPDX-License-Identifier: Apache-2.0
# Generation: greedy text, seeds, sampling switches, chat; bench.
. "${TERNPACK_SRCDIR:-.}/tests/support/env.sh"
model=$tmp/m.gguf
"$convert" -q "$src/data/garden-3m" -o "$model" || fail "convert"

a=$("$run" generate "$model" -q -p "At the turn of the year" -n 24 --temp 0) || fail "greedy"
b=$("$run" generate "$model" -q -p "At the turn of the year" -n 24 --temp 0 -j 1 --kv-type f32 --seed 9) || fail "greedy, f32 cache"
[ -n "$a" ] && [ "$a" = "$b" ] || fail "greedy text depends on cache or seed: '$a', '$b'"
draw() { "$run" generate "$model" -q -p "In the garden" -n 40 "$@"; }
[ "$(draw --seed 3)" = "$(draw --seed 3)" ] || fail "the same seed gives another text"
[ "$(draw --seed 3 --temp 1.5 --top-k 0 --top-p 1 --min-p 0)" != "$(draw --seed 4 --temp 1.5 --top-k 0 --top-p 1 --min-p 0)" ] ||
    fail "the seed does not matter"
[ "$(draw --seed 3 --top-k 1)" = "$(draw --temp 0)" ] || fail "--top-k 1 is not greedy"
[ "$(draw --seed 3 --top-p 0)" = "$(draw --temp 0)" ] || fail "--top-p 0 is not greedy"
[ "$(draw --seed 3 --min-p 1)" = "$(draw --temp 0)" ] || fail "--min-p 1 is not greedy"
[ "$(draw --temp 0 --repeat-penalty 2)" != "$(draw --temp 0)" ] || fail "--repeat-penalty changes nothing"
[ "$(draw --mirostat 2 --seed 5)" = "$(draw --mirostat 2 --seed 5)" ] || fail "mirostat is not repeatable"
[ "$(draw --mirostat 2 --seed 5 --mirostat-ent 8)" != "$(draw --mirostat 2 --seed 5 --mirostat-ent 0.1)" ] || fail "--mirostat-ent"
"$run" generate "$model" -q -p "What grows in the walled garden?" --chat -n 16 --temp 0 > "$tmp/chat" || fail "--chat"
[ -s "$tmp/chat" ] || fail "--chat prints nothing"
draw --temp 5 --top-k 0 --top-p 1 --min-p 0 > "$tmp/wild" || fail "a high temperature"
expect 2 'fill a context of 4' "$run" generate "$model" -p "At the turn of the year Tobias promised" -c 4
expect 2 'needs a prompt' "$run" generate "$model"
expect 2 'add --chat' "$run" generate "$model" -p x --system y
expect 2 'need --mirostat' "$run" generate "$model" -p x --mirostat-lr 1
expect 2 'does not use --json' "$run" generate "$model" -p x --json
expect 0 'prompt tokens, at most 5' "$run" generate "$model" -p "In the" -n 5 --dry-run
expect 0 'kernels: scalar' env TERNPACK_KERNELS=scalar "$run" generate "$model" -v -p "In the" -n 2

"$run" bench "$model" -q -p 32 -n 4 --json > "$tmp/bench" || fail "bench"
grep -Eq '"prompt_tokens": 32, "prompt_tokens_per_s": [0-9.]+.*"generated_tokens": 4,' "$tmp/bench" || fail "bench: $(cat "$tmp/bench")"
expect 2 'number of tokens' "$run" bench "$model" -p many
expect 2 "unknown command 'dance'" "$run" dance "$model"
finish
