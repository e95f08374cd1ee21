#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong around the tools: output that is an input, no space, no folder, signals at any moment, odd names. The input
# and an old output always survive, and nothing half-written ever carries the final name.
. "$(dirname "$0")/../support/env.sh"
cd "$tmp" || exit 1
corpus=$src/data/garden-corpus/valid.txt

cp -r "$src/data/garden-3m" hf && chmod -R u+w hf
"$convert" hf -o m.gguf -q || fail "tern-convert failed"
head -c 20000 "$corpus" >text.txt
"$calib" m.gguf -f text.txt -o stats.gguf --ctx 64 -q || fail "tern-calib failed"
[ "$failures" = 0 ] || finish
find hf m.gguf stats.gguf text.txt -type f -exec sha256sum {} + >inputs.sha256
unharmed() { sha256sum -c --quiet inputs.sha256 >harm 2>&1 || { fail "$1: an input was changed: $(head -n 1 harm)"; exit 1; }; }

# ---- the output is an input: by name, hard link, symbolic link, and as OUT.partial ----
refused() {
    local what=$1 status
    shift
    "$@" >out 2>err; status=$?
    [ "$status" = 2 ] || fail "$what: exit $status, expected 2: $(head -n 2 err)"
    [ "$(wc -l <err)" -le 2 ] && [ -s err ] || fail "$what: $(wc -l <err) lines on stderr"
    unharmed "$what"
}
mkdir links
for name in m.gguf stats.gguf text.txt hf/model.safetensors hf/config.json hf/tokenizer.json; do
    ln "$name" "links/hard-$(basename "$name")"
    ln -s "../$name" "links/soft-$(basename "$name")"
done
for force in "" --force; do
    for form in m.gguf links/hard-m.gguf links/soft-m.gguf; do
        refused "pack onto its model ($form $force)" "$pack" m.gguf -o "$form" --type Q2_0 $force
        refused "calib onto its model ($form $force)" "$calib" m.gguf -f text.txt -o "$form" --ctx 64 $force
    done
    for form in stats.gguf links/hard-stats.gguf links/soft-stats.gguf; do
        refused "pack onto its statistics ($form $force)" "$pack" m.gguf --stats stats.gguf -o "$form" --type Q2_0 $force
    done
    for form in text.txt links/hard-text.txt links/soft-text.txt; do
        refused "calib onto its text ($form $force)" "$calib" m.gguf -f text.txt -o "$form" --ctx 64 $force
    done
    for name in model.safetensors config.json tokenizer.json; do
        for form in "hf/$name" "links/hard-$name" "links/soft-$name"; do
            refused "convert onto $name ($form $force)" "$convert" hf -o "$form" $force
        done
    done
done
ln m.gguf x.gguf.partial
refused "pack whose partial file is its model" "$pack" m.gguf -o x.gguf --type Q2_0
rm -f x.gguf.partial

