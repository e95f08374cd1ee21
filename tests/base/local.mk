# SPDX-License-Identifier: Apache-2.0
include tests/base/format.mk
include tests/base/util.mk
include tests/base/tok.mk
