# SPDX-License-Identifier: Apache-2.0
libbase_a_SOURCES += base/format/block.h base/format/gguf.h base/format/manifest.h base/format/safetensors.h base/format/stats.h 
