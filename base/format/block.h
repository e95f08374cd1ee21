/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor types of GGUF files: ids, block sizes, and the byte layout of the ternary blocks (docs/format.md, section 2).
 * Sizes are asserted beside each struct.
 */
#ifndef TERNPACK_BASE_FORMAT_BLOCK_H
#define TERNPACK_BASE_FORMAT_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

enum block_type {
    BLOCK_F32 = 0,
    BLOCK_F16 = 1,
    BLOCK_Q4_0 = 2,
    BLOCK_Q8_0 = 8,
    BLOCK_I8 = 24,
    BLOCK_I16 = 25,
    BLOCK_I32 = 26,
    BLOCK_I64 = 27,
    BLOCK_F64 = 28,
    BLOCK_BF16 = 30,
    BLOCK_TQ1_0 = 34,
    BLOCK_TQ2_0 = 35,
    BLOCK_Q1_0 = 41,
    BLOCK_Q2_0 = 42,
    BLOCK_PQ2_0 = 142,
    BLOCK_PTQ1_0 = 143,
};

struct block_info {
    uint32_t id;
    const char *name;    /* "TQ2_0" */
    uint32_t weights;    /* weights per block; rows are whole blocks */
    uint32_t bytes;      /* bytes per block */
    uint32_t file_type;  /* general.file_type of a file mostly of this type; UINT32_MAX: none */
    bool ternary;        /* one of the five ternary packings */
    bool decodes;        /* kernels/codec.h can dequantize it */
    const char *readers; /* who opens it: "llama.cpp", "Prism fork of llama.cpp v7 and later" */
};

/* NULL for ids no reader we know of accepts (retired, unknown). Covers every live mainline id and 142, 143. */
const struct block_info *block_info(uint32_t id);
const struct block_info *block_by_name(const char *name); /* case-insensitive; NULL when unknown */
/* What another program means by an id that block_info does not know ("I2_S of the microsoft/BitNet fork"); NULL:
 * nobody. */
const char *block_foreign(uint32_t id);
/* Iterate over the table; NULL past the end. */
const struct block_info *block_at(unsigned index);
/* Bytes of a row of n weights; false when the block does not divide n or on overflow. */
bool block_row_bytes(const struct block_info *b, uint64_t n, uint64_t *bytes);

/* d is an fp16 bit pattern throughout. */
struct block_tq1_0 { /* 256 weights; base 3, first weight = most significant digit */
    uint8_t qs[48];  /* qs[0..31]: w = 32n+m, digit n of qs[m]; qs[32..47]: w = 160+16n+m, digit n of qs[32+m] */
    uint8_t qh[4];   /* w = 240+4n+j, digit n (0..3) of qh[j]; fifth digit 0 */
    uint16_t d;
};
struct block_tq2_0 { /* 256 weights; w = 128h+32n+m: bits 2n..2n+1 of qs[32h+m] */
    uint8_t qs[64];
    uint16_t d;
};
struct block_q2_0 { /* 64 weights; w: byte w/4, bits 2(w%4).. */
    uint16_t d;
    uint8_t qs[16];
};
struct block_pq2_0 { /* 128 weights, as Q2_0 */
    uint16_t d;
    uint8_t qs[32];
};
struct block_ptq1_0 { /* 128 weights; stages of 16, 8 and 2 */
    uint8_t qs[24];   /* qs[0..15]: w = 16n+m; qs[16..23]: w = 80+8n+m */
    uint8_t qh[2];    /* w = 120+2n+h, digits 0..3 */
    uint16_t d;
};
struct block_q8_0 { /* 32 weights */
    uint16_t d;
    int8_t qs[32];
};

_Static_assert(sizeof(struct block_tq1_0) == 54, "TQ1_0 block is 54 bytes");
_Static_assert(sizeof(struct block_tq2_0) == 66, "TQ2_0 block is 66 bytes");
_Static_assert(sizeof(struct block_q2_0) == 18, "Q2_0 block is 18 bytes");
_Static_assert(sizeof(struct block_pq2_0) == 34, "PQ2_0 block is 34 bytes");
_Static_assert(sizeof(struct block_ptq1_0) == 28, "PTQ1_0 block is 28 bytes");
_Static_assert(sizeof(struct block_q8_0) == 34, "Q8_0 block is 34 bytes");

#endif
