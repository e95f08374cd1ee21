# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcalib.a
libcalib_a_SOURCES = \
	calib/collect.c calib/collect.h \
	calib/corpus.c calib/corpus.h \
	calib/job.c calib/job.h \
	calib/options.c calib/options.h