# ---- places that cannot be written, and no space ----
# survives WHAT: the old output is what it was, and nothing half-written lies about.
survives() {
    [ "$(cat old.gguf)" = "the old output" ] || fail "$1: the old output was changed"
    [ ! -e old.gguf.partial ] || { fail "$1: left old.gguf.partial"; rm -f old.gguf.partial; }
}
failing() {
    local what=$1 want=$2 pattern=$3 status
    shift 3
    "$@" >out 2>err; status=$?
    [ "$status" = "$want" ] || fail "$what: exit $status, expected $want: $(head -n 2 err)"
    grep -Eq -- "$pattern" err || fail "$what: no /$pattern/ in: $(head -n 2 err)"
    [ "$(wc -l <err)" -le 2 ] || fail "$what: $(wc -l <err) lines on stderr"
    survives "$what"
    unharmed "$what"
}
printf 'the old output' >old.gguf
mkdir afolder
for tool in "$convert hf" "$pack m.gguf --type Q2_0" "$calib m.gguf -f text.txt --ctx 64"; do
    name=$(basename "${tool%% *}")
    failing "$name: output exists" 2 'old.gguf' $tool -o old.gguf
    failing "$name: no such folder" 2 'nowhere' $tool -o nowhere/o.gguf
    failing "$name: a file as folder" 2 'text.txt' $tool -o text.txt/o.gguf
    failing "$name: output is a folder" 2 'afolder' $tool -o afolder --force
    [ -d afolder ] || fail "$name: replaced a folder"
    if [ "$(id -u)" != 0 ]; then
        mkdir -p locked; chmod 500 locked
        failing "$name: unwritable folder" 2 'locked' $tool -o locked/o.gguf
        chmod 700 locked
    fi
    # A limit on file size stands for a full disk: EFBIG instead of ENOSPC, on the same path. 8 blocks of 1 KiB.
    (ulimit -f 8; exec $tool -o old.gguf --force -q) >out 2>err; status=$?
    [ "$status" = 2 ] || fail "$name: full disk: exit $status: $(head -n 2 err)"
    [ "$(wc -l <err)" = 1 ] && grep -q 'old.gguf' err || fail "$name: full disk: $(head -n 2 err)"
    survives "$name: full disk"
    # Standard output that cannot be written is not success.
    $tool -o dry.gguf --dry-run --json >/dev/full 2>err; status=$?
    [ "$status" = 2 ] || fail "$name: --dry-run > /dev/full: exit $status"
    $tool -o dry.gguf --dry-run >out 2>err; status=$?
    [ "$status" = 0 ] || fail "$name: --dry-run: exit $status: $(head -n 2 err)"
    [ ! -e dry.gguf ] && [ ! -e dry.gguf.partial ] || fail "$name: --dry-run wrote something"
done
"$verify" m.gguf >/dev/full 2>err; status=$?
[ "$status" = 2 ] || fail "tern-verify > /dev/full: exit $status"

# ---- signals at random moments ----
seed=${TERNPACK_SEED:-$$}
echo "seed $seed (TERNPACK_SEED repeats it)"
RANDOM=$seed
"$convert" hf -o whole-convert.gguf -q; "$pack" m.gguf --stats stats.gguf --type PQ2_0 -o whole-pack.gguf -q
start=$(date +%s%N); "$pack" m.gguf --stats stats.gguf --type PQ2_0 -o timing.gguf -q -j1; span=$((($(date +%s%N) - start) / 1000))
rm -f timing.gguf*

# shot SIGNAL KIND command...: start it, send the signal after a random part of its usual time, look at what is there.
shot() {
    local signal=$1 kind=$2 status pid
    shift 2
    printf 'the old output' >old.gguf
    "$@" >out 2>err &
    pid=$!
    sleep "$(awk -v r=$RANDOM -v s=$span 'BEGIN { printf "%.6f", r / 32768 * s * 1.1 / 1e6 }')"
    kill "-$signal" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null; status=$?
    unharmed "$kind, SIG$signal"
    if printf 'the old output' | cmp -s - old.gguf; then
        [ "$status" != 0 ] || fail "$kind, SIG$signal: exit 0 without a result"
        # 143: SIGTERM came before main() could ask for it
        [ "$signal" = KILL ] || [ "$status" = 130 ] || [ "$signal $status" = "TERM 143" ] || fail "$kind, SIG$signal: exit $status, expected 130: $(head -n 2 err)"
        [ "$signal" = KILL ] || [ ! -e old.gguf.partial ] || fail "$kind, SIG$signal: left a partial file"
    else
        # Too late: then it must be the whole file, byte for byte.
        cmp -s old.gguf "whole-$kind.gguf" || fail "$kind, SIG$signal: a half file under the final name"
        hit=$((hit - 1))
    fi
    hit=$((hit + 1))
    # After a kill the next run must not trip over the leftovers.
    if [ "$signal" = KILL ] && [ -e old.gguf.partial ]; then
        "$@" >out 2>err || fail "$kind: does not run after a kill: $(head -n 2 err)"
        cmp -s old.gguf "whole-$kind.gguf" || fail "$kind: another result after a kill"
        [ ! -e old.gguf.partial ] || fail "$kind: partial file left after a good run"
    fi
    rm -f old.gguf*
}
hit=0
for ((i = 0; i < 12; i++)); do
    for signal in INT TERM KILL; do
        shot $signal pack "$pack" m.gguf --stats stats.gguf --type PQ2_0 -o old.gguf --force -q -j1
        shot $signal convert "$convert" hf -o old.gguf --force -q -j1
    done
