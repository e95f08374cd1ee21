/* SPDX-License-Identifier: Apache-2.0 */
/* A safetensors file: the length it claims is cut to what is there, so that the header parser always runs. */
#include <stdlib.h>
#include <string.h>

#include "base/format/safetensors.h"
#include "base/util/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct st_model m = { 0 };
    struct error err = { 0 };
    if (size < 8)
        return 0;
    uint64_t n = bytes_get_u64(data);
    if (n > size - 8)
        n = size - 8;
    uint64_t data_bytes = size - 8 - n, at = 8 + n;
    int rc = st_parse_header(&m, (const char *)data + 8, n, data_bytes, 8 + n, "fuzz", &err);
    if (rc && (!err.text[0] || strchr(err.text, '\n')))
        abort();
    for (size_t i = 0; i < m.n_tensors && !rc; i++) { /* what was accepted tiles the data */
        if (m.tensors[i].offset != at || m.tensors[i].bytes > data_bytes)
            abort();
        at += m.tensors[i].bytes;
    }
    if (!rc && at != size)
        abort();
    st_close(&m);
    return 0;
}
