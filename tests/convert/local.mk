# SPDX-License-Identifier: Apache-2.0
CONVERT_LIBS = libconvert.a $(BASE_LIBS)

check_PROGRAMS += tests/convert/check_cast
TESTS += tests/convert/check_cast
tests_convert_check_cast_SOURCES = tests/convert/check_cast.c
tests_convert_check_cast_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_cast_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/convert/check_config
TESTS += tests/convert/check_config
tests_convert_check_config_SOURCES = tests/convert/check_config.c tests/convert/folder.c tests/convert/folder.h
tests_convert_check_config_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_config_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/convert/check_emit
TESTS += tests/convert/check_emit
tests_convert_check_emit_SOURCES = tests/convert/check_emit.c tests/convert/folder.c tests/convert/folder.h
tests_convert_check_emit_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_emit_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/convert/check_identity
TESTS += tests/convert/check_identity
tests_convert_check_identity_SOURCES = tests/convert/check_identity.c
tests_convert_check_identity_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_identity_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/convert/check_metadata
TESTS += tests/convert/check_metadata
tests_convert_check_metadata_SOURCES = tests/convert/check_metadata.c
tests_convert_check_metadata_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_metadata_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/convert/check_names
TESTS += tests/convert/check_names
tests_convert_check_names_SOURCES = tests/convert/check_names.c
tests_convert_check_names_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_names_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

check_PROGRAMS += tests/convert/check_plan
TESTS += tests/convert/check_plan
tests_convert_check_plan_SOURCES = tests/convert/check_plan.c tests/convert/folder.c tests/convert/folder.h
tests_convert_check_plan_LDADD = $(TEST_LIBS) $(CONVERT_LIBS) $(CHECK_LIBS)
tests_convert_check_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

dist_check_SCRIPTS += tests/convert/cli.sh tests/convert/hostile.sh
TESTS += tests/convert/cli.sh tests/convert/hostile.sh
include tests/convert/vocab.mk
