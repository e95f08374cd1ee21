# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/calib/check_collect tests/calib/check_corpus tests/calib/calib_chunks
TESTS += tests/calib/check_collect tests/calib/check_corpus tests/calib/calib.sh
dist_check_SCRIPTS += tests/calib/calib.sh
tests_calib_check_corpus_SOURCES = tests/calib/check_corpus.c
tests_calib_check_corpus_LDADD = libcalib.a $(TEST_LIBS) $(RUNTIME_LIBS) $(CHECK_LIBS)
tests_calib_check_corpus_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_calib_calib_chunks_SOURCES = tests/calib/calib_chunks.c
tests_calib_calib_chunks_LDADD = libcalib.a $(RUNTIME_LIBS)
tests_calib_check_collect_SOURCES = tests/calib/check_collect.c
tests_calib_check_collect_LDADD = libcalib.a $(TEST_LIBS) $(RUNTIME_LIBS) $(CHECK_LIBS)
tests_calib_check_collect_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
