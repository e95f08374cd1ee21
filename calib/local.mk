# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcalib.a
libcalib_a_SOURCES = \
	calib/collect.c calib/collect.h \
	calib/corpus.c calib/corpus.h \
	calib/job.c calib/job.h \
	calib/options.c calib/options.h
bin_PROGRAMS += calib/tern-calib
calib_tern_calib_SOURCES = calib/main.c
calib_tern_calib_LDADD = libcalib.a $(RUNTIME_LIBS)
dist_man1_MANS += calib/tern-calib.1
