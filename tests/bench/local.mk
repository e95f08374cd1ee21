# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/bench/measure tests/bench/kernels_bench
tests_bench_measure_SOURCES = tests/bench/measure.c

tests_bench_kernels_bench_SOURCES = tests/bench/kernels_bench.c
tests_bench_kernels_bench_LDADD = $(RUNTIME_LIBS)
EXTRA_DIST += tests/bench/bench.sh tests/bench/peers.py

# Speed and memory beside the peers that are installed: make bench BENCH_FLAGS="--json --repeat 5"
BENCH_FLAGS =
.PHONY: bench
bench: all tests/bench/measure tests/bench/kernels_bench
	@$(AM_TESTS_ENVIRONMENT) bash $(srcdir)/tests/bench/bench.sh $(BENCH_FLAGS)
