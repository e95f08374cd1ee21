#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Man pages and programs name the same long options; pages have the parts a reader looks for.
. "$(dirname "$0")/../support/env.sh"

# Long options of a page: every --word outside of EXAMPLES, less those named right after another program, whichever macros it
# was written with.
page_options() {
    sed -e '/^\.S[Hh] "\{0,1\}EXAMPLE/,/^\.S[Hh] "\{0,1\}[EF-Z][^X]/d' "$1" | sed 's/\\-/-/g; s/Fl -/--/g; s/Fl Fl /--/g; s/\(tern\|llama\)-[a-z]* --[a-z-]*//g' |
        grep -oE -- '(^|[^-a-z])--[a-z][a-z0-9-]*' | sed 's/^[^-]*--//' | sort -u
}

# What the program takes; tern-run has a table for each of its commands.
list_options() {
    if [ "$1" = "$run" ]; then
        local command
        for command in perplexity kl generate tokenize logits bench; do "$1" $command --list-options || return; done
    else
        "$1" --list-options
    fi
}

for path in convert/tern-convert calib/tern-calib pack/tern-pack verify/tern-verify runtime/tern-run driver/ternpack; do
    page=$src/$path.1 tool=$bld/$path
    [ -f "$page" ] || { fail "no $path.1"; continue; }
    list_options "$tool" >"$tmp/tool" 2>"$tmp/err" || fail "$path --list-options: $(cat "$tmp/err")"
    sort -u "$tmp/tool" >"$tmp/want"
    page_options "$page" >"$tmp/page"
    [ "$(wc -l <"$tmp/want")" -ge 8 ] || fail "$path --list-options prints only $(wc -l <"$tmp/want") names"
    while read -r name; do fail "$path.1 does not list --$name"; done < <(comm -23 "$tmp/want" "$tmp/page")
    while read -r name; do fail "$path.1 lists --$name, the program has no such option"; done < <(comm -13 "$tmp/want" "$tmp/page")
    for section in NAME SYNOPSIS DESCRIPTION "EXIT STATUS"; do
        grep -Eq "^\.S[Hh] \"?$section" "$page" || fail "$path.1 has no section $section"
    done
    if command -v mandoc >/dev/null; then
        # No dates: they would differ from build to build.
        mandoc -T lint -W warning "$page" 2>&1 | grep -v 'missing date' >"$tmp/lint"
        [ ! -s "$tmp/lint" ] || fail "$path.1: $(head -n 3 "$tmp/lint")"
    fi
done
finish
