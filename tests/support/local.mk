# SPDX-License-Identifier: Apache-2.0
check_LIBRARIES += libtestsupport.a
libtestsupport_a_SOURCES = tests/support/support.c tests/support/support.h
libtestsupport_a_CFLAGS = $(AM_CFLAGS) $(CHECK_CFLAGS)
EXTRA_DIST += tests/support/env.sh tests/data
