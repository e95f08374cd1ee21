#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make bench [BENCH_FLAGS="..."]: speed and peak memory of the tools, each beside a peer run in the same call where the
# peer is installed. A real checkpoint is used when $TERNPACK_CHECKPOINTS holds one (its first folder), the demo model
# otherwise; peers that need Python come from $TERNPACK_ORACLE or from python3. Under five minutes on two cores.
#   --json         one JSON object on standard output instead of the table
#   --repeat N     runs of each measurement, of which the median counts (default 3)
#   --threads N    threads of our tools and of llama.cpp (default: all cores). llama.cpp's threads spin while waiting: when
#                  other work shares the cores, --threads 1 is the fair comparison.
# Rates are per second of wall time and, in the second column, per second of CPU time, which means something on a busy
# machine too. A ratio above 1: we are faster.
. "$(dirname "$0")/../support/env.sh"
measure=$bld/tests/bench/measure
json=0 repeat=3 threads=$(nproc 2>/dev/null || echo 1)
while [ $# -gt 0 ]; do
    case $1 in
    --json) json=1 ;;
    --repeat | --threads)
        [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "bench: $1 needs a number above 0" >&2; exit 2; }
        [ "$1" = --repeat ] && repeat=$2 || threads=$2
        shift
        ;;
    *) echo "bench: unknown option $1 (see the head of tests/bench/bench.sh)" >&2; exit 2 ;;
    esac
    shift
done
say() { echo "bench: $*" >&2; }

python=${TERNPACK_ORACLE:+$TERNPACK_ORACLE/bin/python}
python=${python:-$(command -v python3 || true)}
peers() { timeout "$patience" "$python" "$src/tests/bench/peers.py" "$@"; }
have() { [ -n "$python" ] && peers have "$@" 2>"$tmp/have.err"; }

