/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "base/util/mem.h"
#include "tests/support/support.h"

START_TEST(arithmetic_refuses_to_wrap)
{
    uint64_t r = 1;
    ck_assert(mem_mul(1u << 31, 1u << 31, &r) && r == (uint64_t)1 << 62);
    ck_assert(!mem_mul((uint64_t)1 << 33, (uint64_t)1 << 31, &r) && r == 0);
    ck_assert(mem_add(UINT64_MAX, 0, &r) && r == UINT64_MAX);
    ck_assert(!mem_add(UINT64_MAX, 1, &r) && r == 0);
    ck_assert(mem_align_up(0, 32, &r) && r == 0);
    ck_assert(mem_align_up(33, 32, &r) && r == 64);
    ck_assert(!mem_align_up(UINT64_MAX - 3, 32, &r));
}
END_TEST

START_TEST(impossible_sizes_are_errors)
{
    struct error e = { 0 };
    ck_assert_ptr_null(mem_zalloc(UINT64_MAX, 8, "tensor list", &e));
    ck_assert_int_eq(e.code, ERROR_NOMEM);
    ck_assert_ptr_nonnull(strstr(e.text, "tensor list"));
    ck_assert_ptr_null(mem_zalloc((uint64_t)1 << 63, 1, "x", &e));
    ck_assert_ptr_null(mem_aligned((uint64_t)1 << 61, 8, "x", NULL));
    void *p = mem_zalloc(4, 4, "x", &e), *before = p;
    ck_assert_int_eq(mem_resize(&p, UINT64_MAX / 2, 4, "x", &e), ERROR_NOMEM);
    ck_assert_ptr_eq(p, before);
    mem_free(p);
}
END_TEST

START_TEST(blocks_are_zeroed_and_aligned)
{
    struct error e = { 0 };
    unsigned char *p = mem_aligned(3, 37, "x", &e), *empty = mem_zalloc(0, 8, "x", &e);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_nonnull(empty);
    ck_assert_uint_eq((uintptr_t)p % 64, 0);
    for (int i = 0; i < 111; i++)
        ck_assert_uint_eq(p[i], 0);
    mem_free(p);
    mem_free(empty);
    mem_free(NULL);
}
END_TEST

START_TEST(reserve_doubles)
{
    struct error e = { 0 };
    void *p = NULL;
    size_t cap = 0;
    ck_ok(mem_reserve(&p, &cap, 1, 4, "x", &e), e);
    ck_assert_uint_eq(cap, 8);
    ck_ok(mem_reserve(&p, &cap, 9, 4, "x", &e), e);
    ck_assert_uint_eq(cap, 16);
    ck_ok(mem_reserve(&p, &cap, 100, 4, "x", &e), e);
    ck_assert_uint_ge(cap, 100);
    ck_assert_int_eq(mem_reserve(&p, &cap, SIZE_MAX, 4, "x", &e), ERROR_NOMEM);
    mem_free(p);
}
END_TEST

START_TEST(arena_holds_many_and_large)
{
    struct error e = { 0 };
    struct arena a = { 0 };
    char *first = arena_strndup(&a, "abcdef", 3, &e);
    for (int i = 1; i < 5000; i++) {
        unsigned char *p = arena_alloc(&a, (uint64_t)i % 97, 1, &e);
        ck_assert_ptr_nonnull(p);
        ck_assert_uint_eq((uintptr_t)p % 16, 0);
        for (int k = 0; k < i % 97; k++)
            ck_assert_uint_eq(p[k], 0);
        memset(p, 0xff, (size_t)i % 97);
    }
    unsigned char *big = arena_alloc(&a, 1 << 20, 3, &e);
    ck_assert_ptr_nonnull(big);
    big[(3 << 20) - 1] = 1;
    ck_assert_str_eq(first, "abc");
    ck_assert_ptr_null(arena_alloc(&a, UINT64_MAX, 2, &e));
    arena_free(&a);
    arena_free(&a);
}
END_TEST

START_TEST(buffer_ends_with_nul)
{
    struct error e = { 0 };
    struct buffer b = { 0 };
    ck_ok(buffer_append(&b, NULL, 0, &e), e);
    ck_assert_str_eq(b.data, "");
    for (int i = 0; i < 1000; i++)
        ck_ok(buffer_printf(&b, &e, "%03d,", i), e);
    ck_ok(buffer_append(&b, "x\0y", 3, &e), e);
    ck_assert_uint_eq(b.len, 4003);
    ck_assert_int_eq(memcmp(b.data + 3996, "999,x\0y", 8), 0);
    ck_assert_int_eq(buffer_append(&b, "", SIZE_MAX - 10, &e), ERROR_NOMEM);
    buffer_free(&b);
    ck_assert_ptr_null(b.data);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("mem");
    TCase *c = tcase_create("mem");
    tcase_add_test(c, arithmetic_refuses_to_wrap);
    tcase_add_test(c, impossible_sizes_are_errors);
    tcase_add_test(c, blocks_are_zeroed_and_aligned);
    tcase_add_test(c, reserve_doubles);
    tcase_add_test(c, arena_holds_many_and_large);
    tcase_add_test(c, buffer_ends_with_nul);
    suite_add_tcase(s, c);
    return s;
}

int main(void)
{
    return support_main(suite);
}
