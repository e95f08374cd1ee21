# SPDX-License-Identifier: Apache-2.0
libbase_a_SOURCES += \
	base/util/bytes.h \
	base/util/cli.h base/util/cli_help.c base/util/cli_parse.c base/util/cli_private.h \
	base/util/digest.c base/util/digest.h \
	base/util/error.c base/util/error.h \
	base/util/file.c base/util/file.h base/util/file_private.h base/util/output.c base/util/writer.c \
	base/util/interrupt.c \
	base/util/json.c base/util/json.h base/util/json_get.c base/util/json_private.h base/util/json_scan.c \
	base/util/mem.c base/util/mem.h \
	base/util/parallel.c base/util/parallel.h base/util/pipe.c base/util/pool_private.h \
	base/util/progress.c base/util/progress.h \
	base/util/rng.h \
	base/util/text.c base/util/text.h
