#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How steps fail and are interrupted, with programs that do as they are told: statuses, words, signals, progress.
. "$(dirname "$0")/../support/env.sh"
cd "$tmp" || exit 1
mkdir bin m
printf '{}' >m/config.json
printf 'words' >text.txt
export TERNPACK_BINDIR=$tmp/bin
tool() { printf '#!/usr/bin/env bash\nout=; for ((i = 1; i < $#; i++)); do [ "${!i}" = -o ] && j=$((i + 1)) && out=${!j}; done\n%s\n' "$2" >"bin/tern-$1"; chmod +x "bin/tern-$1"; }
plan='{"architecture":"llama","bytes":1000,"parameters":100,"dtype":"F16","plan":[]}'
good() {
    tool convert "[ \"\$out\" ] && printf full >\"\$out\"; echo '$plan'"
    tool calib 'printf stats >"$out"; echo "{}"'
    tool pack 'printf packed >"$out"; printf sums >"$out.sha256"; echo "{\"method\":\"weighted\",\"ternary_tensors\":3}"'
    tool verify 'echo "{\"files\":[]}"'
    tool run 'echo "{\"perplexity\":2.5,\"ref_perplexity\":2.25,\"ppl_ratio\":1.1,\"kl_mean\":0.125,\"same_top1\":0.5}"'
}
go() { "$ternpack" m -o o.gguf -f text.txt --eval text.txt "$@" >out 2>err; status=$?; }
says() { # says STATUS LINE
    [ "$status" = "$1" ] || fail "exit $status, expected $1: $(cat err)"
    [ "$(tail -n 1 err)" = "$2" ] || fail "says '$(tail -n 1 err)', expected '$2'"
    [ ! -e o.gguf ] || fail "$2: a result all the same"
    rm -rf o.gguf*
}

good; go -q
[ "$status" = 0 ] && [ "$(cat o.gguf)" = packed ] && [ "$(cat o.gguf.sha256)" = sums ] || fail "the good case: $(cat err)"
grep -q 'perplexity *2.2500.* 2.5000' out || fail "perplexities in the table: $(cat out)"
grep -q 'same top token *50.00 %' out || fail "same top token in the table"
[ ! -s err ] || fail "quiet is not quiet: $(cat err)"
rm -f o.gguf*
go --json
grep -q 'warning: calibration and evaluation use the same text' err || fail "one text for both draws no warning"
grep -q '"perplexity":{"full":2.25,.*"packed":2.5,' out && grep -q '"kl":{"mean":0.125' out || fail "--json: $(cat out)"
rm -f o.gguf*

tool convert 'echo "tern-convert: m/config.json: no such thing" >&2; exit 1'; go; says 1 "ternpack: convert: m/config.json: no such thing"
good; tool calib 'echo "tern-calib: disk full" >&2; exit 2'; go; says 2 "ternpack: calib: disk full"
good; tool pack 'exit 2'; go; says 2 "ternpack: pack: exit status 2 without a word"
good; tool pack 'kill -SEGV $$'; go; says 2 "ternpack: pack: the program was killed by signal 11 (Segmentation fault)"
good; tool pack 'echo "tern-pack: bad option" >&2; echo "Try '"'tern-pack --help'"' for more information." >&2; exit 2'; go; says 2 "ternpack: pack: bad option"
good; tool pack 'printf "tern-pack: a line without an end" >&2; exit 1'; go; says 1 "ternpack: pack: a line without an end"
good; tool pack 'printf x >"$out"; echo "not JSON"'; go
[ "$status" = 1 ] && grep -q 'pack: its result: not valid JSON' err || fail "a result that is no JSON: exit $status, $(cat err)"
rm -rf o.gguf*
good; tool pack 'echo "{}"'; go
[ "$status" = 1 ] && grep -q 'pack: .*packed/o.gguf: cannot open' err || fail "no file made: exit $status, $(cat err)"
rm -rf o.gguf*
good; tool verify 'echo "{\"files\":[{\"problems\":[{\"where\":\"blk.0.attn_q.weight\",\"text\":\"an illegal code\"}]}]}"; exit 1'
go; says 1 "ternpack: verify: blk.0.attn_q.weight: an illegal code"
good; tool pack 'echo "first offender" >&2; echo "tern-pack: 1 offender" >&2; exit 1'; go
grep -q '^pack: first offender$' err || fail "lines before the error are lost: $(cat err)"
says 1 "ternpack: pack: 1 offender"
good; chmod -x bin/tern-run; go
[ "$status" = 2 ] && grep -q 'program tern-run is not there' err || fail "missing program: exit $status, $(cat err)"

