#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A good file cut at every length: exit 1 and a line each time, never a signal.
. "$(dirname "$0")/../support/env.sh"
bad=$src/data/hostile
cd "$tmp" || exit 1

# every SOURCE SUFFIX [SIZE]: all prefixes shorter than SIZE as operands of one tern-verify; a crash would end the list early.
every() {
    local size n status
    size=${3:-$(stat -c %s "$1")}
    rm -rf cut; mkdir cut
    for ((n = 0; n < size; n++)); do head -c "$n" "$1" >"cut/$(printf '%06d' "$n").$2"; done
    "$verify" cut/* >out 2>err; status=$?
    [ "$status" = 1 ] || fail "$1: exit $status: $(tail -n 1 out)"
    [ ! -s err ] || fail "$1: stderr: $(head -n 3 err)"
    n=$(grep -c ': FAILED (.*)$' out)
    [ "$n" = "$size" ] || fail "$1: $n of $size prefixes fail: $(grep -v ': FAILED (' out | head -n 3)"
}
every "$bad/gguf_ok.gguf" gguf
grep -q "cut/000010.gguf: FAILED (.*truncated" out || fail "10 bytes: $(grep 000010 out)"
grep -q "cut/001450.gguf: FAILED (x.weight: truncated: .* the file has 1450; expected size at least 1504, 1 of 2 tensors" out ||
    fail "1450 bytes: $(grep 001450 out)"
every "$bad/gguf_ok_tq2_0.gguf" gguf 420 # then 28 bytes of padding
head -c 430 "$bad/gguf_ok_tq2_0.gguf" >padding.gguf
expect 0 'padding.gguf: WARNED .the padding after the last tensor is cut short: expected size 448, found 430' "$verify" padding.gguf
every "$bad/st_ok.safetensors" safetensors

# The other readers, at some lengths: exit 1, one line, no output.
other() {
    local what=$1 status
    shift
    timeout 60 "$@" >out 2>err; status=$?
    [ "$status" = 1 ] || fail "$what: exit $status: $(head -n 2 err)"
    [ "$(cat out err | wc -l)" = 1 ] || fail "$what: $(cat out err | wc -l) lines: $(cat out err | head -n 3)"
    [ ! -e o.gguf ] && [ ! -e o.gguf.partial ] || { fail "$what: left an output"; rm -f o.gguf*; }
}
"$convert" "$src/data/garden-3m" -o whole.gguf -q || fail "no file to cut"
size=$(stat -c %s whole.gguf)
for n in 0 4 23 24 200 5000 $((size / 2)) $((size * 6 / 10)) $((size - 100)); do
    head -c "$n" whole.gguf >cut.gguf
    other "tern-pack at $n" "$pack" cut.gguf -o o.gguf --type PQ2_0
    other "tern-run at $n" "$run" perplexity cut.gguf -f "$src/data/garden-corpus/valid.txt"
    other "tern-calib at $n" "$calib" cut.gguf -f "$src/data/garden-corpus/valid.txt" -o o.gguf
done
cp -r "$bad/dir_ok" hf && chmod -R u+w hf
size=$(stat -c %s hf/model.safetensors)
for ((n = 0; n < size; n += 61)); do
    head -c "$n" "$bad/dir_ok/model.safetensors" >hf/model.safetensors
    other "tern-convert at $n" "$convert" hf -o o.gguf
done
finish
