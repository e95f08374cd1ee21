# SPDX-License-Identifier: Apache-2.0
# Logits and greedy tokens of the llama and qwen3 checkpoints against transformers in float32.
. "${TERNPACK_SRCDIR:-.}/tests/support/env.sh"
reference=$bld/tests/runtime/compare_reference

for dir in "$src"/tests/data/arch/{llama_tied,llama_untied,llama_rope_llama3,llama_rope_llama3_v5,qwen3} "$src"/data/garden-3m \
    "$src"/data/garden-3m-ternary; do
    name=$(basename "$dir")
    model=$tmp/$name.gguf
    "$convert" -q "$dir" --dtype f32 -o "$model" || { fail "$name: convert"; continue; }
    "$reference" model "$model" "$dir" 1e-4 || fail "$name: differs from the reference (F32 weights)"
    "$reference" ids "$dir" > "$tmp/ids.json" || fail "$name: ids"
    "$run" logits "$model" -q --ids "$tmp/ids.json" -o "$tmp/$name.f32" || fail "$name: tern-run logits"
    "$reference" floats "$tmp/$name.f32" "$dir/reference_logits.f32" 1e-4 || fail "$name: tern-run logits differ"
    "$run" logits "$model" -q --no-mmap --kv-type q8_0 --ids "$tmp/ids.json" -o "$tmp/$name.f32" --force 2> "$tmp/err"
    case $? in
    0) "$reference" floats "$tmp/$name.f32" "$dir/reference_logits.f32" 0.1 || fail "$name: q8_0 cache" ;;
    2) grep -q 'multiple of 32' "$tmp/err" || fail "$name: q8_0 cache: $(cat "$tmp/err")" ;;
    *) fail "$name: q8_0 cache: $(cat "$tmp/err")" ;;
    esac
    "$convert" -q "$dir" --dtype f16 -o "$model" --force || { fail "$name: convert f16"; continue; }
    "$reference" model "$model" "$dir" 2e-3 || fail "$name: differs from the reference (F16 weights)"
done

# one, two and three threads, and each kernel, write the same bytes or nearly so
model=$tmp/garden-3m.gguf
for j in 1 2 3; do
    "$run" logits "$model" -q -j $j --ids "$tmp/ids.json" -o "$tmp/j$j.f32" || fail "-j $j"
done
cmp -s "$tmp/j1.f32" "$tmp/j2.f32" && cmp -s "$tmp/j1.f32" "$tmp/j3.f32" || fail "logits depend on the number of threads"
TERNPACK_KERNELS=scalar "$run" logits "$model" -q --ids "$tmp/ids.json" -o "$tmp/scalar.f32" || fail "scalar kernels"
"$reference" floats "$tmp/scalar.f32" "$tmp/j1.f32" 1e-4 || fail "scalar kernels differ"

# refusals
echo '[1, 2, 100000]' > "$tmp/bad.json"
expect 1 'id 100000 is outside the vocabulary' "$run" logits "$model" -q --ids "$tmp/bad.json" -o "$tmp/bad.f32"
[ ! -e "$tmp/bad.f32" ] && [ ! -e "$tmp/bad.f32.partial" ] || fail "a failed run left a file"
echo '{"a": 1}' > "$tmp/bad.json"
expect 1 'array of' "$run" logits "$model" -q --ids "$tmp/bad.json" -o "$tmp/bad.f32"
expect 2 'exist' "$run" logits "$model" -q --ids "$tmp/ids.json" -o "$tmp/j1.f32"
ln "$model" "$tmp/link.gguf"
expect 2 'same file|is an input' "$run" logits "$model" -q --ids "$tmp/ids.json" -o "$tmp/link.gguf" --force
expect 2 'needs --ids' "$run" logits "$model" -o "$tmp/x.f32"
expect 2 'does not use --temp' "$run" logits "$model" --ids "$tmp/ids.json" -o "$tmp/x.f32" --temp 1
expect 0 'rows of 1024' "$run" logits "$model" --dry-run --ids "$tmp/ids.json" -o "$tmp/dry.f32"
[ ! -e "$tmp/dry.f32" ] || fail "--dry-run wrote a file"
finish