# Warnings are passed on, notes with -v only, neither with -q.
good; tool pack 'echo "warning: mind this" >&2; echo "a note" >&2; printf p >"$out"; printf s >"$out.sha256"; echo "{}"'
go; grep -q '^pack: warning: mind this$' err && ! grep -q 'a note' err || fail "warnings: $(cat err)"; rm -f o.gguf*
go -v; grep -q '^pack: a note$' err || fail "notes with -v: $(cat err)"; rm -f o.gguf*
go -q; [ ! -s err ] || fail "-q: $(cat err)"; rm -f o.gguf*

# One progress display for all.
tool pack 'for n in 0 1 3; do echo "{\"phase\":\"write\",\"done\":$n,\"total\":3,\"bytes\":$((n*10)),\"total_bytes\":30,\"seconds\":0.1}" >&2; done
printf p >"$out"; printf s >"$out.sha256"; echo "{}"'
go --progress=json
grep -q '"phase":"pack (3/5): write","done":3,"total":3,"bytes":30,"total_bytes":30' err || fail "progress: $(cat err)"; rm -f o.gguf*
go --progress=plain
grep -q '^pack (3/5): write: 3/3 (100 %), 30 B of 30 B' err || fail "plain progress: $(cat err)"; rm -f o.gguf*

# Interrupted: the running program gets the signal once, cleans up, and we say 130. What was finished stays for --resume.
printf old >o.gguf
good; tool pack 'trap "echo INT >>'"$tmp"'/signals; printf x >'"$tmp"'/cleaned; exit 130" INT; : >"'"$tmp"'/started"; while :; do sleep 0.05; done'
for signal in INT TERM; do
    rm -rf started signals cleaned o.gguf.work
    # job control, so that the driver's group is its own and SIGINT is not ignored
    set -m; "$ternpack" m -o o.gguf -f text.txt --force -q >out 2>err & pid=$!; set +m
    for ((i = 0; i < 200; i++)); do [ -e started ] && break; sleep 0.05; done
    kill -$signal -- -$pid
    wait "$pid"; status=$?
    [ "$status" = 130 ] || fail "SIG$signal: exit $status: $(cat err)"
    [ "$(cat err)" = "ternpack: interrupted" ] || fail "SIG$signal: says $(cat err)"
    [ "$(wc -l <signals)" = 1 ] && [ -e cleaned ] || fail "SIG$signal: the program got $(wc -l <signals) signals"
    [ "$(cat o.gguf)" = old ] && [ -e o.gguf.work/source.gguf ] || fail "SIG$signal: what is left: $(ls -R)"
done
good
"$ternpack" m -o o.gguf -f text.txt --force --resume --json >out 2>err || fail "resume: $(cat err)"
grep -q '"name":"calib","reused":true' out && grep -q '"name":"pack","reused":false' out || fail "resume: $(cat out)"

# Two runs on one output: the second is told.
rm -rf o.gguf*
tool pack ': >"'"$tmp"'/waiting"; while [ ! -e "'"$tmp"'/go" ]; do sleep 0.05; done; printf p >"$out"; printf s >"$out.sha256"; echo "{}"'
"$ternpack" m -o o.gguf -q >out 2>err & pid=$!
for ((i = 0; i < 200; i++)); do [ -e waiting ] && break; sleep 0.05; done
expect 2 'another run is working there' "$ternpack" m -o o.gguf --force -q
expect 2 'another run is working there' "$ternpack" m -o o.gguf --resume -q
: >go; wait "$pid" || fail "the first run: $(cat err)"
[ "$(cat o.gguf)" = p ] || fail "the first run's result"
finish
