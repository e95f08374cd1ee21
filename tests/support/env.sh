# SPDX-License-Identifier: Apache-2.0
# Sourced by shell tests. Paths: $src (source tree), $bld (build tree), $shared (may not exist), $tmp (fresh, removed at the
# end). A test exits 0 (pass), 1 (fail) or 77 (skip, with the reason).
set -uo pipefail
src=${TERNPACK_SRCDIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
bld=${TERNPACK_BUILDDIR:-$src}
shared=${TERNPACK_SHARED:-$src/../shared}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/ternpack-sh-XXXXXX")
trap 'chmod -R u+w "$tmp" 2>/dev/null; rm -rf "$tmp"' EXIT
export LC_ALL=C OPENBLAS_NUM_THREADS=1

convert=$bld/convert/tern-convert calib=$bld/calib/tern-calib pack=$bld/pack/tern-pack verify=$bld/verify/tern-verify
run=$bld/runtime/tern-run ternpack=$bld/driver/ternpack

failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
skip() { echo "SKIP: $*"; exit 77; }
finish() { [ "$failures" = 0 ] || { echo "$failures check(s) failed"; exit 1; }; echo "all checks passed"; exit 0; }

# expect STATUS 'pattern' command...: exit status and an extended regular expression that stdout+stderr must contain.
expect() {
    local want=$1 pattern=$2 out status
    shift 2
    out=$("$@" 2>&1); status=$?
    [ "$status" = "$want" ] || fail "$*: exit $status, expected $want: $(printf '%s' "$out" | head -n 3)"
    grep -Eq -- "$pattern" <<< "$out" || fail "$*: output lacks /$pattern/: $(printf '%s' "$out" | head -n 3)"
}

# Python with the foreign readers, from $TERNPACK_ORACLE (a venv folder). need_oracle MODULE...: skip without it.
oracle=
need_oracle() {
    [ -n "${TERNPACK_ORACLE:-}" ] && [ -x "$TERNPACK_ORACLE/bin/python" ] || skip "no oracle (set TERNPACK_ORACLE to a venv)"
    oracle=$TERNPACK_ORACLE/bin/python
    local m
    for m; do "$oracle" -c "import $m" 2>/dev/null || skip "the oracle lacks the Python module $m"; done
}
# need_shared PATH...: skip unless each exists below ../shared.
need_shared() { local p; for p; do [ -e "$shared/$p" ] || skip "no $p beside the source tree"; done; }
# need_checkpoint NAME: sets $checkpoint to a real Hugging Face folder (cached in $TERNPACK_CHECKPOINTS), or skips.
need_checkpoint() {
    local root=${TERNPACK_CHECKPOINTS:-}
    [ -n "$root" ] && [ -f "$root/$1/config.json" ] || skip "no checkpoint $1 (set TERNPACK_CHECKPOINTS to a folder that holds it)"
    checkpoint=$root/$1
}
# json_num FIELD <JSON: the first number behind "FIELD":
json_num() { tr -d '\n' | grep -oE "\"$1\"[[:space:]]*:[[:space:]]*-?[0-9.eE+-]+" | head -n 1 | sed 's/.*:[[:space:]]*//'; }
# is_near A B REL: |A - B| <= REL * |B|, false for anything that is no number
is_near() {
    awk -v a="$1" -v b="$2" -v r="$3" 'BEGIN {
        number = "^-?[0-9]*[.]?[0-9]+([eE][-+]?[0-9]+)?$"
        if (a !~ number || b !~ number) exit 1
        d = a - b; if (d < 0) d = -d; m = b < 0 ? -b : b
        exit !(d <= r * m) }'
}
# near A B REL WHAT: a failure that shows the figures unless they are near
near() { is_near "$1" "$2" "$3" || fail "$4: $1, expected $2 within $3 relative"; }
# ok COMMAND...: must exit 0; shows its output when it does not
ok() { local out; out=$("$@" 2>&1) || { fail "$*: exit $?"; printf '%s\n' "$out" | tail -n 5; }; }
# Is this a build with sanitizers (slow, and with memory of its own)?
sanitized() { grep -q '^TERN_LDFLAGS = .*fsanitize' "$bld/Makefile" 2>/dev/null; }
