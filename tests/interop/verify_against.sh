#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The figures of --against, worked out again by numpy from what the gguf package reads; digests by hashlib; and a file damaged by
# hand is found.
. "$(dirname "$0")/../support/env.sh"
need_oracle numpy gguf
cd "$tmp" || exit 1
"$convert" "$src/data/garden-3m" -o m.gguf -q && "$pack" m.gguf -o t.gguf --type TQ2_0 --on-ragged q8_0 -q || fail "no packed file"
head -c 20000 "$src/data/garden-corpus/valid.txt" >text
"$calib" m.gguf -f text -o s.gguf --ctx 64 -q || fail "no statistics"
"$verify" t.gguf --against m.gguf --stats s.gguf --json >got.json || fail "--against: exit $?"
"$oracle" - <<'PY' || fail "figures differ"
import hashlib, json, sys
import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize
def read(path):
    return {t.name: t for t in GGUFReader(path).tensors}
ref, new, stats = read("m.gguf"), read("t.gguf"), read("s.gguf")
file = json.load(open("got.json"))["files"][0]
bad = n = weighted = 0
def check(what, got, want, tol=1e-12):
    global bad
    if not abs(got - want) <= tol * max(1, abs(want)):
        print("differs:", what, got, want); bad += 1
for row in file["compare"]["tensors"]:
    name = row["name"]
    w = dequantize(ref[name].data, ref[name].tensor_type).astype(np.float64)
    v = dequantize(new[name].data, new[name].tensor_type).astype(np.float64)
    d = w - v
    check(name + " relative", row["relative_error"], np.sqrt((d * d).sum() / (w * w).sum()))
    check(name + " cosine", row["cosine"], (w * v).sum() / np.sqrt((w * w).sum() * (v * v).sum()))
    check(name + " max", row["max_abs"], np.abs(d).max())
    check(name + " zeros", row["zeros"], (v == 0).mean())
    check(name + " bits", row["bits_per_weight"], 8 * new[name].n_bytes / v.size)
    if "weighted_error" in row:
        weighted += 1
        h = stats[name + ".in_sum2"].data.reshape(-1).astype(np.float64) / float(stats[name + ".counts"].data.reshape(-1)[0])
        check(name + " weighted", row["weighted_error"], np.sqrt((h * d * d).sum() / (h * w * w).sum()))
    n += 1
for row in file["tensors"]:
    if hashlib.sha256(new[row["name"]].data.tobytes()).hexdigest() != row["sha256"]:
        print("sha256 differs:", row["name"]); bad += 1
print(n, "tensors,", weighted, "weighted,", bad, "differences")
sys.exit(bad > 0 or n != 46 or weighted < 20)
PY

# One byte of one tensor, changed by another program.
"$oracle" - <<'PY'
from gguf import GGUFReader
t = [t for t in GGUFReader("t.gguf").tensors if t.name == "blk.2.ffn_down.weight"][0]
with open("t.gguf", "r+b") as f:
    f.seek(t.data_offset + 100); b = f.read(1); f.seek(-1, 1); f.write(bytes([b[0] ^ 1]))
PY
expect 1 't.gguf: FAILED \(blk.2.ffn_down.weight: SHA-256 differs: expected [0-9a-f]{64}, found [0-9a-f]{64}' "$verify" t.gguf
expect 1 't.gguf: FAILED' "$verify" -c t.gguf.sha256
finish
