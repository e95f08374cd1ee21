#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -c MANIFEST against sha256sum itself, side by side: same lines on stdout, same exit status.
. "$(dirname "$0")/../support/env.sh"
command -v sha256sum >/dev/null || skip "no sha256sum"
cd "$tmp" || exit 1

mkdir sub
printf 'one\n' >a.bin
head -c 3000000 /dev/zero | tr '\0' 'z' >"b with space.bin"
printf 'three' >$'new\nline'
printf 'four' >'back\slash'
printf 'five' >'модель ü.gguf'
: >sub/empty
sha256sum a.bin "b with space.bin" $'new\nline' 'back\slash' 'модель ü.gguf' sub/empty >good
sha256sum -b a.bin sub/empty >binary
sed 's/$/\r/' good >crlf
sed '1s/^./f/;1s/^f/0/;1!b' good >flip0
awk 'NR==2{c=substr($0,1,1); $0=(c=="0"?"1":"0") substr($0,2)} {print}' good >bad
{ cat good; echo "$(printf 'x' | sha256sum | cut -c1-64)  not/there"; } >missing
{ echo "garbage"; echo "# a comment"; cat good; echo "0123  short"; } >malformed
echo "only garbage" >garbage
: >empty
sed 's/not/nicht/' missing | tail -n 1 >all_missing
awk '{print toupper(substr($0,1,64)) substr($0,65)}' binary >upper
mkdir folder; echo "$(printf 'x' | sha256sum | cut -c1-64)  folder" >is_folder

# one LIST OPTION...: both programs, same verdict.
one() {
    local list=$1 want got
    shift
    sha256sum -c "$@" "$list" >want.out 2>want.err; want=$?
    "$verify" -c "$list" "$@" >got.out 2>got.err; got=$?
    [ "$want" = "$got" ] || fail "$list $*: exit $got, sha256sum says $want"
    cmp -s want.out got.out || { fail "$list $*: stdout differs"; diff want.out got.out | head -n 5; }
    # Counted warnings are worded alike.
    grep -o 'WARNING.*\|no file was verified' want.err >want.warn
    grep -o 'WARNING.*\|no file was verified' got.err >got.warn
    cmp -s want.warn got.warn || { fail "$list $*: warnings differ"; diff want.warn got.warn | head -n 5; }
    if [ -s want.err ] && ! [ -s got.err ]; then fail "$list $*: nothing on stderr"; fi
}

for list in good binary crlf bad missing malformed garbage empty all_missing upper is_folder absent; do
    one "$list"
    one "$list" --ignore-missing
    one "$list" --strict
    one "$list" --quiet
    one "$list" --status
    one "$list" --status --ignore-missing
    one "$list" --strict --ignore-missing --quiet
done

# Any number of threads: same bytes.
"$verify" -c missing -j1 >j1 2>/dev/null; "$verify" -c missing -j4 >j4 2>/dev/null
cmp -s j1 j4 || fail "the output depends on the number of threads"

# A flipped byte in the middle of a good file of the right size (S19).
printf 'Z' | dd of="b with space.bin" bs=1 seek=1500000 conv=notrunc 2>/dev/null
expect 1 'b with space.bin: FAILED' "$verify" -c good
# --json counts the same.
"$verify" -c good --json >json.out && fail "--json: exit 0 for a bad file"
grep -q '"ok":5,"failed":1,"unreadable":0,"missing":0,"malformed":0,"result":"failed"' json.out || fail "--json: $(cat json.out)"

# A folder with its own SHA256SUMS: one missing, one extra, one bad, told apart (S20).
cp -r "$src/data/hostile/dir_ok" hf && chmod -R u+w hf
(cd hf && sha256sum config.json model.safetensors tokenizer.json >SHA256SUMS)
expect 0 'hf: OK .*SHA256SUMS: 3 files agree' "$verify" hf
printf 'more\n' >hf/extra.txt
expect 0 'hf: WARNED \(extra.txt: extra' "$verify" hf
expect 1 'hf: FAILED \(extra.txt: extra' "$verify" hf --strict
printf ' ' >>hf/config.json
expect 1 'hf: FAILED \(config.json: SHA-256 differs from SHA256SUMS: expected [0-9a-f]{64}, found [0-9a-f]{64}' "$verify" hf
printf '%064d  gone.bin\n' 0 >>hf/SHA256SUMS
expect 1 'gone.bin: missing' "$verify" hf
"$verify" hf >all.out
[ "$(wc -l <all.out)" = 3 ] || fail "expected one line for each of three problems: $(cat all.out)"
printf '%064d  ../a.bin\n' 0 >hf/SHA256SUMS
expect 1 'SHA256SUMS: line 1 names a path outside the folder' "$verify" hf
finish
