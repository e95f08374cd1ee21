# SPDX-License-Identifier: Apache-2.0
runtime_checks = tests/runtime/check_sample tests/runtime/check_score tests/runtime/check_attention \
	tests/runtime/check_model
check_PROGRAMS += $(runtime_checks) tests/runtime/compare_reference
TESTS += $(runtime_checks)
RUNTIME_CHECK_LIBS = $(TEST_LIBS) $(RUNTIME_LIBS) $(CHECK_LIBS)
RUNTIME_CHECK_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_runtime_check_sample_SOURCES = tests/runtime/check_sample.c
tests_runtime_check_sample_LDADD = $(RUNTIME_CHECK_LIBS)
tests_runtime_check_sample_CFLAGS = $(RUNTIME_CHECK_CFLAGS)
tests_runtime_check_score_SOURCES = tests/runtime/check_score.c
tests_runtime_check_score_LDADD = $(RUNTIME_CHECK_LIBS)
tests_runtime_check_score_CFLAGS = $(RUNTIME_CHECK_CFLAGS)
tests_runtime_check_attention_SOURCES = tests/runtime/check_attention.c
tests_runtime_check_attention_LDADD = $(RUNTIME_CHECK_LIBS)
tests_runtime_check_attention_CFLAGS = $(RUNTIME_CHECK_CFLAGS)
tests_runtime_check_model_SOURCES = tests/runtime/check_model.c
tests_runtime_check_model_LDADD = $(RUNTIME_CHECK_LIBS)
tests_runtime_check_model_CFLAGS = $(RUNTIME_CHECK_CFLAGS)
tests_runtime_compare_reference_SOURCES = tests/runtime/compare_reference.c
tests_runtime_compare_reference_LDADD = $(RUNTIME_LIBS)

runtime_scripts = tests/runtime/logits.sh tests/runtime/perplexity.sh tests/runtime/generate.sh
dist_check_SCRIPTS += $(runtime_scripts)
TESTS += $(runtime_scripts)
include tests/runtime/tok.mk
