#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Token ids of garden-3m and SmolLM2-135M against the tokenizers library, llama.cpp and transformers: corpora and random
# Unicode strings (TERNPACK_SEED, printed), and every pre-tokenizer rule.
. "$(dirname "${BASH_SOURCE[0]}")/../support/env.sh"
need_oracle tokenizers transformers llama_cpp gguf
seed=${TERNPACK_SEED:-$RANDOM}
tool=$src/tests/interop/token_ids.py
texts=("$src"/data/garden-corpus/*.txt)
for f in wiki.test.raw wiki.valid.txt; do [ -f "$shared/data/corpus/$f" ] && texts+=("$shared/data/corpus/$f"); done
export TOKENIZERS_PARALLELISM=false HF_HUB_OFFLINE=1

check() { # NAME DIR
    "$convert" -q --vocab-only "$2" -o "$tmp/$1.gguf" || { fail "$1: no conversion"; return; }
    "$oracle" "$tool" ids "$run" "$tmp/$1.gguf" "$2" "$seed" 2000 "${texts[@]}" 2>"$tmp/err" ||
        { cat "$tmp/err"; fail "$1: ids differ"; }
}
check garden-3m "$src/data/garden-3m"
[ -f "${TERNPACK_CHECKPOINTS:-}/smollm2-135m/config.json" ] && check smollm2-135m "$TERNPACK_CHECKPOINTS/smollm2-135m"

"$oracle" "$tool" rules "$convert" "$run" "$src/data/garden-3m" "$seed" 500 2>"$tmp/err" ||
    { cat "$tmp/err"; fail "rules differ"; }
finish
