# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libpack.a
libpack_a_SOURCES = \
	pack/emit.c pack/emit.h \
	pack/encode.c pack/encode.h \
	pack/exact.c pack/exact.h \
	pack/options.c pack/options.h \
	pack/plan.c pack/plan.h pack/plan_values.c \
	pack/report.c pack/report.h \
	pack/rules.c pack/rules.h \
	pack/scale.c pack/scale.h \
	pack/stream.c pack/stream.h \
	pack/threshold.c pack/threshold.h pack/threshold_batch.c

bin_PROGRAMS += pack/tern-pack
pack_tern_pack_SOURCES = pack/main.c
pack_tern_pack_LDADD = libpack.a $(KERNELS_LIBS)
dist_man1_MANS += pack/tern-pack.1
