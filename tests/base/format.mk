# SPDX-License-Identifier: Apache-2.0
format_checks = tests/base/check_block tests/base/check_gguf tests/base/check_hparams tests/base/check_manifest \
	tests/base/check_roles tests/base/check_safetensors tests/base/check_stats
check_PROGRAMS += $(format_checks)
TESTS += $(format_checks)
FORMAT_TEST_LIBS = $(TEST_LIBS) $(BASE_LIBS) $(CHECK_LIBS)
FORMAT_TEST_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)

tests_base_check_block_SOURCES = tests/base/check_block.c
tests_base_check_block_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_block_CFLAGS = $(FORMAT_TEST_CFLAGS)
tests_base_check_gguf_SOURCES = tests/base/check_gguf.c tests/base/check_gguf_write.c tests/base/check_gguf.h \
	tests/base/hostile.c tests/base/hostile.h
tests_base_check_gguf_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_gguf_CFLAGS = $(FORMAT_TEST_CFLAGS)
tests_base_check_hparams_SOURCES = tests/base/check_hparams.c
tests_base_check_hparams_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_hparams_CFLAGS = $(FORMAT_TEST_CFLAGS)
tests_base_check_manifest_SOURCES = tests/base/check_manifest.c
tests_base_check_manifest_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_manifest_CFLAGS = $(FORMAT_TEST_CFLAGS)
tests_base_check_roles_SOURCES = tests/base/check_roles.c
tests_base_check_roles_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_roles_CFLAGS = $(FORMAT_TEST_CFLAGS)
tests_base_check_safetensors_SOURCES = tests/base/check_safetensors.c tests/base/hostile.c tests/base/hostile.h
tests_base_check_safetensors_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_safetensors_CFLAGS = $(FORMAT_TEST_CFLAGS)
tests_base_check_stats_SOURCES = tests/base/check_stats.c
tests_base_check_stats_LDADD = $(FORMAT_TEST_LIBS)
tests_base_check_stats_CFLAGS = $(FORMAT_TEST_CFLAGS)
