# SPDX-License-Identifier: Apache-2.0
# libFuzzer targets: configure CC=clang --enable-fuzzers, then `make fuzz-run FUZZ_SECONDS=30` (one: FUZZ_TARGET=fuzz_gguf).
# A target NAME is tests/fuzz/NAME.c; its seeds are the files that match FUZZ_SEEDS_NAME below the source tree.
FUZZ_SECONDS = 30
FUZZ_TARGETS = fuzz_json fuzz_safetensors fuzz_gguf
FUZZ_SEEDS_fuzz_json = data/*/*.json data/hostile/*/*.json tests/data/arch/*/config.json
FUZZ_SEEDS_fuzz_safetensors = data/hostile/st_* data/hostile/*/*.safetensors
FUZZ_SEEDS_fuzz_gguf = data/hostile/gguf_*
EXTRA_DIST += tests/fuzz/run.sh

if FUZZERS
noinst_PROGRAMS += tests/fuzz/fuzz_json tests/fuzz/fuzz_safetensors tests/fuzz/fuzz_gguf
endif
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c
tests_fuzz_fuzz_json_LDADD = $(BASE_LIBS)
tests_fuzz_fuzz_json_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_safetensors_SOURCES = tests/fuzz/fuzz_safetensors.c
tests_fuzz_fuzz_safetensors_LDADD = $(BASE_LIBS)
tests_fuzz_fuzz_safetensors_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_fuzz_gguf_SOURCES = tests/fuzz/fuzz_gguf.c
tests_fuzz_fuzz_gguf_LDADD = $(BASE_LIBS)
tests_fuzz_fuzz_gguf_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer

.PHONY: fuzz-list fuzz-run
fuzz-list:
	@printf '%s\n' $(FUZZ_TARGETS)
# Each target in turn, or FUZZ_TARGET alone; the first finding fails and stays in fuzz/ below the build folder.
fuzz-run:
	@for t in $(or $(FUZZ_TARGET),$(FUZZ_TARGETS)); do \
		bash $(srcdir)/tests/fuzz/run.sh '$(abs_srcdir)' "$$t" '$(FUZZ_SECONDS)' \
			$(foreach t,$(FUZZ_TARGETS),"$t:$(FUZZ_SEEDS_$(t))") || exit 1; \
	done
include tests/fuzz/tok.mk
