# SPDX-License-Identifier: Apache-2.0
check_LIBRARIES += libtestverify.a
libtestverify_a_SOURCES = tests/verify/build.c tests/verify/build.h
libtestverify_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
VERIFY_TEST_LIBS = libtestverify.a $(TEST_LIBS) libverify.a $(KERNELS_LIBS) $(CHECK_LIBS)

check_PROGRAMS += tests/verify/check_checksum tests/verify/check_codes tests/verify/check_compare \
	tests/verify/check_structure
TESTS += tests/verify/check_checksum tests/verify/check_codes tests/verify/check_compare tests/verify/check_structure
tests_verify_check_checksum_SOURCES = tests/verify/check_checksum.c
tests_verify_check_checksum_LDADD = $(VERIFY_TEST_LIBS)
tests_verify_check_checksum_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_verify_check_codes_SOURCES = tests/verify/check_codes.c
tests_verify_check_codes_LDADD = $(VERIFY_TEST_LIBS)
tests_verify_check_codes_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_verify_check_compare_SOURCES = tests/verify/check_compare.c
tests_verify_check_compare_LDADD = $(VERIFY_TEST_LIBS)
tests_verify_check_compare_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_verify_check_structure_SOURCES = tests/verify/check_structure.c
tests_verify_check_structure_LDADD = $(VERIFY_TEST_LIBS)
tests_verify_check_structure_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

dist_check_SCRIPTS += tests/verify/manifest.sh tests/verify/against.sh
TESTS += tests/verify/manifest.sh tests/verify/against.sh
