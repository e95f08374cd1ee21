#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A run that fails or is killed between steps goes on with --resume and gives the bytes of a run in one go.
. "$(dirname "$0")/../support/env.sh"
cd "$tmp" || exit 1
cp -r "$src/data/garden-3m" m && chmod -R u+w m

"$ternpack" m -o whole.gguf -q >table || fail "a run in one go failed"
[ -f whole.gguf ] && [ ! -e whole.gguf.work ] || fail "no result, or the work folder was left"
sha256sum -c --quiet whole.gguf.sha256 || fail "whole.gguf.sha256 does not fit"
for word in 'full precision' 'bits per weight' 'relative error' seconds sha256 'opens in'; do
    grep -q "$word" table || fail "the table lacks '$word'"
done

# Tools of which one can be made to fail.
bin=$tmp/bin; mkdir "$bin"
for tool in convert pack verify; do ln -s "$bld/$tool/tern-$tool" "$bin/tern-$tool"; done
export TERNPACK_BINDIR=$bin
break_tool() { rm -f "$bin/tern-$1"; printf '#!/bin/sh\n%s\n' "$2" >"$bin/tern-$1"; chmod +x "$bin/tern-$1"; }
mend_tool() { rm -f "$bin/tern-$1"; ln -s "$bld/$1/tern-$1" "$bin/tern-$1"; }
reused() { sed 's/.*"steps":\[\(.*\)\],"inputs".*/\1/; s/},{/\n/g' summary | grep '"reused":true' | sed 's/.*"name":"\([a-z]*\)".*/\1/' | tr '\n' ' '; }

printf 'the old one' >a.gguf
break_tool pack 'echo "tern-pack: it broke" >&2; exit 1'
out=$("$ternpack" m -o a.gguf --force -q 2>&1); status=$?
[ "$status" = 1 ] || fail "a failing step: exit $status"
[ "$out" = "ternpack: pack: it broke" ] || fail "a failing step says: $out"
[ "$(cat a.gguf)" = "the old one" ] || fail "the old output did not survive"
[ -f a.gguf.work/source.gguf ] || fail "what was finished was not kept"
out=$("$ternpack" m -o a.gguf --force 2>&1)
[[ $out == *"a.gguf.work: what is done is kept here; --resume goes on with it"* ]] || fail "--resume is not named: $out"
mend_tool pack
"$ternpack" m -o a.gguf --force --resume --json >summary 2>err || fail "--resume failed: $(cat err)"
[ "$(reused)" = "convert " ] || fail "used again: '$(reused)', expected convert alone"
cmp a.gguf whole.gguf || fail "the resumed result differs"
[ ! -e a.gguf.work ] || fail "the work folder was left"

# Killed while packing: nothing under the final name, and resuming gives the same bytes.
rm -f a.gguf*
break_tool pack 'kill -9 $PPID; sleep 1'
"$ternpack" m -o a.gguf -q 2>err; status=$?
[ "$status" = 137 ] || fail "killed: exit $status"
[ ! -e a.gguf ] || fail "a result of a killed run"
mend_tool pack
"$ternpack" m -o a.gguf -q 2>err; status=$?
[ "$status" = 2 ] && grep -q -- '--resume' err || fail "the rest of an earlier run: exit $status, $(cat err)"
"$ternpack" m -o a.gguf --resume --json >summary 2>err || fail "--resume after a kill: $(cat err)"
[ "$(reused)" = "convert " ] || fail "after a kill, used again: '$(reused)'"
cmp a.gguf whole.gguf || fail "the result after a kill differs"

# --keep leaves everything; what changed decides how much is done again.
rm -f a.gguf*
"$ternpack" m -o a.gguf -q --keep >/dev/null || fail "--keep"
[ -f a.gguf.work/source.gguf ] || fail "--keep did not keep"
again() { # again EXPECTED-REUSED MODEL OPTION...
    local want=$1
    shift
    rm -f a.gguf a.gguf.sha256
    "$ternpack" "$@" -o a.gguf --resume --keep --json >summary 2>err || fail "$*: $(cat err)"
    [ "$(reused)" = "$want" ] || fail "$*: used again '$(reused)', expected '$want'"
}
again "convert verify " m # the packed file was moved away
cmp a.gguf whole.gguf || fail "packing again differs"
again "convert " m --type PQ2_0
again "convert " m --type PQ2_0 --sparsity-ratio 0.5
again "" m --type PQ2_0 --dtype f32
again "" m --dtype f16
printf x >>a.gguf.work/source.gguf # not what was noted; made again it is what tern-verify had seen
again "verify " m --dtype f16
mv m other
again "" other --dtype f16 # the folder's name is in the file
mv other m
sed -i 's/rms_norm_eps": 1e-06/rms_norm_eps": 1e-05/' m/config.json
grep -q '1e-05' m/config.json || fail "the test changed nothing in config.json"
again "" m --dtype f16
: >a.gguf.work/mine
"$ternpack" m -o a.gguf --resume --force -q >/dev/null 2>err || fail "last run: $(cat err)"
[ -e a.gguf.work/mine ] && [ ! -e a.gguf.work/source.gguf ] || fail "a foreign file in the work folder must stay, ours must go"
rm -r a.gguf.work

# A state file that is no JSON is an error, not a crash; --force alone starts again.
mkdir a.gguf.work; echo '{"ternpack_state":1,' >a.gguf.work/state.json
"$ternpack" m -o a.gguf --resume --force -q 2>err; status=$?
[ "$status" = 1 ] && grep -q 'cannot resume.*state.json' err || fail "broken state: exit $status, $(cat err)"
"$ternpack" m -o a.gguf --force -q >/dev/null 2>err || fail "--force over a broken state: $(cat err)"
[ ! -e a.gguf.work ] || fail "--force left the work folder"

# A result by a symbolic link replaces what it points to.
mkdir there; printf old >there/b.gguf; ln -s there/b.gguf b.gguf
rm -rf m && cp -r "$src/data/garden-3m" m
"$ternpack" m -o b.gguf --force -q >/dev/null || fail "through a link"
[ -L b.gguf ] && cmp -s there/b.gguf whole.gguf || fail "the link's target was not replaced"
finish
