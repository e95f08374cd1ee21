# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libdriver.a
libdriver_a_SOURCES = \
	driver/child.c driver/child.h \
	driver/command.c driver/command.h \
	driver/driver.h \
	driver/facts.c driver/facts.h \
	driver/inputs.c \
	driver/options.c driver/options.h \
	driver/plan.c \
	driver/preflight.c \
	driver/programs.c driver/programs.h \
	driver/report.c \
	driver/state.c \
	driver/steps.c \
	driver/talk.c driver/talk.h \
	driver/workdir.c

bin_PROGRAMS += driver/ternpack
driver_ternpack_SOURCES = driver/main.c
driver_ternpack_LDADD = libdriver.a $(BASE_LIBS)
dist_man1_MANS += driver/ternpack.1
