# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libpack.a
libpack_a_SOURCES =
