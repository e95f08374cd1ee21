#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tern-calib against llama-imatrix on SmolLM2-135M: relative L2 error of the mean square per tensor at most 1 %.
#
# The reference was saved by llama-imatrix on its way, not at the end, as its own keys and counts tell (chunk_count 30;
# counts of 29 * 512 tokens, of 30 * 512 for the one weight that came first). It evaluates four chunks of 512 side by
# side, 128 tokens of each at a time, so what it had seen is 28 whole chunks and the first 128 tokens of the next four;
# for blk.0.attn_q the first 256 of them, and its mean hardly differs. The same tokens are evaluated here.
. "$(dirname "$0")/../support/env.sh"
need_oracle gguf numpy
need_checkpoint smollm2-135m
need_shared data/corpus/wiki.valid.txt data/reference/smollm2-135m.imatrix.gguf
cd "$tmp" || exit 1
ok "$convert" "$checkpoint" -o m.gguf -q
ok "$bld/tests/calib/calib_chunks" m.gguf "$shared/data/corpus/wiki.valid.txt" 512 28 28 32 128 ours.gguf
"$oracle" - "$shared/data/reference/smollm2-135m.imatrix.gguf" <<'EOF' >out 2>&1 || fail "$(tail -n 3 out)"
import sys
import numpy as np
from gguf import GGUFReader
ours, theirs = ({t.name: t.data.flatten().astype(np.float64) for t in GGUFReader(p).tensors} for p in ("ours.gguf", sys.argv[1]))
assert list(ours) == list(theirs), set(ours) ^ set(theirs)
worst = (0, None)
for name in theirs:
    if not name.endswith(".in_sum2"):
        continue
    counts = name[:-len("in_sum2")] + "counts"
    if name != "blk.0.attn_q.weight.in_sum2":
        assert ours[counts] == theirs[counts] == 29 * 512, (name, ours[counts], theirs[counts])
    a, b = ours[name] / ours[counts], theirs[name] / theirs[counts]
    error = np.linalg.norm(a - b) / np.linalg.norm(b)
    assert error <= 0.01, (name, error)
    worst = max(worst, (error, name))
print(f"worst relative error {worst[0]:.2e} ({worst[1]})")
EOF
cat out
finish
