/* SPDX-License-Identifier: Apache-2.0 */
#include "base/format/block.h"

#include <stddef.h>
#include <strings.h>

#include "base/util/mem.h"

#define MAINLINE "llama.cpp"
#define PRISM "the Prism fork of llama.cpp, v7 and later"
#define NO_FTYPE UINT32_MAX

/* id, name, weights and bytes per block, general.file_type (of a mixed family: its middle member), ternary, decodes */
static const struct block_info table[] = {
    { BLOCK_F32, "F32", 1, 4, 0, false, true, MAINLINE },
    { BLOCK_F16, "F16", 1, 2, 1, false, true, MAINLINE },
    { BLOCK_Q4_0, "Q4_0", 32, 18, 2, false, true, MAINLINE },
    { 3, "Q4_1", 32, 20, 3, false, false, MAINLINE },
    { 6, "Q5_0", 32, 22, 8, false, false, MAINLINE },
    { 7, "Q5_1", 32, 24, 9, false, false, MAINLINE },
    { BLOCK_Q8_0, "Q8_0", 32, 34, 7, false, true, MAINLINE },
    { 9, "Q8_1", 32, 36, NO_FTYPE, false, false, MAINLINE },
    { 10, "Q2_K", 256, 84, 10, false, false, MAINLINE },
    { 11, "Q3_K", 256, 110, 12, false, false, MAINLINE },
    { 12, "Q4_K", 256, 144, 15, false, false, MAINLINE },
    { 13, "Q5_K", 256, 176, 17, false, false, MAINLINE },
    { 14, "Q6_K", 256, 210, 18, false, false, MAINLINE },
    { 15, "Q8_K", 256, 292, NO_FTYPE, false, false, MAINLINE },
    { 16, "IQ2_XXS", 256, 66, 19, false, false, MAINLINE },
    { 17, "IQ2_XS", 256, 74, 20, false, false, MAINLINE },
    { 18, "IQ3_XXS", 256, 98, 23, false, false, MAINLINE },
    { 19, "IQ1_S", 256, 50, 24, false, false, MAINLINE },
    { 20, "IQ4_NL", 32, 18, 25, false, false, MAINLINE },
    { 21, "IQ3_S", 256, 110, 26, false, false, MAINLINE },
    { 22, "IQ2_S", 256, 82, 28, false, false, MAINLINE },
    { 23, "IQ4_XS", 256, 136, 30, false, false, MAINLINE },
    { BLOCK_I8, "I8", 1, 1, NO_FTYPE, false, false, MAINLINE },
    { BLOCK_I16, "I16", 1, 2, NO_FTYPE, false, false, MAINLINE },
    { BLOCK_I32, "I32", 1, 4, NO_FTYPE, false, false, MAINLINE },
    { BLOCK_I64, "I64", 1, 8, NO_FTYPE, false, false, MAINLINE },
    { BLOCK_F64, "F64", 1, 8, NO_FTYPE, false, false, MAINLINE },
    { 29, "IQ1_M", 256, 56, 31, false, false, MAINLINE },
    { BLOCK_BF16, "BF16", 1, 2, 32, false, true, MAINLINE },
    { BLOCK_TQ1_0, "TQ1_0", 256, 54, 36, true, true, MAINLINE },
    { BLOCK_TQ2_0, "TQ2_0", 256, 66, 37, true, true, MAINLINE },
    { 39, "MXFP4", 32, 17, 38, false, false, MAINLINE },
    { 40, "NVFP4", 64, 36, 39, false, false, MAINLINE },
    { BLOCK_Q1_0, "Q1_0", 128, 18, 40, false, false, MAINLINE },
    { BLOCK_Q2_0, "Q2_0", 64, 18, 41, true, true, MAINLINE },
    { BLOCK_PQ2_0, "PQ2_0", 128, 34, 141, true, true, PRISM },
    { BLOCK_PTQ1_0, "PTQ1_0", 128, 28, 143, true, true, PRISM },
};

const struct block_info *block_at(unsigned index)
{
    return index < sizeof table / sizeof *table ? &table[index] : NULL;
}

const struct block_info *block_info(uint32_t id)
{
    const struct block_info *b;
    for (unsigned i = 0; (b = block_at(i)); i++)
        if (b->id == id)
            return b;
    return NULL;
}

const struct block_info *block_by_name(const char *name)
{
    const struct block_info *b;
    for (unsigned i = 0; (b = block_at(i)); i++)
        if (!strcasecmp(b->name, name))
            return b;
    return NULL;
}

/* Ids that some other program gave a meaning to; for the error line only. */
const char *block_foreign(uint32_t id)
{
    switch (id) {
    case 4:
    case 5:
        return "Q4_2 or Q4_3, removed from ggml";
    case 31:
    case 32:
    case 33:
        return "a repacked Q4_0, removed from ggml";
    case 36:
        return "I2_S of the microsoft/BitNet fork";
    case 37:
        return "I8_S of the microsoft/BitNet fork";
    case 38:
        return "TL1 of the microsoft/BitNet fork";
    case 43:
        return "STQ1_0 of an unmerged llama.cpp change, or T5B of a BitNet patch";
    case 134:
        return "IQ1_BN of ik_llama.cpp";
    case 135:
        return "IQ2_BN of ik_llama.cpp";
    default:
        return NULL;
    }
}

bool block_row_bytes(const struct block_info *b, uint64_t n, uint64_t *bytes)
{
    *bytes = 0;
    return n % b->weights == 0 && mem_mul(n / b->weights, b->bytes, bytes);
}
