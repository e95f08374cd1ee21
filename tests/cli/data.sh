#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The demo data is what its list says, and the list names every file.
. "$(dirname "$0")/../support/env.sh"
cd "$src/data" || exit 1
sha256sum -c --quiet SHA256SUMS || fail "data differs from SHA256SUMS"
find . -type f ! -name SHA256SUMS | sed 's|^\./||' | sort >"$tmp/have"
cut -c67- SHA256SUMS | sort >"$tmp/listed"
diff "$tmp/have" "$tmp/listed" || fail "SHA256SUMS and the folder list different files"
finish
