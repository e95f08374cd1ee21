# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libcalib.a
libcalib_a_SOURCES =
