#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tern-calib on the demo model: the same bytes for any number of threads, for plain and packed text, a dry run that
# touches nothing, and what is refused.
. "$(dirname "$0")/../support/env.sh"
corpus=$src/data/garden-corpus/valid.txt
cd "$tmp" || exit 1
"$convert" "$src/data/garden-3m" -o m.gguf -q || { fail "tern-convert failed"; finish; }
head -c 60000 "$corpus" >text.txt
gzip -nc text.txt >text.txt.gz
{ printf '\357\273\277'; cat text.txt; } >bom.txt

expect 0 'dry.gguf .dry run' "$calib" m.gguf -f text.txt --ctx 64 --samples 2 -o dry.gguf --dry-run
[ ! -e dry.gguf ] && [ ! -e dry.gguf.partial ] || fail "the dry run wrote something"

"$calib" m.gguf -f text.txt --ctx 128 --samples 6 -o one.gguf -j1 -q || fail "one thread"
"$calib" m.gguf -f text.txt --ctx 128 --calibration-samples 6 -o two.gguf -j2 -q || fail "two threads"
cmp one.gguf two.gguf || fail "the bytes depend on the number of threads"
for packed in text.txt.gz bom.txt; do
    "$calib" m.gguf -f $packed --ctx 128 --samples 6 -o other.gguf -q --force || fail "$packed"
    # the name of the text differs in length, so compare the sums: the last 8 KiB hold nothing else
    cmp <(tail -c 8192 one.gguf) <(tail -c 8192 other.gguf) || fail "$packed gives other sums"
done
expect 0 '"chunks": 6, "n_ctx": 128, "tokens": 768, "bos": (true|false), "weights": [0-9]+,.*"covered": [0-9]+' \
    "$calib" m.gguf -f text.txt --ctx 128 --samples 6 -o two.gguf --json --force
sum=$(sha256sum <text.txt | cut -d' ' -f1)
expect 0 "\"corpus_sha256\": \"$sum\"" \
    "$calib" m.gguf -f text.txt.gz --ctx 128 --samples 1 -o two.gguf --json -q --force
expect 0 'no more than that: 100000 chunks' \
    "$calib" m.gguf -f text.txt --ctx 256 --samples 100000 -o two.gguf --force --dry-run
expect 0 '.dry run, nothing written.' "$calib" m.gguf -f text.txt -f bom.txt --ctx 64 -o d.gguf --dry-run

# A long text is cut before tokenizing when only its beginning is needed: same sums as when all of it is looked at.
for i in 1 2 3 4 5 6 7 8; do cat "$src/data/garden-corpus/train.txt"; done >long.txt
"$calib" m.gguf -f long.txt --ctx 128 --samples 6 -o long.gguf -q || fail "long text"
head -c 200000 long.txt >head.txt
"$calib" m.gguf -f head.txt --ctx 128 --samples 6 -o head.gguf -q || fail "its head"
cmp <(tail -c 8192 long.gguf) <(tail -c 8192 head.gguf) || fail "cutting a long text changes its tokens"

# Refused, and nothing is left behind.
refuse() {
    expect "$@"
    [ ! -e bad.gguf ] && [ ! -e bad.gguf.partial ] || { fail "left bad.gguf after: ${*:3}"; rm -f bad.gguf*; }
}
printf 'too short' >short.txt
printf 'latin \351\n' >latin.txt
head -c 2000 text.txt.gz >cut.txt.gz
refuse 1 'short.txt: [0-9]+ tokens are too few for one chunk of 512' "$calib" m.gguf -f short.txt -o bad.gguf
refuse 1 'latin.txt: not UTF-8 at byte 6' "$calib" m.gguf -f latin.txt -o bad.gguf
refuse 1 'cut.txt.gz: truncated gzip' "$calib" m.gguf -f cut.txt.gz -o bad.gguf
refuse 1 'm.gguf: not UTF-8.*GGUF' "$calib" m.gguf -f m.gguf -o bad.gguf
refuse 1 'text.txt: no GGUF header' "$calib" text.txt -f text.txt -o bad.gguf
refuse 1 'text.txt: line [0-9]+: JSON' "$calib" m.gguf -f text.txt --jsonl-field text -o bad.gguf
refuse 2 'ctx 100000' "$calib" m.gguf -f text.txt --ctx 100000 -o bad.gguf
refuse 2 'needed' "$calib" m.gguf -o bad.gguf
refuse 2 'no output' "$calib" m.gguf -f text.txt
refuse 2 'same option' "$calib" m.gguf -f text.txt --samples 1 --calibration-samples 1 -o bad.gguf
expect 2 'one.gguf' "$calib" m.gguf -f text.txt -o one.gguf --samples 1
expect 2 'm.gguf' "$calib" m.gguf -f text.txt -o m.gguf --force
expect 2 'text.txt' "$calib" m.gguf -f text.txt -o text.txt --force

# Interrupted: exit 130, no output.
"$calib" m.gguf -f long.txt --ctx 256 -o bad.gguf -q & pid=$!
sleep 1
kill -INT $pid
wait $pid; status=$?
[ "$status" = 130 ] || fail "interrupted: exit $status"
[ ! -e bad.gguf ] && [ ! -e bad.gguf.partial ] || fail "interrupted: left a file"
finish