done
echo "$hit of 72 signals came before the end"
[ "$hit" -gt 5 ] || fail "only $hit signals hit a running program: the test looks at nothing"

# ---- closed standard streams: a file gets no number that messages are written to ----
"$pack" m.gguf --type Q2_0 -o kl-model.gguf -q || fail "pack for the closed streams"
scored() { "$run" kl kl-model.gguf --ref m.gguf -f text.txt -c 64 --chunks 4 -v --save-kl-base "$1"; }
scored want.kl >/dev/null 2>&1 || fail "tern-run kl --save-kl-base"
(scored got.kl <&- >&- 2>&-); status=$?
[ $status = 2 ] || fail "tern-run kl, all streams closed: exit $status, expected 2: its result is lost"
cmp want.kl got.kl || fail "tern-run kl, all streams closed: messages went into the file"
(scored kl-2 2>&-) >out; status=$?
[ $status = 0 ] && cmp want.kl kl-2 || fail "tern-run kl, stderr closed: exit $status"

# A checker is interrupted too: a sparse file takes seconds to hash.
truncate -s 8G big && printf '%064d  big\n' 0 >big.sha256
"$verify" -c big.sha256 >out 2>err &
pid=$!
sleep 0.3
kill -INT $pid; wait $pid; status=$?
[ $status = 130 ] && [ ! -s out ] || fail "tern-verify, SIGINT: exit $status: $(cat out err | head -n 2)"
rm -f big

# ---- names: spaces, Unicode, a newline, a leading dash; under LC_ALL=C ----
for dir in "with space" "модель ü" $'new\nline'; do
    mkdir "$dir" && cp -r hf "$dir/hf" && cp text.txt "$dir/text ü.txt"
    "$convert" "$dir/hf" -o "$dir/m ü.gguf" -q || fail "convert in '$dir'"
    cmp -s "$dir/m ü.gguf" m.gguf || fail "convert in '$dir': other bytes"
    "$calib" "$dir/m ü.gguf" -f "$dir/text ü.txt" -o "$dir/s.gguf" --ctx 64 -q || fail "calib in '$dir'"
    "$pack" "$dir/m ü.gguf" --stats "$dir/s.gguf" --type PQ2_0 -o "$dir/t ü.gguf" -q || fail "pack in '$dir'"
    (cd "$dir" && sha256sum -c --quiet "t ü.gguf.sha256" && "$verify" -c "t ü.gguf.sha256" -q) || fail "checksum file in '$dir'"
    "$verify" "$dir/t ü.gguf" "$dir/hf" --quiet >out 2>&1 || fail "verify in '$dir': $(cat out)"
    [ ! -s out ] || fail "verify --quiet speaks in '$dir': $(cat out)"
    "$verify" "$dir/t ü.gguf" >out; [ "$(wc -l <out)" = 1 ] || fail "verify in '$dir': more than one line"
done
mkdir dash && cd dash && cp ../m.gguf ./-m.gguf
"$pack" --type Q2_0 -o -t.gguf -q -- -m.gguf || fail "pack of a name with a leading dash"
"$verify" -q -- -t.gguf || fail "verify of a name with a leading dash"
finish
