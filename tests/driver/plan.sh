#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ternpack --dry-run and everything that is refused before the first step: nothing is touched.
. "$(dirname "$0")/../support/env.sh"
cd "$tmp" || exit 1
cp -r "$src/data/garden-3m" m && chmod -R u+w m
head -c 20000 "$src/data/garden-corpus/valid.txt" >text.txt
snapshot() { find . -type f ! -name '*.log' -exec sha256sum {} + | sort -k2; }
snapshot >before.log
unchanged() { snapshot | cmp -s - before.log || fail "$1: files were touched"; }
bin=$tmp/bin; mkdir "$bin"
for tool in convert calib pack verify; do ln -s "$bld/$tool/tern-$tool" "$bin/tern-$tool"; done
ln -s "$bld/runtime/tern-run" "$bin/tern-run"

"$ternpack" m -o out.gguf --dry-run >plan.log 2>err.log || fail "dry run: $(cat err.log)"
[ "$(grep -c '^[0-9]\. ' plan.log)" = 3 ] || fail "a plan without texts has $(grep -c '^[0-9]\. ' plan.log) steps, not 3"
grep -q 'opens in llama.cpp' plan.log || fail "the plan does not say who opens the type"
grep -q 'are free there' plan.log || fail "the plan does not say what is free"
[ ! -s err.log ] || fail "dry run talks: $(cat err.log)"
unchanged "dry run"

"$ternpack" m -o out.gguf -f text.txt --eval text.txt --dry-run -c 64 --samples 7 --chunks 2 -j3 >plan.log || fail "dry run with texts"
[ "$(grep -c '^[0-9]\. ' plan.log)" = 5 ] || fail "a plan with texts has not 5 steps"
grep -q 'tern-calib .*-j3 .*--samples 7 --ctx 64' plan.log || fail "calib's options: $(grep calib plan.log)"
grep -q 'tern-pack .*--stats .*--method weighted' plan.log || fail "pack's options: $(grep tern-pack plan.log)"
grep -q 'tern-run .*--ref .*--ctx 64 --chunks 2 -- kl' plan.log || fail "eval's options: $(grep tern-run plan.log)"
unchanged "dry run with texts"

# The other spellings.
"$ternpack" --model-path m --output-path out.gguf --dtype float16 --group-size 128 --sparsity-ratio 0.5 \
    --calibration-dataset text.txt --calibration-samples 7 --dry-run >plan.log || fail "the other spellings"
grep -q -- '--dtype f16' plan.log || fail "--dtype float16 is not f16"
grep -q -- '--type PQ2_0 .*--group-size 128 --sparsity-ratio 0.5' plan.log || fail "group 128 is not PQ2_0: $(grep tern-pack plan.log)"
for pair in 64:Q2_0 256:TQ2_0; do
    grep -q -- "--type ${pair#*:} " <<< "$("$ternpack" m -o out.gguf --group-size "${pair%:*}" --dry-run)" || fail "group ${pair%:*}"
done

# What is printed can be pasted into a shell, whatever the names.
odd="it's a \"model\" \$(x) ü"
cp -r m "$odd"
"$ternpack" "$odd" -o "$odd/out file.gguf" --dry-run >plan.log || fail "odd names: dry run"
eval "words=($(grep '^1\. ' plan.log | cut -c4-))"
[ "${words[-1]}" = "$odd" ] || fail "the printed command does not read back: ${words[-1]}"
rm -r "$odd"
unchanged "odd names"

# Refusals: status, pattern, arguments.
refuse() {
    local status=$1 pattern=$2 out got
    shift 2
    out=$("$ternpack" "$@" 2>&1 >/dev/null); got=$?
    [ "$got" = "$status" ] || fail "$*: exit $got, expected $status: $out"
    [ "$(printf '%s\n' "$out" | wc -l)" -le 2 ] || fail "$*: more than a line: $out"
    grep -Eq -- "$pattern" <<< "$out" || fail "$*: no /$pattern/ in: $out"
    unchanged "$*"
}
printf old >old.gguf; snapshot >before.log
refuse 2 'MODEL_DIR' -o out.gguf
refuse 2 '-o OUT.gguf' m
refuse 2 'given twice' m --model-path m -o out.gguf
refuse 2 'there are types for 64' m -o out.gguf --group-size 100
refuse 2 'TQ1_0 has 256' m -o out.gguf --type TQ1_0 --group-size 64
refuse 2 'needs a calibration text' m -o out.gguf --samples 3
refuse 2 'needs a calibration text' m -o out.gguf --method weighted
refuse 2 'does not use a calibration text' m -o out.gguf --method optimal -f text.txt
refuse 2 'needs an evaluation text' m -o out.gguf --chunks 3
refuse 2 'exclude each other' m -o out.gguf --sparsity-ratio 0.5 --zeros-per-group 3
refuse 1 'nowhere: .*No such file' nowhere -o out.gguf
refuse 2 'text.txt: .*Not a directory' text.txt -o out.gguf
refuse 1 'none.txt' m -o out.gguf -f none.txt
refuse 1 'none.txt' m -o out.gguf --eval none.txt
refuse 2 'old.gguf: exists already' m -o old.gguf
refuse 2 'nowhere' m -o nowhere/out.gguf
refuse 2 'm: is a folder' m -o m --force
refuse 2 'same file as the input' m -o m/config.json --force
refuse 2 'same file as the input' m -o text.txt -f text.txt --force
ln m/model.safetensors hard.gguf; ln -s m/model.safetensors soft.gguf; snapshot >before.log
refuse 2 'same file as the input' m -o hard.gguf --force
refuse 2 'same file as the input' m -o soft.gguf --force
rm hard.gguf soft.gguf
mkdir empty; snapshot >before.log
refuse 1 'empty: holds no checkpoint' empty -o out.gguf
mkdir out.gguf.work
refuse 2 'an earlier run left it' m -o out.gguf
[ -d out.gguf.work ] || fail "a foreign work folder was removed"
rmdir out.gguf.work

# Rows of 64 in a type of 256: known before the conversion, and what --on-ragged is for.
tiny=$src/tests/data/arch/qwen3
cp -r "$tiny" tiny && chmod -R u+w tiny; snapshot >before.log
refuse 1 'matrices have rows that are no whole number of TQ2_0 blocks of 256, blk.0.attn_q.weight' tiny -o out.gguf --type TQ2_0
"$ternpack" tiny -o out.gguf --type TQ2_0 --on-ragged f16 --dry-run >/dev/null 2>err.log || fail "--on-ragged f16: $(cat err.log)"

# A missing program is said before anything happens.
rm "$bin/tern-verify"
TERNPACK_BINDIR=$bin refuse 2 "program tern-verify is not there: TERNPACK_BINDIR" m -o out.gguf
finish
