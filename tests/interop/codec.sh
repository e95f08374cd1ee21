#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Block codecs, byte for byte, against gguf.quants and ggml; and the choice of kernels.
. "$(dirname "$0")/../support/env.sh"
tool=$bld/tests/interop/codec_tool

# what this machine has: an unknown name is refused with the list
list=$(TERNPACK_KERNELS=nonsense "$tool" dequantize F16 2 2>&1 </dev/null) &&
    fail "an unknown TERNPACK_KERNELS is accepted"
names=$(sed -n 's/.*have: //p' <<<"$list" | tr -d ,)
case " $names " in *" scalar "*) ;; *) fail "no list of kernels in: $list" ;; esac
[ "$failures" = 0 ] || finish

need_oracle numpy gguf
# shellcheck disable=SC2086
"$oracle" "$src/tests/interop/codec.py" "$tool" $names || fail "codecs differ"
finish
