/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the GGUF reader: names to positions in gguf.kv and gguf.tensors. */
#ifndef TERNPACK_BASE_FORMAT_GGUF_INDEX_H
#define TERNPACK_BASE_FORMAT_GGUF_INDEX_H

#include "base/format/names.h"

struct gguf_index {
    struct names keys, tensors;
};

#endif
