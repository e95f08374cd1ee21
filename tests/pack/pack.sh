# SPDX-License-Identifier: Apache-2.0
# tern-pack on the demo models: exact packing of the ternary one, same bytes from any threads and kernels, the dry run, outputs
# that are inputs, failures that keep the old output.
. "$(dirname "$0")/../support/env.sh"

"$convert" -q "$src/data/garden-3m" -o "$tmp/g.gguf" || fail "convert garden-3m"
"$convert" -q "$src/data/garden-3m-ternary" -o "$tmp/t.gguf" || fail "convert garden-3m-ternary"

# field FILE NAME: the value of a top-level member of --json (numbers, true, false).
field() { sed -n "s/.*\"$2\":\([^,}\"]*\)[,}].*/\1/p" "$1" | head -n 1; }
same() { cmp -s "$1" "$2" || fail "$3: $1 and $2 differ"; }

# --- the ternary model (groups of 128): exact where blocks are no larger, and then equal to its source in every weight
for type in Q2_0 PQ2_0 PTQ1_0; do
    "$pack" -q --json "$tmp/t.gguf" -o "$tmp/$type.gguf" --type $type --embed-type F16 --lossless require >"$tmp/$type.json" ||
        fail "pack $type"
    [ "$(field "$tmp/$type.json" ternary_tensors)" = "$(field "$tmp/$type.json" exact_tensors)" ] || fail "$type: not all exact"
    [ "$(grep -c '"method":"exact".*"relative_error":0,' "$tmp/$type.json")" = 28 ] || fail "$type: expected 28 exact tensors"
    (cd "$tmp" && sha256sum --quiet --strict -c $type.gguf.sha256) || fail "$type: checksum file"
    "$verify" -q "$tmp/$type.gguf" >/dev/null || fail "$type: tern-verify finds fault"
    "$verify" -q "$tmp/$type.gguf" --against "$tmp/t.gguf" --fail-above 0 >/dev/null || fail "$type: differs from its source"
done
# blocks of 256: only tensors whose neighbouring groups share a scale; the others are fitted, or refused
"$pack" -q --json "$tmp/t.gguf" -o "$tmp/TQ2_0.gguf" --type TQ2_0 >"$tmp/TQ2_0.json" || fail "pack TQ2_0"
exact=$(field "$tmp/TQ2_0.json" exact_tensors)
fitted=$(grep -c '^ {.*"type":"TQ2_0","method":"optimal"' "$tmp/TQ2_0.json")
[ $((exact + fitted)) = 28 ] || fail "TQ2_0: $exact exact, $fitted fitted, expected 28 together"
if [ "$fitted" -gt 0 ]; then
    expect 1 'blk\.[0-9]+\..*TQ1_0 cannot hold it without loss \(ternary, one scale per (128|64)' \
        "$pack" "$tmp/t.gguf" -o "$tmp/no.gguf" --type TQ1_0 --lossless require
fi
expect 1 'token|attn|ffn' "$pack" "$tmp/g.gguf" -o "$tmp/no.gguf" --lossless require
[ ! -e "$tmp/no.gguf" ] && [ ! -e "$tmp/no.gguf.sha256" ] || fail "a refused run left a file"

# --- the ordinary model: warned about, and packed the same by any number of threads and any kernels
expect 0 'warning: 28 of 28 linear tensors are ordinary' "$pack" "$tmp/g.gguf" -o "$tmp/j1.gguf" -j1
"$pack" -q "$tmp/g.gguf" -o "$tmp/j2.gguf" -j2 || fail "-j2"
TERNPACK_KERNELS=scalar "$pack" -q "$tmp/g.gguf" -o "$tmp/scalar.gguf" -j3 || fail "scalar"
same "$tmp/j1.gguf" "$tmp/j2.gguf" "threads"
same "$tmp/j1.gguf" "$tmp/scalar.gguf" "kernels"
"$pack" -q --json "$tmp/g.gguf" -o "$tmp/w.gguf" --sparsity-ratio 0.5 >"$tmp/w.json" || fail "--sparsity-ratio"
[ "$(grep -c '^ {.*"type":"Q2_0".*"zeros":0.5,' "$tmp/w.json")" = 28 ] || fail "--sparsity-ratio 0.5: expected half zeros everywhere"
expect 2 'TERNPACK_KERNELS|nonsense' env TERNPACK_KERNELS=nonsense "$pack" "$tmp/g.gguf" -o "$tmp/no.gguf"

# --- statistics
if "$calib" -q "$tmp/g.gguf" -f "$src/data/garden-corpus/valid.txt" -o "$tmp/s.gguf" --ctx 256 --samples 2; then
    "$pack" -q --json "$tmp/g.gguf" -o "$tmp/ws.gguf" --stats "$tmp/s.gguf" >"$tmp/ws.json" || fail "--stats"
    [ "$(grep -c '"method":"weighted".*"weighted_error":0\.' "$tmp/ws.json")" = 28 ] || fail "--stats: expected 28 weighted tensors"
    expect 1 'statistics of another model' "$pack" "$tmp/t.gguf" -o "$tmp/no.gguf" --type TQ2_0 --stats "$tmp/s.gguf"
else
    fail "tern-calib"
fi

# --- the dry run touches nothing and plans what the real run writes
mkdir "$tmp/dry"
"$pack" -q --dry-run --json "$tmp/g.gguf" -o "$tmp/dry/o.gguf" >"$tmp/dry.json" || fail "--dry-run"
[ -z "$(ls -A "$tmp/dry")" ] || fail "--dry-run left files"
[ "$(field "$tmp/dry.json" bytes)" = "$(stat -c %s "$tmp/j1.gguf")" ] || fail "--dry-run plans another size"
[ "$(field "$tmp/dry.json" written)" = false ] || fail "--dry-run says it wrote"

