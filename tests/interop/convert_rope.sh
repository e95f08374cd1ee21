#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every rotary scaling, in both spellings: tern-run on the converted file gives transformers' logits (max |delta| <= 2e-3 max |logit|),
# at positions well beyond the original context. Head ratios other than two as well.
. "$(dirname "$0")/../support/env.sh"
need_oracle numpy torch transformers
fixtures=$src/tests/data/arch

cat >"$tmp/reference.py" <<'PY'
import json, random, sys
import numpy as np, torch, transformers
transformers.logging.set_verbosity_error()
random.seed(5)
ids = [random.randrange(0, 317) for _ in range(150)]
json.dump(ids, open(sys.argv[2], "w"))
model = transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
with torch.no_grad():
    model(torch.tensor([ids])).logits[0].numpy().astype("<f4").tofile(sys.argv[3])
PY
cat >"$tmp/compare.py" <<'PY'
import sys
import numpy as np
a, b = (np.fromfile(p, "<f4") for p in sys.argv[1:3])
worst = np.abs(a - b).max() if a.shape == b.shape and a.size else np.inf
print(f"max |delta| {worst:g}, max |logit| {np.abs(a).max():g}")
sys.exit(not worst <= 2e-3 * np.abs(a).max())
PY
# New weights in a shape of our choice: 6 heads, 2 kv heads of 4 (as in M13).
cat >"$tmp/grouped.py" <<'PY'
import json, sys
import torch, transformers
torch.manual_seed(7)
c = transformers.LlamaConfig(hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=2,
                             head_dim=4, vocab_size=320, max_position_embeddings=256, tie_word_embeddings=False,
                             bos_token_id=317, eos_token_id=318, initializer_range=0.3)
transformers.LlamaForCausalLM(c).to(torch.bfloat16).save_pretrained(sys.argv[1])
PY

compare() { # FOLDER LABEL
    "$oracle" "$tmp/reference.py" "$1" "$tmp/ids.json" "$tmp/ref.f32" >"$tmp/log" 2>&1 || { fail "$2: $(tail -n 2 "$tmp/log")"; return; }
    "$convert" "$1" -o "$tmp/m.gguf" --dtype f32 --force -q || { fail "$2: conversion"; return; }
    "$run" logits "$tmp/m.gguf" --ids "$tmp/ids.json" -o "$tmp/own.f32" --force -q >"$tmp/log" 2>&1 || { fail "$2: $(tail -n 2 "$tmp/log")"; return; }
    "$oracle" "$tmp/compare.py" "$tmp/ref.f32" "$tmp/own.f32" >"$tmp/log" || fail "$2: $(cat "$tmp/log")"
    echo "$2: $(cat "$tmp/log")"
}

scaled() { # FIXTURE LABEL ROPE_SCALING
    rm -rf "$tmp/m"; cp -r "$fixtures/$1" "$tmp/m"; chmod -R u+w "$tmp/m"
    sed -i "s/\"rope_scaling\": *null/\"rope_scaling\": $3/" "$tmp/m/config.json"
    compare "$tmp/m" "$1 $2"
}

compare "$fixtures/llama_untied" "llama_untied"
compare "$fixtures/llama_rope_llama3" "llama_rope_llama3"
compare "$fixtures/llama_rope_llama3_v5" "llama_rope_llama3_v5"
scaled llama_tied linear '{"type": "linear", "factor": 3.0}'
scaled qwen3 linear '{"rope_type": "linear", "factor": 2.0}'
scaled llama_tied yarn '{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}'
scaled qwen3 'yarn, betas' '{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "beta_fast": 16, "beta_slow": 2}'
scaled qwen3 'yarn, attention_factor' '{"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.0}'
"$oracle" "$tmp/grouped.py" "$tmp/grouped" >"$tmp/log" 2>&1 || fail "grouped: $(tail -n 2 "$tmp/log")"
cp "$fixtures/llama_tied/tokenizer.json" "$fixtures/llama_tied/tokenizer_config.json" "$tmp/grouped/"
compare "$tmp/grouped" "6 heads, 2 kv heads of 4"
finish
