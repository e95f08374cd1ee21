#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The drawer: every row of data/hostile/bad.tsv through every tool that takes such a file. Asked for: the exit status the row
# says, one line that holds one of the row's words, no signal, no sanitizer report, no output file.
. "$(dirname "$0")/../support/env.sh"
bad=$src/data/hostile
cd "$tmp" || exit 1

# Folders whose containers are sound: what is wrong with them is for tern-convert to judge, tern-verify says OK.
semantic=" dir_unknown_arch dir_no_arch dir_missing_hidden dir_hidden_huge dir_hidden_negative dir_layers_more dir_layers_fewer
 dir_heads_indivisible dir_vocab_mismatch dir_shape_mismatch dir_untied_no_head dir_int_weight dir_rope_unknown
 dir_quant_unknown dir_tok_dup_id dir_tok_unigram "

# sane NAME STATUS: the last run (out, err) ended by itself and spoke in lines.
sane() {
    [ "$2" -lt 124 ] || fail "$1: ended by exit status $2 (signal or time limit)"
    ! grep -Eq 'runtime error|AddressSanitizer|LeakSanitizer|UndefinedBehavior' out err || fail "$1: sanitizer report: $(head -n 2 err)"
    ! LC_ALL=C grep -Pq '[\x00-\x08\x0b-\x1f\x7f]' out err || fail "$1: raw control bytes in the output"
}

# one_line NAME WORDS: exactly one line on stdout and stderr together; it holds the name and one of the '|'-separated words.
one_line() {
    local all n
    all=$(cat out err); n=$(printf '%s\n' "$all" | wc -l)
    [ "$n" = 1 ] || fail "$1: $n lines instead of one: $(printf '%s' "$all" | head -n 3)"
    grep -Fq -- "$1" <<< "$all" || fail "$1: the line does not name the file: $all"
    [ "$2" = - ] && return
    local word
    while IFS= read -r word; do
        grep -Fiq -- "$word" <<< "$all" && return
    done < <(printf '%s\n' "$2" | tr '|' '\n')
    fail "$1: none of '$2' in: $all"
}

no_output() { [ "$(echo result.gguf*)" = 'result.gguf*' ] || { fail "$1: left an output file"; rm -rf result.gguf*; }; }

check_verify() {
    local name=$1 expected=$2 words=$3 status word
    timeout 60 "$verify" "$bad/$name" >out 2>err; status=$?
    sane "$name" "$status"
    [ -s err ] && fail "$name: tern-verify talks on stderr: $(head -n 1 err)"
    word=$(sed -n '1s/.*: \(OK\|WARNED\|FAILED\)\( (.*\)\{0,1\}$/\1/p' out)
    case "|$expected|:$status:$word" in
    *"|error|"*:1:FAILED) one_line "$name" "$words" ;;
    *"|warn|"*:0:WARNED) one_line "$name" "$words" ;;
    *"|ok|"*:0:OK) one_line "$name" - ;;
    *) fail "$name: tern-verify: exit $status, '$word', expected $expected: $(head -n 2 out)" ;;
    esac
}

# A tool that needs a model: exit 1 for what is bad, and for rows that are sound containers any honest refusal.
check_refused() {
    local tool=$1 name=$2 words=$3 status
    sane "$tool $name" "$4"
    status=$4
    [ "$status" = 1 ] || fail "$name: $tool: exit $status, expected 1: $(cat out err | head -n 2)"
    one_line "$name" "$words"
    no_output "$tool $name"
}

n=0
while IFS=$'\t' read -r file kind what expected words note library; do
    [ "$file" = file ] && continue
    n=$((n + 1))
    name=${file%/}
    [ -e "$bad/$name" ] || { fail "$name is in the list, not in the folder"; continue; }
    if [ "$kind" = hf_dir ] && [[ $semantic == *[[:space:]]"$name"[[:space:]]* ]]; then
        check_verify "$name" ok -
    else
        check_verify "$name" "$expected" "$words"
    fi
    case $kind:$expected in
    gguf:error)
        timeout 60 "$pack" "$bad/$name" -o result.gguf --type Q2_0 >out 2>err; check_refused tern-pack "$name" "$words" $?
        timeout 60 "$run" perplexity "$bad/$name" -f "$bad/bad.tsv" >out 2>err; check_refused tern-run "$name" "$words" $?
        timeout 60 "$calib" "$bad/$name" -f "$bad/bad.tsv" -o result.gguf >out 2>err; check_refused tern-calib "$name" "$words" $?
        ;;
    gguf:*) # a container the readers may take; as a model it is none, so every tool refuses it
        timeout 60 "$pack" "$bad/$name" -o result.gguf --type Q2_0 >out 2>err; s=$?; sane "tern-pack $name" $s
        rm -f result.gguf*
        timeout 60 "$run" perplexity "$bad/$name" -f "$bad/bad.tsv" >out 2>err; s=$?; sane "tern-run $name" $s
        [ $s != 0 ] || fail "$name: tern-run measured a file that is no model"
        ;;
    safetensors:*) # as the weights of an otherwise good folder; none of these files is a whole model
        rm -rf folders; mkdir -p "folders/$name" && cp "$bad"/dir_ok/*.json "folders/$name" && cp "$bad/$name" "folders/$name/model.safetensors"
        timeout 60 "$convert" "folders/$name" -o result.gguf >out 2>err; s=$?
        case $expected in error) check_refused tern-convert "$name" "$words" $s ;; *) check_refused tern-convert "$name" - $s ;; esac
        ;;
    hf_dir:error | hf_dir:error\|warn)
        timeout 60 "$convert" "$bad/$name" -o result.gguf >out 2>err; check_refused tern-convert "$name" "$words" $?
        timeout 60 "$ternpack" "$bad/$name" -o result.gguf -q >out 2>err; check_refused ternpack "$name" "$words" $?
        ;;
    hf_dir:ok)
        timeout 60 "$convert" "$bad/$name" -o result.gguf >out 2>err; s=$?; sane "tern-convert $name" $s
        [ $s = 0 ] && [ -s result.gguf ] || fail "$name: tern-convert: exit $s for the control: $(head -n 1 err)"
        expect 0 'result.gguf: OK' "$verify" result.gguf
        rm -f result.gguf*
        ;;
    esac
done <"$bad/bad.tsv"
[ "$n" -gt 100 ] || fail "only $n rows were seen"

# The other way round: no file without a row.
for path in "$bad"/*; do
    name=$(basename "$path")
    case $name in bad.tsv | README*) continue ;; esac
    grep -q "^$name/\{0,1\}	" "$bad/bad.tsv" || fail "$name has no row in bad.tsv"
done
finish
