# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES = runtime/model.h runtime/tokenizer.h runtime/commands.h runtime/backend.h runtime/backend_cpu.c \
	runtime/blas.h runtime/blas.c \
	runtime/kv.h runtime/kv.c runtime/rope.h runtime/rope.c runtime/attention.h runtime/attention.c \
	runtime/model_internal.h runtime/model.c runtime/context.c runtime/forward_dense.c \
	runtime/score.h runtime/score.c runtime/kl.h runtime/kl.c runtime/klbase.h runtime/klbase.c \
	runtime/sample.h runtime/sample.c runtime/text_input.h runtime/text_input.c \
	runtime/options.c runtime/env.c runtime/cmd_perplexity.c runtime/cmd_kl.c runtime/cmd_logits.c \
	runtime/cmd_bench.c runtime/cmd_generate.c
include runtime/tokenizer.mk

bin_PROGRAMS += runtime/tern-run
runtime_tern_run_SOURCES = runtime/main.c
runtime_tern_run_LDADD = $(RUNTIME_LIBS)
dist_man1_MANS += runtime/tern-run.1
