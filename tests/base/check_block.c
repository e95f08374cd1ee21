/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

#include "base/format/block.h"
#include "tests/support/support.h"

START_TEST(ternary_types)
{
    static const struct {
        const char *name;
        uint32_t id, weights, bytes, file_type;
    } want[] = {
        { "TQ1_0", 34, 256, 54, 36 },   { "TQ2_0", 35, 256, 66, 37 },    { "Q2_0", 42, 64, 18, 41 },
        { "PQ2_0", 142, 128, 34, 141 }, { "PTQ1_0", 143, 128, 28, 143 },
    };
    for (int i = 0; i < 5; i++) {
        const struct block_info *b = block_by_name(want[i].name);
        ck_assert_ptr_nonnull(b);
        ck_assert_ptr_eq(b, block_info(want[i].id));
        ck_assert_uint_eq(b->weights, want[i].weights);
        ck_assert_uint_eq(b->bytes, want[i].bytes);
        ck_assert_uint_eq(b->file_type, want[i].file_type);
        ck_assert(b->ternary && b->decodes);
    }
}
END_TEST

START_TEST(table_is_sound)
{
    const struct block_info *b, *before = NULL;
    int n = 0, ternary = 0;
    for (unsigned i = 0; (b = block_at(i)); i++, n++, before = b) {
        ck_assert_msg(!before || before->id < b->id, "ids must rise: %s", b->name);
        ck_assert_uint_ge(b->weights, 1);
        ck_assert_uint_ge(b->bytes, 1);
        ck_assert_ptr_eq(block_by_name(b->name), b);
        ternary += b->ternary;
    }
    ck_assert_int_eq(n, 37);
    ck_assert_int_eq(ternary, 5);
    ck_assert_ptr_null(block_at(1000));
}
END_TEST

START_TEST(unknown_ids)
{
    static const uint32_t retired[] = { 4, 5, 31, 32, 33, 36, 37, 38, 43, 134, 135 };
    for (unsigned i = 0; i < sizeof retired / sizeof *retired; i++) {
        ck_assert_ptr_null(block_info(retired[i]));
        ck_assert_ptr_nonnull(block_foreign(retired[i]));
    }
    ck_assert_ptr_null(block_info(250));
    ck_assert_ptr_null(block_info(UINT32_MAX));
    ck_assert_ptr_null(block_foreign(250));
    ck_assert_ptr_nonnull(block_by_name("tq1_0"));
    ck_assert_ptr_null(block_by_name("TQ1"));
    ck_assert_ptr_null(block_by_name(""));
}
END_TEST

START_TEST(row_bytes)
{
    uint64_t bytes;
    const struct block_info *q2 = block_info(BLOCK_Q2_0), *f64 = block_info(BLOCK_F64);
    ck_assert(block_row_bytes(q2, 576, &bytes) && bytes == 162);
    ck_assert(block_row_bytes(q2, 0, &bytes) && bytes == 0);
    ck_assert(!block_row_bytes(q2, 577, &bytes));
    ck_assert(!block_row_bytes(block_info(BLOCK_TQ1_0), 576, &bytes));
    ck_assert(block_row_bytes(f64, UINT64_MAX / 8, &bytes) && bytes == UINT64_MAX / 8 * 8);
    ck_assert(!block_row_bytes(f64, UINT64_MAX / 8 + 1, &bytes));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("block");
    TCase *t = tcase_create("table");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, ternary_types);
    tcase_add_test(t, table_is_sound);
    tcase_add_test(t, unknown_ids);
    tcase_add_test(t, row_bytes);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