# median: of the numbers on standard input, one a line
median() {
    sort -g | awk '{ v[NR] = $1 } END { if (NR) print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}
div() { awk -v a="$1" -v b="$2" 'BEGIN { if (b + 0 > 0) print a / b }'; }

# A measurement is not repeated once it has taken $budget seconds; a peer is given up after $patience.
budget=8 patience=40

# timed COMMAND...: sets wall, cpu (seconds) and rss (MiB), medians of $repeat runs; output of the last one in $tmp/out.
timed() {
    : >"$tmp/runs"
    local i start=$SECONDS
    for ((i = 0; i < repeat && (i == 0 || SECONDS - start < budget); i++)); do
        "$measure" -o "$tmp/m.json" "$@" >"$tmp/out" 2>"$tmp/err" ||
            { say "$* failed: $(tail -n 1 "$tmp/err")"; exit 2; }
        echo "$(json_num wall_s <"$tmp/m.json") $(json_num user_s <"$tmp/m.json") $(json_num sys_s <"$tmp/m.json")" \
            "$(json_num max_rss_kib <"$tmp/m.json")" >>"$tmp/runs"
    done
    wall=$(awk '{ print $1 }' "$tmp/runs" | median)
    cpu=$(awk '{ print $2 + $3 }' "$tmp/runs" | median)
    rss=$(awk '{ print $4 / 1024 }' "$tmp/runs" | median)
}

# fields COMMAND... -- NAME...: run a command that prints JSON $repeat times; the medians of its members NAME go to the
# array field
fields() {
    local command=() name i start=$SECONDS
    while [ "$1" != -- ]; do command+=("$1"); shift; done
    shift
    rm -f "$tmp"/field.*
    field=()
    for ((i = 0; i < repeat && (i == 0 || SECONDS - start < budget); i++)); do
        "${command[@]}" >"$tmp/out" 2>"$tmp/err" ||
            { say "${command[*]} failed or took too long: $(tail -n 1 "$tmp/err")"; return 1; }
        for name; do json_num "$name" <"$tmp/out" >>"$tmp/field.$name"; done
    done
    for name; do field+=("$(median <"$tmp/field.$name")"); done
}

# row JOB UNIT RATE CPU_RATE RSS PEER PEER_RATE PEER_CPU_RATE: empty cells are not known
rows=$tmp/rows.tsv
: >"$rows"
row() { (IFS=$'\x1f'; printf '%s\n' "$*") >>"$rows"; }
mb_per() { div "$(awk -v n="$1" 'BEGIN { print n / 1e6 }')" "$2"; }

# --- the model
model_dir='' text='' n_ctx=512 chunks=2
for d in ${TERNPACK_CHECKPOINTS:+"$TERNPACK_CHECKPOINTS"/*/}; do
    [ -f "$d/config.json" ] && { model_dir=${d%/}; break; }
done
[ -n "$model_dir" ] && [ -f "$shared/data/corpus/wiki.test.raw" ] && text=$shared/data/corpus/wiki.test.raw
[ -n "$model_dir" ] || { model_dir=$src/data/garden-3m n_ctx=256 chunks=8; }
text=${text:-$src/data/garden-corpus/test.txt}
name=$(basename "$model_dir")
# excerpt FILE: whole lines, enough for the chunks and little to tokenize
excerpt() { awk '{ print; n += length($0) + 1 } n > 48000 { exit }' "$1" >"$tmp/text"; }
excerpt "$text"
say "$name, $threads threads, median of $repeat runs, on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"

# --- convert, pack, verify
say "convert, pack, verify"
source_bytes=$(cat "$model_dir"/*.safetensors | wc -c)
timed "$convert" "$model_dir" -o "$tmp/f16.gguf" --force -q -j "$threads"
own=("$(mb_per "$source_bytes" "$wall")" "$(mb_per "$source_bytes" "$cpu")" "$rss")
timed cp "$model_dir"/*.safetensors "$tmp/"
rm -f "$tmp"/*.safetensors
row "convert" "MB/s" "${own[@]}" "cp" "$(mb_per "$source_bytes" "$wall")" "$(mb_per "$source_bytes" "$cpu")"

f16_bytes=$(stat -c %s "$tmp/f16.gguf")
timed "$pack" "$tmp/f16.gguf" --type Q2_0 -o "$tmp/q2.gguf" --force -q -j "$threads"
own=("$(mb_per "$f16_bytes" "$wall")" "$(mb_per "$f16_bytes" "$cpu")" "$rss")
if have numpy gguf && fields peers pack "$tmp/f16.gguf" -- wall_s cpu_s; then
    row "pack Q2_0" "MB/s" "${own[@]}" "numpy, arithmetic only" "$(mb_per "$f16_bytes" "${field[0]}")" \
        "$(mb_per "$f16_bytes" "${field[1]}")"
else
    row "pack Q2_0" "MB/s" "${own[@]}" "" "" ""
fi

for f in f16 q2; do
    bytes=$(stat -c %s "$tmp/$f.gguf")
    timed "$verify" "$tmp/$f.gguf" -q -j "$threads"
    own=("$(mb_per "$bytes" "$wall")" "$(mb_per "$bytes" "$cpu")" "$rss")
    timed sha256sum "$tmp/$f.gguf"
    row "verify $f" "MB/s" "${own[@]}" "sha256sum" "$(mb_per "$bytes" "$wall")" "$(mb_per "$bytes" "$cpu")"
done
timed "$verify" "$tmp/q2.gguf" --against "$tmp/f16.gguf" -q -j "$threads"
row "verify q2 --against f16" "MB/s" "$(mb_per "$f16_bytes" "$wall")" "$(mb_per "$f16_bytes" "$cpu")" "$rss" "" "" ""

# --- perplexity and generation
# models LABEL FILE PEER_PROMPT PEER_GENERATE: prompt and generated tokens of the peer's run
models() {
    local label=$1 file=$2 peer_prompt=$3 peer_generate=$4 tokens=$((chunks * n_ctx))
    local own_prompt own_generate value cpu_value rates='prompt_tokens_per_s prompt_tokens_per_cpu_s
        generation_tokens_per_s generation_tokens_per_cpu_s'
    say "$label"
    timed "$run" perplexity "$file" -f "$tmp/text" -c "$n_ctx" --chunks "$chunks" -q --json -j "$threads"
    value=$(json_num tokens_per_s <"$tmp/out") cpu_value=$(div "$tokens" "$cpu")
    if [ "$peer_prompt" = "$n_ctx" ] && [ "$llama" = 1 ] &&
        fields peers perplexity "$file" "$tmp/text" "$n_ctx" "$chunks" "$threads" -- tokens_per_s tokens_per_cpu_s; then
        row "perplexity $label" "tokens/s" "$value" "$cpu_value" "$rss" "llama.cpp, decode only" "${field[@]}"
    else
        row "perplexity $label" "tokens/s" "$value" "$cpu_value" "$rss" "" "" ""
    fi
    # shellcheck disable=SC2086
    fields "$run" bench "$file" -p "$n_ctx" -n 64 --json -q -j "$threads" -- $rates || exit 2
    own_prompt=("${field[@]:0:2}") own_generate=("${field[@]:2:2}")
    # shellcheck disable=SC2086
    if [ "$llama" = 1 ] && fields peers speed "$file" "$peer_prompt" "$peer_generate" "$threads" -- $rates; then
        row "prompt $label" "tokens/s" "${own_prompt[@]}" "" "llama.cpp" "${field[@]:0:2}"
        row "generate $label" "tokens/s" "${own_generate[@]}" "" "llama.cpp" "${field[@]:2:2}"
    else
        row "prompt $label" "tokens/s" "${own_prompt[@]}" "" "" "" ""
        row "generate $label" "tokens/s" "${own_generate[@]}" "" "" "" ""
    fi
}
llama=0
have numpy llama_cpp && llama=1
models "$name F16" "$tmp/f16.gguf" "$n_ctx" 64
models "$name Q2_0" "$tmp/q2.gguf" 32 8 # llama.cpp has no vector code for it on x86: a short run
small=$tmp/f16.gguf
if [ "$name" != garden-3m ]; then # the demo model: TQ2_0, which llama.cpp has AVX2 code for, divides its rows
    small=$tmp/small.gguf n_ctx=256 chunks=8
    "$convert" "$src/data/garden-3m" -o "$small" -q || exit 2
    excerpt "$src/data/garden-corpus/test.txt"
fi
"$pack" "$small" --type TQ2_0 -o "$tmp/tq2.gguf" -q || exit 2
models "garden-3m TQ2_0" "$tmp/tq2.gguf" "$n_ctx" 64

# --- kernels
say "kernels"
"$bld/tests/bench/kernels_bench" >"$tmp/kernels.tsv" || exit 2

# --- report
print_json() {
    awk -F '\x1f' -v model="$name" -v threads="$threads" -v repeat="$repeat" '
        function number(v) { return v == "" ? "null" : v + 0 }
        function quote(v) { gsub(/["\\]/, "", v); return v == "" ? "null" : "\"" v "\"" }
        function member(name, v) { printf ", \"%s\": %s", name, v }
        BEGIN { printf "{\"model\": %s, \"threads\": %d, \"repeat\": %d, \"rows\": [", quote(model), threads, repeat }
        {
            printf "%s\n {\"job\": %s", (NR > 1 ? "," : ""), quote($1)
            member("unit", quote($2)); member("rate", number($3)); member("rate_per_cpu", number($4))
            member("rss_mib", number($5)); member("peer", quote($6)); member("peer_rate", number($7))
            member("peer_rate_per_cpu", number($8))
            printf "}"
        }
        END { printf "],\n\"kernels\": [" }' "$rows"
    awk -F '\t' '{
            printf "%s\n {\"kernels\": \"%s\", \"type\": \"%s\", \"tokens\": %d, \"gmac_per_cpu_s\": %s}",
                (NR > 1 ? "," : ""), $1, $2, $3, $4
        }
        END { print "]}" }' "$tmp/kernels.tsv"
}

print_table() {
    awk -F '\x1f' '
        function cell(v) { return v == "" ? "-" : v >= 100 ? sprintf("%.0f", v) : sprintf("%.3g", v) }
        function ratio(a, b) { return a == "" || b + 0 <= 0 ? "-" : sprintf("%.2f", a / b) }
        function line(a, b, c, d, e, f, g, h, i, j) {
            printf "%-28s %-9s %9s %9s %8s  %-23s %9s %9s %7s %7s\n", a, b, c, d, e, f, g, h, i, j
        }
        BEGIN { line("job", "unit", "per s", "per CPU s", "RSS MiB", "peer", "per s", "per CPU s", "ratio", "CPU") }
        {
            line($1, $2, cell($3), cell($4), cell($5), $6 == "" ? "-" : $6, cell($7), cell($8), ratio($3, $7),
                ratio($4, $8))
        }' "$rows"
    printf '\nA 2048 x 2048 matrix, one thread, 10^9 multiply-adds per CPU second, ratio to OpenBLAS in float32:\n'
    awk -F '\t' '$1 == "openblas" { base = $4 }
        { printf "%-10s %-8s %4d token(s) %9.2f %8.2f\n", $1, $2, $3, $4, $4 / base }' "$tmp/kernels.tsv"
}
[ "$json" = 1 ] && print_json || print_table
