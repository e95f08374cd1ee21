# SPDX-License-Identifier: Apache-2.0
libbase_a_SOURCES += \
	base/format/block.c base/format/block.h \
	base/format/gguf.h base/format/gguf_index.h base/format/gguf_read.c base/format/gguf_value.c \
	base/format/gguf_write.c \
	base/format/manifest.c base/format/manifest.h \
	base/format/names.c base/format/names.h \
	base/format/safetensors.c base/format/safetensors.h base/format/safetensors_dir.c base/format/safetensors_index.h \
	base/format/sniff.c base/format/sniff.h \
	base/format/stats.c base/format/stats.h
