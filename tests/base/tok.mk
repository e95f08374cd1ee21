# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/base/check_pretokenizer
TESTS += tests/base/check_pretokenizer
tests_base_check_pretokenizer_SOURCES = tests/base/check_pretokenizer.c
tests_base_check_pretokenizer_LDADD = $(TEST_LIBS) $(BASE_LIBS) $(CHECK_LIBS)
tests_base_check_pretokenizer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
