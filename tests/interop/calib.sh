#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# llama.cpp's quantizer takes tern-calib's file: IQ2_XXS, a type that it refuses to make without an importance matrix. What
# is done here between file and quantizer is what llama-quantize's own loader does: both tensors F32, sums over counts.
. "$(dirname "$0")/../support/env.sh"
need_oracle gguf numpy llama_cpp
cd "$tmp" || exit 1
ok "$convert" "$src/data/garden-3m" -o m.gguf -q
ok "$calib" m.gguf -f "$src/data/garden-corpus/train.txt" --ctx 256 --samples 16 -o stats.gguf -q
"$oracle" - <<'EOF' >out 2>&1 || fail "$(tail -n 3 out)"
import ctypes, os
import numpy as np
import llama_cpp.llama_cpp as lc
from gguf import GGUFReader

r = GGUFReader("stats.gguf")
kv = {k: f.contents() for k, f in r.fields.items()}
assert kv["general.type"] == "imatrix", kv["general.type"]
assert kv["imatrix.datasets"] == ["train.txt"] and kv["imatrix.chunk_count"] == 16 and kv["imatrix.chunk_size"] == 256
assert kv["ternpack.stats.n_tokens"] == 4096
t = {x.name: x for x in r.tensors}
names = sorted(n[:-len(".in_sum2")] for n in t if n.endswith(".in_sum2"))
assert [x.name for x in r.tensors] == [n + s for n in names for s in (".in_sum2", ".counts")]
entries, keep = [], []
for n in names:
    s, c = t[n + ".in_sum2"], t[n + ".counts"]
    assert s.tensor_type.name == "F32" and c.tensor_type.name == "F32" and c.data.size == 1 and c.data.flat[0] == 4096
    v = (s.data.flatten() / c.data.flat[0]).astype(np.float32)
    assert np.isfinite(v).all() and (v >= 0).all() and v.max() > 0
    keep.append(v)
    entries.append(lc.llama_model_imatrix_data(n.encode(), v.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), v.size))
linear = [x for x in GGUFReader("m.gguf").tensors if x.name.startswith("blk.") and len(x.shape) == 2]
assert sorted(x.name for x in linear) == names, "not every matrix of the layers is covered"
for x in linear:
    assert t[x.name + ".in_sum2"].shape[0] == x.shape[0], x.name

cb = lc.llama_log_callback(lambda level, text, data: None)
lc.llama_log_set(cb, ctypes.c_void_p(0))
lc.llama_backend_init()

def quantize(out, imatrix):
    q = lc.llama_model_quantize_default_params()
    q.ftype, q.nthread = 19, 1  # IQ2_XXS
    if imatrix:
        q.imatrix = (lc.llama_model_imatrix_data * (len(imatrix) + 1))(*imatrix)
    return lc.llama_model_quantize(b"m.gguf", out, q)

assert quantize(b"without.gguf", None) != 0, "this type should need an importance matrix"
assert quantize(b"with.gguf", entries) == 0, "the quantizer refused the file"
types = {x.tensor_type.name for x in GGUFReader("with.gguf").tensors}
assert "IQ2_XXS" in types, types
EOF
finish
