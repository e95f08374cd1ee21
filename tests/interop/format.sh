# SPDX-License-Identifier: Apache-2.0
# Containers against the foreign libraries: Python gguf reads what we write and the other way round, the table of tensor types is
# theirs, and the safetensors library accepts and refuses the same hostile files, apart from where we are stricter.
. "$(dirname "$0")/../support/env.sh"
need_oracle gguf safetensors numpy
tool=$bld/tests/interop/format_tool

# Types: every one they know, same sizes. (Their Q8_1 row is that of an old struct; the type never stands in a file.)
"$tool" blocks >"$tmp/blocks" || fail "blocks"
"$oracle" - "$tmp/blocks" <<'EOF' || fail "block table differs from gguf's"
import sys
from gguf.constants import GGML_QUANT_SIZES
ours = {int(i): (n, int(w), int(b)) for i, n, w, b in (l.split() for l in open(sys.argv[1]))}
compared = 0
for t, (w, b) in GGML_QUANT_SIZES.items():
    if t.name == "Q8_1":
        continue
    assert ours.get(int(t)) == (t.name, w, b), (int(t), t.name, w, b, ours.get(int(t)))
    compared += 1
assert compared >= 30, compared
EOF

# Ours, read by theirs.
"$tool" write "$tmp/ours.gguf" || fail "write"
"$oracle" - "$tmp/ours.gguf" <<'EOF' || fail "gguf reads our file differently"
import sys
from gguf import GGUFReader
r = GGUFReader(sys.argv[1])
kv = {k: f.contents() for k, f in r.fields.items()}
want = {"general.alignment": 64, "general.architecture": "llama", "t.u32": 2**32 - 1, "t.u64": 2**64 - 1,
        "t.i32": -2147483647, "t.f64": 0.1, "t.bool": True, "t.words": ["one", "", "zwölf"], "t.ints": [-1, 2, 3]}
for k, v in want.items():
    assert kv[k] == v, (k, kv[k])
assert abs(kv["t.f32"] - 0.1) < 1e-8 and kv["t.floats"][0] == 0.5
shapes = {"vector": [5], "matrix": [4, 3], "cube": [2, 3, 5], "tq1": [512, 3], "tq2": [256, 2], "q8": [32]}
assert [t.name for t in r.tensors] == list(shapes)
for i, t in enumerate(r.tensors):
    assert t.shape.tolist() == shapes[t.name], (t.name, t.shape)
    assert t.data_offset % 64 == 0
    raw = t.data.tobytes()
    assert raw == bytes((i * 37 + n) % 256 for n in range(len(raw))), t.name
EOF

# Theirs, read by ours.
"$oracle" - "$tmp/theirs.gguf" <<'EOF' || fail "gguf cannot write"
import sys
import numpy as np
from gguf import GGUFWriter
w = GGUFWriter(sys.argv[1], "llama")
w.add_uint8("t.u8", 200); w.add_int8("t.i8", -3); w.add_uint16("t.u16", 65535); w.add_int16("t.i16", -300)
w.add_uint32("t.u32", 7); w.add_int32("t.i32", -7); w.add_uint64("t.u64", 2**63); w.add_int64("t.i64", -2**62)
w.add_float32("t.f32", 0.25); w.add_float64("t.f64", 1e300); w.add_bool("t.bool", False)
w.add_string("t.str", "grüße"); w.add_array("t.words", ["a", "bc"]); w.add_array("t.ints", [1, -2])
w.add_tensor("a", np.arange(6, dtype=np.float32).reshape(2, 3))
w.add_tensor("b", np.zeros((4, 1, 2), dtype=np.float16))
w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()
EOF
"$tool" dump "$tmp/theirs.gguf" >"$tmp/dump" || fail "dump"
while read -r line; do
    grep -qxF -- "$line" "$tmp/dump" || fail "dump lacks '$line'"
done <<'EOF'
general.architecture string "llama"
t.u8 u8 200
t.i8 i8 -3
t.u16 u16 65535
t.i16 i16 -300
t.u32 u32 7
t.i32 i32 -7
t.u64 u64 9223372036854775808
t.i64 i64 -4611686018427387904
t.f32 f32 0.25
t.f64 f64 1.0000000000000001e+300
t.bool bool 0
t.str string "grüße"
t.words string "a" "bc"
t.ints i32 1 -2
EOF
grep -q '^a F32 3 2 1 1 at [0-9]* bytes 24$' "$tmp/dump" || fail "tensor a: $(grep '^a ' "$tmp/dump")"
grep -q '^b F16 2 1 4 1 at [0-9]* bytes 16$' "$tmp/dump" || fail "tensor b: $(grep '^b ' "$tmp/dump")"

# safetensors: same verdict on every hostile file, but these, where the format's text asks for more than the library checks.
stricter=" st_pad_leading.safetensors st_name_nul.safetensors "
compared=0
for file in "$src"/data/hostile/st_*.safetensors; do
    name=$(basename "$file")
    "$oracle" -c 'import sys
from safetensors import safe_open
with safe_open(sys.argv[1], "np") as f: f.keys()' "$file" 2>/dev/null; theirs=$?
    "$tool" st "$file" 2>/dev/null; ours=$?
    compared=$((compared + 1))
    case $stricter in
    *" $name "*) [ "$theirs$ours" = 01 ] || fail "$name: expected only us to refuse it (theirs $theirs, ours $ours)" ;;
    *) [ "$theirs" = "$ours" ] || fail "$name: library $theirs, ours $ours" ;;
    esac
done
[ "$compared" -ge 30 ] || fail "only $compared hostile files compared"

# A file of theirs with every dtype NumPy can give.
"$oracle" - "$tmp/all.safetensors" <<'EOF' || fail "safetensors cannot write"
import sys
import numpy as np
from safetensors.numpy import save_file
save_file({f"t.{d}": np.zeros((3, 2), dtype=d) for d in ("bool", "u1", "i1", "i2", "u2", "f2", "i4", "u4", "f4", "f8", "i8", "u8")},
          sys.argv[1], metadata={"format": "np"})
EOF
"$tool" st "$tmp/all.safetensors" || fail "a file of the safetensors library is refused"
finish
