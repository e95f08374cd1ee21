# SPDX-License-Identifier: Apache-2.0
dist_check_SCRIPTS += tests/interop/tokenize.sh
TESTS += tests/interop/tokenize.sh
EXTRA_DIST += tests/interop/token_ids.py
