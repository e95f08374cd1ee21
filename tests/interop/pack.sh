# SPDX-License-Identifier: Apache-2.0
# Packed files in the hands of others: sha256sum, the Python gguf reader, llama.cpp.
. "$(dirname "$0")/../support/env.sh"
need_oracle gguf numpy llama_cpp
need_shared tools/llama-oracle
"$convert" -q "$src/data/garden-3m" -o "$tmp/g.gguf" || fail "convert"

for type in Q2_0 TQ1_0 TQ2_0; do
    f=$tmp/$type.gguf
    "$pack" -q "$tmp/g.gguf" -o "$f" --type $type || fail "pack $type"
    (cd "$tmp" && sha256sum --strict --quiet -c $type.gguf.sha256) || fail "$type: sha256sum"
    "$oracle" "$shared/tools/llama-oracle" load "$f" >"$tmp/load.txt" 2>&1 || fail "$type: llama.cpp does not load it"
    theirs=$("$oracle" "$shared/tools/llama-oracle" ppl "$f" "$src/data/garden-corpus/test.txt" --ctx 256 --chunks 8)
    ours=$("$run" perplexity "$f" -f "$src/data/garden-corpus/test.txt" -c 256 --chunks 8 --json)
    "$oracle" - "$theirs" "$ours" <<'PY' || fail "$type: perplexities differ"
import json, sys
a, b = (json.loads(s) for s in sys.argv[1:])
a = a.get("perplexity", a.get("ppl"))
b = b["perplexity"]
print("llama.cpp %.6f, tern-run %.6f" % (a, b))
sys.exit(not abs(a / b - 1) <= 0.005)
PY
done

# Keys and digests with the Python reader (its table may lack Q2_0, so a TQ2_0 file).
"$oracle" - "$tmp/TQ2_0.gguf" "$tmp/g.gguf" <<'PY' || fail "gguf-py reads other things"
import hashlib, struct, sys, zlib
import gguf, numpy
r, s = gguf.GGUFReader(sys.argv[1]), gguf.GGUFReader(sys.argv[2])
get = lambda k: r.fields[k].contents()
assert get("ternpack.version") == 1
assert get("ternpack.source.sha256") == hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest()
assert get("ternpack.tensor.names") == [t.name for t in r.tensors] == [t.name for t in s.tensors]
assert get("general.file_type") == 37
for i, t in enumerate(r.tensors):
    assert get("ternpack.tensor.sha256")[i] == hashlib.sha256(t.data.tobytes()).hexdigest(), t.name
kept = [k for k in s.fields if not k.startswith("GGUF.") and k != "general.file_type"]
for k in kept:
    assert s.fields[k].contents() == get(k), k
for a, b in zip(r.tensors, s.tensors):
    if a.tensor_type != b.tensor_type:
        x = gguf.dequantize(a.data, a.tensor_type).astype(numpy.float64)
        y = b.data.astype(numpy.float64)
        e = numpy.linalg.norm(x - y) / numpy.linalg.norm(y)
        assert e < (0.5 if a.name.startswith("blk.") else 0.02), (a.name, e)
PY
finish
