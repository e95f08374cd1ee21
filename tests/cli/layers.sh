#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The layer law of docs/architecture.md: a folder includes only what is to the right of it; includes are written from the root;
# no file over 800 lines; every source file names its licence.
. "$(dirname "$0")/../support/env.sh"
cd "$src" || exit 1

# folder -> folders it may include besides itself
allowed() {
    case $1 in
    base) echo "" ;;
    kernels) echo "base" ;;
    runtime) echo "kernels base" ;;
    convert) echo "base" ;;
    calib) echo "runtime kernels base" ;;
    pack) echo "runtime kernels base" ;;
    verify) echo "kernels base" ;;
    driver) echo "base" ;;
    esac
}

n=0
for folder in base kernels runtime convert calib pack verify driver; do
    while IFS=: read -r file line text; do
        n=$((n + 1))
        inc=$(printf '%s' "$text" | sed 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/\1/')
        [ "$inc" != config.h ] || continue # made by configure, at the root of the build
        top=${inc%%/*}
        [ "$inc" != "$top" ] || { fail "$file:$line: include \"$inc\" is not written from the root"; continue; }
        case " $folder $(allowed $folder) " in
        *" $top "*) ;;
        *) fail "$file:$line: $folder may not include $inc" ;;
        esac
        [ -f "$inc" ] || fail "$file:$line: no file $inc"
    done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' "$folder")
done
[ "$n" -gt 50 ] || fail "only $n includes were seen: the test looks in the wrong place"

while read -r file; do
    lines=$(wc -l <"$file")
    [ "$lines" -le 800 ] || fail "$file has $lines lines (at most 800)"
    grep -q 'SPDX-License-Identifier: Apache-2.0' <<< "$(head -n 3 "$file")" || fail "$file does not name its licence in the first lines"
done < <(find base kernels runtime convert calib pack verify driver tests -name '*.[ch]' -o -path tests/data -prune -false -o -name '*.sh' | grep -v '^tests/data/')

# Only main.c and the command-line layer speak: libraries neither print nor exit.
while IFS=: read -r file line text; do
    fail "$file:$line: a library may not print or exit: $text"
done < <(grep -rnE '\b(printf|puts|perror|exit|abort)[[:space:]]*\(' --include='*.c' base kernels convert calib pack verify runtime driver |
    grep -vE '(^|/)(main|options|cmd_[a-z_]*|report[a-z_]*|dump|cli[a-z_]*|progress|table)\.c:|[a-z_](printf|puts)[[:space:]]*\(|:[[:space:]]*(\*|/\*|//)')
finish
