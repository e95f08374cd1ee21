# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/runtime/check_tokenizer tests/runtime/check_chat
TESTS += tests/runtime/check_tokenizer tests/runtime/check_chat
tests_runtime_check_tokenizer_SOURCES = tests/runtime/check_tokenizer.c tests/runtime/vocabulary.c tests/runtime/vocabulary.h
tests_runtime_check_tokenizer_LDADD = $(TEST_LIBS) libconvert.a $(RUNTIME_LIBS) $(CHECK_LIBS)
tests_runtime_check_tokenizer_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
tests_runtime_check_chat_SOURCES = tests/runtime/check_chat.c
tests_runtime_check_chat_LDADD = $(TEST_LIBS) $(RUNTIME_LIBS) $(CHECK_LIBS)
tests_runtime_check_chat_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
