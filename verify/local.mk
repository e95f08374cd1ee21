# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libverify.a
libverify_a_SOURCES = \
	verify/checksum.c verify/checksum.h \
	verify/cmd_check.c verify/cmd_check.h \
	verify/codes.c verify/codes.h \
	verify/compare.c verify/compare.h \
	verify/dump.c verify/dump.h \
	verify/folder.c verify/folder.h \
	verify/listing.c verify/listing.h \
	verify/options.c verify/options.h \
	verify/pass.c verify/pass.h \
	verify/reference.c verify/reference.h \
	verify/report.c verify/report.h \
	verify/rotation.c verify/rotation.h \
	verify/scan.c verify/scan.h \
	verify/structure.c verify/structure.h \
	verify/table.c verify/table.h \
	verify/verify.c verify/verify.h

bin_PROGRAMS += verify/tern-verify
verify_tern_verify_SOURCES = verify/main.c
verify_tern_verify_LDADD = libverify.a $(KERNELS_LIBS)
dist_man1_MANS += verify/tern-verify.1
