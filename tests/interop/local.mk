# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/interop/format_tool
tests_interop_format_tool_SOURCES = tests/interop/format_tool.c
tests_interop_format_tool_LDADD = $(BASE_LIBS)
dist_check_SCRIPTS += tests/interop/format.sh
TESTS += tests/interop/format.sh
dist_check_SCRIPTS += tests/interop/verify_against.sh
TESTS += tests/interop/verify_against.sh
dist_check_SCRIPTS += tests/interop/convert.sh tests/interop/convert_smollm.sh
TESTS += tests/interop/convert.sh tests/interop/convert_smollm.sh
EXTRA_DIST += tests/interop/gguf_compare.py
dist_check_SCRIPTS += tests/interop/convert_rope.sh
TESTS += tests/interop/convert_rope.sh
dist_check_SCRIPTS += tests/interop/pack.sh
TESTS += tests/interop/pack.sh
dist_check_SCRIPTS += tests/interop/calib.sh tests/interop/calib_smollm.sh tests/interop/smollm.sh
TESTS += tests/interop/calib.sh tests/interop/calib_smollm.sh tests/interop/smollm.sh
include tests/interop/tok.mk
include tests/interop/codec.mk
