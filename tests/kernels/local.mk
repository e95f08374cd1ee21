# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/kernels/check_codec tests/kernels/check_kernels
TESTS += tests/kernels/check_codec tests/kernels/check_kernels
tests_kernels_check_codec_SOURCES = tests/kernels/check_codec.c
tests_kernels_check_codec_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kernels_check_codec_LDADD = $(TEST_LIBS) $(KERNELS_LIBS) $(CHECK_LIBS)
tests_kernels_check_kernels_SOURCES = tests/kernels/check_kernels.c
tests_kernels_check_kernels_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_kernels_check_kernels_LDADD = $(TEST_LIBS) $(KERNELS_LIBS) $(CHECK_LIBS)
