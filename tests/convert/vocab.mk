# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/convert/check_vocab
TESTS += tests/convert/check_vocab
tests_convert_check_vocab_SOURCES = tests/convert/check_vocab.c tests/convert/folder.c tests/convert/folder.h
tests_convert_check_vocab_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_vocab_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