# --- an output that is an input, by any name
ln "$tmp/g.gguf" "$tmp/hard.gguf"
ln -s g.gguf "$tmp/soft.gguf"
ln -s g.gguf "$tmp/x.gguf.sha256"
cp "$tmp/g.gguf" "$tmp/keep"
for o in g hard soft x; do
    expect 2 'same file|is the input|input' "$pack" --force "$tmp/g.gguf" -o "$tmp/$o.gguf"
done
same "$tmp/g.gguf" "$tmp/keep" "input"
expect 2 'same file|input' "$pack" --force "$tmp/g.gguf" --stats "$tmp/s.gguf" -o "$tmp/s.gguf"

# --- failures keep the old output
cp "$tmp/j1.gguf" "$tmp/old.gguf"
cp "$tmp/j1.gguf.sha256" "$tmp/old.gguf.sha256"
expect 2 'old.gguf' "$pack" "$tmp/g.gguf" -o "$tmp/old.gguf"
expect 1 'packed already' "$pack" --force "$tmp/j1.gguf" -o "$tmp/old.gguf"
expect 2 '.' bash -c "ulimit -f 200; trap '' XFSZ; exec '$pack' --force '$tmp/g.gguf' -o '$tmp/old.gguf'"
same "$tmp/j1.gguf" "$tmp/old.gguf" "old output"
same "$tmp/j1.gguf.sha256" "$tmp/old.gguf.sha256" "old checksum"
[ ! -e "$tmp/old.gguf.partial" ] || fail "a failed run left old.gguf.partial"
expect 2 'folder|No such file' "$pack" "$tmp/g.gguf" -o "$tmp/missing/o.gguf"
expect 2 'proc' "$pack" "$tmp/g.gguf" -o /proc/o.gguf # refuses even root
if [ "$(id -u)" != 0 ]; then
    mkdir "$tmp/ro"
    chmod a-w "$tmp/ro"
    expect 2 'ro' "$pack" "$tmp/g.gguf" -o "$tmp/ro/o.gguf"
fi

# --- interrupted at any moment: the name holds the old file or the whole new one
"$pack" -q "$tmp/g.gguf" -o "$tmp/new.gguf" --type PQ2_0 || fail "pack PQ2_0"
for signal in INT TERM KILL; do
    for i in 0 1 2 3 4 5 6 7; do
        cp "$tmp/j1.gguf" "$tmp/old.gguf"
        rm -f "$tmp/old.gguf.partial"
        "$pack" -q --force "$tmp/g.gguf" -o "$tmp/old.gguf" --type PQ2_0 -j1 2>/dev/null &
        pid=$!
        sleep "0.0$i"
        kill -$signal $pid 2>/dev/null
        wait $pid 2>/dev/null
        status=$?
        cmp -s "$tmp/old.gguf" "$tmp/j1.gguf" || cmp -s "$tmp/old.gguf" "$tmp/new.gguf" || fail "SIG$signal left a broken file"
        case $signal$status in
        KILL*) ;;
        *0 | *130 | *143) [ ! -e "$tmp/old.gguf.partial" ] || fail "SIG$signal left old.gguf.partial" ;;
        *) fail "SIG$signal: exit $status" ;;
        esac
    done
done

# --- hostile and foreign inputs: one line, exit 1, no output
head -c 20000 "$tmp/g.gguf" >"$tmp/cut.gguf"
printf '<!DOCTYPE html>\n<html></html>\n' >"$tmp/page.gguf"
: >"$tmp/empty.gguf"
for f in cut page empty; do
    expect 1 "$f.gguf" "$pack" "$tmp/$f.gguf" -o "$tmp/no.gguf"
done
[ ! -e "$tmp/no.gguf" ] || fail "hostile input left an output"
expect 2 'help' "$pack" "$tmp/g.gguf"
expect 2 'Q9_9' "$pack" "$tmp/g.gguf" -o "$tmp/no.gguf" --type Q9_9

# --- memory does not grow with the model: 270 MB packed in 100 MB of address space beyond what the program itself takes
if [ -f "${TERNPACK_CHECKPOINTS:-}/smollm2-135m/config.json" ]; then
    "$convert" -q "$TERNPACK_CHECKPOINTS/smollm2-135m" -o "$tmp/smol.gguf" || fail "convert smollm2-135m"
    base=$(bash -c 'for v in 20000 30000 40000 60000 80000 120000; do
        (ulimit -v $v; exec "$0" --version) >/dev/null 2>&1 && echo $v && break; done' "$pack")
    # (a build with sanitizers starts in no such space)
    [ -z "$base" ] || (ulimit -v $((base + 102400)); exec "$pack" -q -j2 "$tmp/smol.gguf" -o "$tmp/smol.q2_0.gguf") ||
        fail "smollm2-135m within $((base + 102400)) KiB"
    expect 1 'blk\.29\.attn_v\.weight: row of 576 weights = 2 blocks of 256 \(TQ1_0\) and 64 left over' \
        "$pack" "$tmp/smol.gguf" -o "$tmp/no.gguf" --type TQ1_0
    expect 1 '180 tensors with rows' "$pack" "$tmp/smol.gguf" -o "$tmp/no.gguf" --type TQ1_0 --dry-run
fi
finish
