#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tern-convert as users meet it: outputs that must not be touched, plans, JSON, values that do not fit, odd paths.
. "$(dirname "$0")/../support/env.sh"
ok=$src/data/hostile/dir_ok
cd "$tmp" || exit 1

# Usage.
expect 2 'no output' "$convert" "$ok"
expect 2 'hint|--help' "$convert"
expect 2 'frobnicate' "$convert" "$ok" -o a.gguf --frobnicate
expect 2 'dtype' "$convert" "$ok" -o a.gguf --dtype f8
expect 2 'KEY=VALUE' "$convert" "$ok" -o a.gguf --metadata author
expect 2 'the conversion decides' "$convert" "$ok" -o a.gguf --metadata llama.block_count=1
expect 2 'allow-extra' "$convert" "$ok" -o a.gguf --allow-extra '('
expect 1 'no such folder' "$convert" "$tmp/nothing" -o a.gguf
expect 2 'No such file or directory' "$convert" "$ok" -o "$tmp/no/folder/a.gguf"
expect 0 'Usage: tern-convert' "$convert" --help
[ -z "$(ls)" ] || fail "misuse left files: $(ls)"

# A plan touches nothing and needs no output.
"$convert" "$ok" --dry-run >plan 2>talk || fail "dry run: $(cat talk)"
grep -q '^  used     hidden_size' plan || fail "the plan does not list config members"
grep -q '^  ignored  torch_dtype: ' plan || fail "the plan does not say why a member is ignored"
grep -q 'blk.0.attn_q.weight .*F16 .*8x8 .*<- model.layers.0.self_attn.q_proj.weight (rows regrouped)' plan ||
    fail "the plan does not list attn_q"
"$convert" "$ok" -o dry.gguf --dry-run --json -q >plan.json || fail "dry run with --json"
grep -q '"written":false' plan.json && grep -q '"plan":\[{"name":"token_embd.weight"' plan.json || fail "plan as JSON: $(cat plan.json)"
[ ! -e dry.gguf ] && [ ! -e dry.gguf.partial ] || fail "a dry run wrote"

# An existing output stays unless --force; a left-over of a killed run is in nobody's way.
echo precious >out.gguf; echo junk >new.gguf.partial
expect 2 'out.gguf' "$convert" "$ok" -o out.gguf
[ "$(cat out.gguf)" = precious ] || fail "an existing output was touched"
"$convert" "$ok" -o out.gguf --force -q || fail "--force"
"$convert" "$ok" -o new.gguf --json >new.json 2>talk || fail "left-over: $(cat talk)"
[ ! -e new.gguf.partial ] || fail "OUT.partial is left"
cmp out.gguf new.gguf || fail "the same conversion gave other bytes"
grep -q '"written":true,"architecture":"llama"' new.json && grep -q '"tensors":11,"parameters":472' new.json || fail "JSON: $(cat new.json)"

# The output is an input, also by hard and symbolic link.
cp -r "$src/data/hostile/dir_ok_sharded" in
sha256sum in/* >before
ln in/model-00002-of-00002.safetensors hard.gguf
ln -s in/config.json soft.gguf
for o in in/model-00001-of-00002.safetensors hard.gguf soft.gguf in/tokenizer.json; do
    expect 2 "$o" "$convert" in -o "$o" --force
done
sha256sum --quiet -c before || fail "an input was changed"

# One shard a byte short is named with both sizes.
cp -r in short; truncate -s -1 short/model-00002-of-00002.safetensors
expect 1 'model-00002-of-00002.safetensors' "$convert" short -o short.gguf
[ ! -e short.gguf ] || fail "a truncated shard gave an output"

# A shard of the index that is not there: refused, unless all it should hold is left out by name.
cp -r in addon
sed -i 's/"weight_map": *{/&"mtp.fc.weight":"mtp.safetensors",/' addon/model.safetensors.index.json
grep -q mtp addon/model.safetensors.index.json || fail "the index was not changed"
expect 1 '1 of 3 files of the index is missing: mtp.safetensors' "$convert" addon -o addon.gguf
expect 1 'mtp.safetensors' "$convert" addon -o addon.gguf --allow-extra '^vision'
expect 0 'left out mtp.fc.weight: matches' "$convert" addon -o addon.gguf --allow-extra '^mtp\.'
rm addon/model-00002-of-00002.safetensors
expect 1 'model-00002-of-00002.safetensors' "$convert" addon -o addon2.gguf --allow-extra '^mtp\.'

# Members nobody knows are a warning; a NaN is a warning with the tensor's name and does not stop the conversion.
cp -r "$ok" odd
sed -i 's/^{/{"flux_capacitor":88,/' odd/config.json
expect 0 'warning: .*flux_capacitor' "$convert" odd -o odd.gguf
cp -r "$ok" nan
printf '\000\176' | dd of=nan/model.safetensors bs=1 seek=$(($(stat -c %s nan/model.safetensors) - 2)) conv=notrunc 2>/dev/null
expect 0 'warning: model\.[a-z0-9_.]*: 1 NaN and 0 Inf' "$convert" nan -o nan.gguf

# BF16 beyond the range of F16: kept as it is, refused as F16, or clamped on request.
cp -r "$src/tests/data/arch/llama_tied" wide; chmod -R u+w wide
data=$(($(od -An -t u8 -N 8 wide/model.safetensors) + 8)) # the embedding's first value
printf '\177\177' | dd of=wide/model.safetensors bs=1 seek=$data conv=notrunc 2>/dev/null
expect 0 'BF16' "$convert" wide -o wide.gguf
expect 1 '1 value in 1 tensor overflow.* F16, first .* with 1' "$convert" wide -o narrow.gguf --dtype f16
[ ! -e narrow.gguf ] && [ ! -e narrow.gguf.partial ] || fail "overflow left an output"
expect 0 'warning: .* overflow F16 clamped' "$convert" wide -o narrow.gguf --dtype f16 --clamp

# Vocabulary alone, without weights; text keys.
cp -r "$src/data/garden-3m" words; rm words/model.safetensors
expect 0 '0 tensors' "$convert" words -o words.gguf --vocab-only
"$convert" "$ok" -o meta.gguf -q --metadata general.author=Somebody --metadata 'my.key=a=b' || fail "--metadata"
grep -aq 'general.author' meta.gguf && grep -aq 'my.key' meta.gguf || fail "--metadata is not in the file"

# Any path, any number of threads.
mkdir -p 'Загрузки/模型 ü'
cp -r "$src/data/garden-3m" 'Загрузки/模型 ü/garden-3m'
expect 0 'Загрузки' "$convert" 'Загрузки/模型 ü/garden-3m/' -j2 -o 'Загрузки/模型 ü/a.gguf'
"$convert" "$src/data/garden-3m" -q -j1 -o b.gguf || fail "garden-3m"
cmp 'Загрузки/模型 ü/a.gguf' b.gguf || fail "bytes depend on the path or the number of threads"
(cd "$src/data/garden-3m" && "$convert" . -q -o "$tmp/c.gguf") || fail "garden-3m as ."
cmp b.gguf c.gguf || fail "the folder named as . gives other bytes"
finish
