# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libverify.a
libverify_a_SOURCES =
