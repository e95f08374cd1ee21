#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SmolLM2-135M: every tensor's bytes and every key equal llama.cpp's conversion; memory stays small.
. "$(dirname "$0")/../support/env.sh"
need_oracle gguf numpy
need_shared data/reference/smollm2-135m.f16.tensors.tsv data/reference/smollm2-135m.f16.kv.json
need_checkpoint smollm2-135m
compare=$src/tests/interop/gguf_compare.py reference=$shared/data/reference/smollm2-135m.f16

"$convert" "$checkpoint" -o "$tmp/s.gguf" -q || fail "conversion"
"$oracle" "$compare" tensors "$tmp/s.gguf" "$reference.tensors.tsv" >"$tmp/diff" || fail "tensors: $(head -n 5 "$tmp/diff")"
"$oracle" "$compare" keys "$tmp/s.gguf" "$reference.kv.json" >"$tmp/diff" || fail "keys: $(head -n 5 "$tmp/diff")"

# Peak resident memory in kB: the whole job against a run that only prints its version.
peak() { "$oracle" - "$@" <<'PY'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PY
}
job=$(peak "$convert" "$checkpoint" -o "$tmp/s.gguf" --force -q) base=$(peak "$convert" --version)
echo "peak RSS $job kB, baseline $base kB"
[ -n "$job" ] && [ "$job" -le $((base + 100 * 1024)) ] || fail "peak RSS $job kB is more than 100 MiB above $base kB"
finish
