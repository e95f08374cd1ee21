# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libconvert.a
libconvert_a_SOURCES =
