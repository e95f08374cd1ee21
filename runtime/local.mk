# SPDX-License-Identifier: Apache-2.0
noinst_LIBRARIES += libruntime.a
libruntime_a_SOURCES = runtime/model.h runtime/tokenizer.h runtime/commands.h
