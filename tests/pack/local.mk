# SPDX-License-Identifier: Apache-2.0
pack_checks = tests/pack/check_threshold tests/pack/check_exact tests/pack/check_plan \
	tests/pack/check_emit
check_PROGRAMS += $(pack_checks)
TESTS += $(pack_checks)

tests_pack_check_threshold_SOURCES = tests/pack/check_threshold.c
tests_pack_check_threshold_LDADD = libpack.a $(TEST_LIBS) $(KERNELS_LIBS) $(CHECK_LIBS)
tests_pack_check_threshold_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_pack_check_exact_SOURCES = tests/pack/check_exact.c
tests_pack_check_exact_LDADD = libpack.a $(TEST_LIBS) $(KERNELS_LIBS) $(CHECK_LIBS)
tests_pack_check_exact_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_pack_check_plan_SOURCES = tests/pack/check_plan.c tests/pack/model.c tests/pack/model.h
tests_pack_check_plan_LDADD = libpack.a $(TEST_LIBS) $(KERNELS_LIBS) $(CHECK_LIBS)
tests_pack_check_plan_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_pack_check_emit_SOURCES = tests/pack/check_emit.c tests/pack/model.c tests/pack/model.h
tests_pack_check_emit_LDADD = libpack.a $(TEST_LIBS) $(KERNELS_LIBS) $(CHECK_LIBS)
tests_pack_check_emit_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

dist_check_SCRIPTS += tests/pack/pack.sh
TESTS += tests/pack/pack.sh
