# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES =
include base/util/local.mk
include base/format/local.mk
include base/model/local.mk
