#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Command lines: misuse is exit 2, one line and a hint on stderr, nothing on stdout; help is stdout and exit 0.
. "$(dirname "$0")/../support/env.sh"
cd "$tmp" || exit 1

# misuse COMMAND...: exit 2, stdout empty, at most two lines on stderr (the error and the hint), the hint names --help.
misuse() {
    local status
    "$@" >out 2>err </dev/null; status=$?
    [ "$status" = 2 ] || fail "$*: exit $status, expected 2: $(head -n 1 err)"
    [ ! -s out ] || fail "$*: writes to stdout: $(head -n 1 out)"
    [ -s err ] && [ "$(wc -l <err)" -le 2 ] || fail "$*: $(wc -l <err) lines on stderr"
    grep -q -- '--help' err || fail "$*: no hint to --help: $(cat err)"
}
helps() {
    local status
    "$@" >out 2>err </dev/null; status=$?
    [ "$status" = 0 ] || fail "$*: exit $status, expected 0"
    [ -s out ] || fail "$*: nothing on stdout"
    [ ! -s err ] || fail "$*: writes to stderr: $(head -n 1 err)"
}

for tool in "$convert" "$calib" "$pack" "$verify" "$ternpack"; do
    misuse "$tool"
    misuse "$tool" --no-such-option x
    misuse "$tool" x --no-such-option=3
    misuse "$tool" -Z x
    misuse "$tool" x -j
    misuse "$tool" x -j many
    misuse "$tool" x -j 1x
    misuse "$tool" x -j -1
    misuse "$tool" x --threads=
    misuse "$tool" x -j 1 -j 2
    misuse "$tool" x --json --json
    misuse "$tool" x --json=yes
    misuse "$tool" x --progress=loud
    helps "$tool" -h
    helps "$tool" --help
    helps "$tool" --version
    "$tool" --help >long; "$tool" -h >short
    grep -q -- '--json' long || fail "$tool --help does not list --json"
    grep -q "$(basename "$tool")" <<< "$("$tool" --version)" || fail "$tool --version does not name the program"
done
for command in perplexity kl generate tokenize logits bench; do
    misuse "$run" "$command" --no-such-option x
    misuse "$run" "$command" x -j many
    helps "$run" "$command" -h
done
misuse "$run"
misuse "$run" dance model.gguf
helps "$run" -h
helps "$run" --help
helps "$run" --version

misuse "$convert" model
misuse "$convert" a b -o c.gguf
misuse "$convert" model -o c.gguf --dtype int4
misuse "$convert" model -o c.gguf -o d.gguf
misuse "$calib" model.gguf -o s.gguf
misuse "$calib" model.gguf -f text
misuse "$pack" model.gguf
misuse "$pack" model.gguf -o c.gguf --type Q9_9
misuse "$pack" model.gguf -o c.gguf --type Q2_0 --sparsity-ratio 1.5
misuse "$pack" model.gguf -o c.gguf --type Q2_0 --sparsity-ratio half
misuse "$verify" --strict
misuse "$verify" x --ignore-missing
misuse "$verify" x --sort size
misuse "$verify" x --fail-above 1
misuse "$verify" x y --against z
misuse "$verify" x --against z --fail-above=-1
misuse "$verify" x --against z --fail-above=nan
misuse "$verify" x --against z --sort=weight
misuse "$verify" x --dump --json
misuse "$verify" x --force

# A model that is not there is not misuse: one line that names it, no hint.
for command in "$convert missing -o o.gguf" "$pack missing.gguf -o o.gguf --type Q2_0" "$calib missing.gguf -f missing.txt -o o.gguf" \
    "$run perplexity missing.gguf -f missing.txt" "$ternpack missing -o o.gguf"; do
    $command >out 2>err </dev/null; status=$?
    { [ $status = 1 ] || [ $status = 2 ]; } || fail "$command: exit $status"
    [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q missing err || fail "$command: $(head -n 3 out err)"
    [ ! -e o.gguf ] || fail "$command: left an output"
done
expect 1 '^missing.gguf: FAILED' "$verify" missing.gguf
expect 1 'missing: no such folder' "$convert" missing -o o.gguf

# A dry run needs no output.
expect 0 'no output .dry run, nothing written.' "$convert" "$src/data/garden-3m" --dry-run
expect 0 '' "$convert" "$src/data/garden-3m" -o m.gguf -q
expect 0 'no output .dry run, nothing written.' "$pack" m.gguf --dry-run
expect 0 'no output .dry run, nothing written.' "$calib" m.gguf -f "$src/data/garden-corpus/test.txt" --dry-run
finish
