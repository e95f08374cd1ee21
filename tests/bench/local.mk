# SPDX-License-Identifier: Apache-2.0
check_PROGRAMS += tests/bench/measure
tests_bench_measure_SOURCES = tests/bench/measure.c
