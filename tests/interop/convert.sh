#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tern-convert's tensors and keys against llama.cpp's converter on the fixtures, and llama.cpp loads the files.
. "$(dirname "$0")/../support/env.sh"
need_oracle gguf numpy
compare=$src/tests/interop/gguf_compare.py
fixtures=$src/tests/data/arch

loads() { # where the Python package of llama.cpp is there
    "$oracle" -c 'import llama_cpp' 2>/dev/null || return 0
    "$oracle" - "$1" <<'PY' >"$tmp/load" 2>&1 || fail "llama.cpp does not load $1: $(tail -n 3 "$tmp/load")"
import sys
import llama_cpp
llama = llama_cpp.Llama(sys.argv[1], n_ctx=32, vocab_only=False, verbose=False)
llama.eval([1, 2, 3])
PY
}

# The recorded conversions ran without the vocabulary step and in a folder of another name: those keys are not compared.
same_as_recorded() {
    "$oracle" "$compare" fixture "$1" "$fixtures/_gguf_expected/$2.json" '--ignore=tokenizer.*' --ignore=general.type \
        --ignore=general.name --ignore=general.basename --ignore=general.size_label >"$tmp/diff" 2>&1 ||
        fail "$2: $(head -n 5 "$tmp/diff")"
}

for name in llama_tied llama_untied llama_rope_llama3 llama_rope_llama3_v5 qwen3; do
    "$convert" "$fixtures/$name" -o "$tmp/$name.gguf" --dtype f32 -q || { fail "$name"; continue; }
    same_as_recorded "$tmp/$name.gguf" "$name"
    loads "$tmp/$name.gguf"
done

# Mistral's fixture has a window shorter than its context, and a SentencePiece-like tokenizer: refused as it is. Its tensors are compared
# without the window and with a byte-level tokenizer in its place.
expect 1 'sliding_window: 16' "$convert" "$fixtures/mistral" -o "$tmp/m.gguf"
cp -r "$fixtures/mistral" "$tmp/mistral"; chmod -R u+w "$tmp/mistral"
sed -i 's/"sliding_window": *16/"sliding_window": null/' "$tmp/mistral/config.json"
expect 1 'tokenizer.json' "$convert" "$tmp/mistral" -o "$tmp/m.gguf"
cp "$fixtures/llama_tied/tokenizer.json" "$fixtures/llama_tied/tokenizer_config.json" "$tmp/mistral/"
sed -i 's/"\(bos\|eos\)_token_id": *[0-9]*/"\1_token_id": null/' "$tmp/mistral/config.json"
"$convert" "$tmp/mistral" -o "$tmp/mistral.gguf" --dtype f32 -q && same_as_recorded "$tmp/mistral.gguf" mistral || fail "mistral"
loads "$tmp/mistral.gguf"

"$convert" "$src/data/garden-3m" -o "$tmp/garden.gguf" -q || fail "garden-3m"
loads "$tmp/garden.gguf"
finish
