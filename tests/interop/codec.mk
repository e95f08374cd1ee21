# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/interop/codec_tool
tests_interop_codec_tool_SOURCES = tests/interop/codec_tool.c
tests_interop_codec_tool_LDADD = $(KERNELS_LIBS)
dist_check_SCRIPTS += tests/interop/codec.sh
TESTS += tests/interop/codec.sh
EXTRA_DIST += tests/interop/codec.py
