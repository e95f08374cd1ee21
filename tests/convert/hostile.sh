#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The hostile drawer through tern-convert: folders as they are, lone safetensors files in a folder that is otherwise sound.
# Bad: exit 1, one line that names the file and the place, no output, nothing half written.
. "$(dirname "$0")/../support/env.sh"
bad=$src/data/hostile
n=0

left_over() { find "$tmp/out" -mindepth 1 | head -n 1; }

# refused FOLDER WORDS NAME: WORDS are alternatives separated by '|', matched literally.
refused() {
    local text status word found=no
    rm -rf "$tmp/out"; mkdir "$tmp/out"
    text=$("$convert" "$1" -o "$tmp/out/m.gguf" 2>&1); status=$?
    n=$((n + 1))
    [ "$status" = 1 ] || fail "$3: exit $status, expected 1: $text"
    [ "$(printf '%s\n' "$text" | wc -l)" = 1 ] || fail "$3: more than one line: $text"
    grep -Fq -- "$(basename "$1")" <<< "$text" || fail "$3: the line does not name the folder: $text"
    while IFS= read -r word; do
        grep -Fiq -- "$word" <<< "$text" && found=yes
    done < <(printf '%s\n' "$2" | tr '|' '\n')
    [ "$found" = yes ] || fail "$3: none of '$2' in: $text"
    [ -z "$(left_over)" ] || fail "$3: left $(left_over)"
}

accepted() {
    n=$((n + 1))
    "$convert" "$1" -o "$2" -q >"$tmp/log" 2>&1 || fail "$1: exit $?: $(cat "$tmp/log")"
}

while IFS=$'\t' read -r file kind what expected words rest; do
    case $kind:$expected in
    hf_dir:error*) refused "$bad/${file%/}" "$words" "$file" ;;
    safetensors:error | safetensors:error\|warn)
        rm -rf "$tmp/wrapped"; mkdir "$tmp/wrapped"
        cp "$bad/dir_ok/config.json" "$bad/dir_ok/tokenizer.json" "$tmp/wrapped"
        cp "$bad/$file" "$tmp/wrapped/model.safetensors"
        # Rows that a reader may merely warn about are refused here too; what the line says is then up to the reader.
        [ "$expected" = error ] || words=model.safetensors
        refused "$tmp/wrapped" "$words" "$file"
        ;;
    esac
done <"$bad/bad.tsv"
[ "$n" -ge 60 ] || fail "only $n hostile rows were tried"

# The controls: a single file and the same tensors in two shards give the same bytes.
accepted "$bad/dir_ok" "$tmp/one.gguf"
accepted "$bad/dir_ok_sharded" "$tmp/two.gguf"
"$convert" "$bad/dir_ok" -o "$tmp/one.gguf" -q --force --metadata general.name=x || fail "dir_ok with a name"
"$convert" "$bad/dir_ok_sharded" -o "$tmp/two.gguf" -q --force --metadata general.name=x || fail "dir_ok_sharded with a name"
cmp "$tmp/one.gguf" "$tmp/two.gguf" || fail "single and sharded differ"
finish
