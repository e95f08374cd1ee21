# SPDX-License-Identifier: Apache-2.0
libbase_a_SOURCES += \
	base/model/hfnames.c base/model/hfnames.h \
	base/model/hparams.c base/model/hparams.h \
	base/model/pretokenizer.c base/model/pretokenizer.h \
	base/model/roles.c base/model/roles.h
