# SPDX-License-Identifier: Apache-2.0
FUZZ_TARGETS += fuzz_tokenizer
FUZZ_SEEDS_fuzz_tokenizer = tests/fuzz/tokenizer_seed.gguf data/hostile/bad.tsv data/hostile/*/tokenizer.json \
	data/hostile/gguf_ok*.gguf NEWS.md
EXTRA_DIST += tests/fuzz/tokenizer_seed.gguf
if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_tokenizer
endif
tests_fuzz_fuzz_tokenizer_SOURCES = tests/fuzz/fuzz_tokenizer.c
tests_fuzz_fuzz_tokenizer_LDADD = $(RUNTIME_LIBS)
tests_fuzz_fuzz_tokenizer_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
