/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/scale.h"

#include "base/util/bytes.h"

bool scale_store(double s, uint16_t *bits, struct scale_counts *c)
{
    uint16_t b = bytes_f16_from_f32((float)s);
    *bits = b;
    if (b == 0)
        c->flushed += s > 0;
    else if (b < 0x0400)
        c->subnormal++;
    return b < 0x7c00;
}
