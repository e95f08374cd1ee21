/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/model/roles.h"
#include "tests/support/support.h"

START_TEST(there_and_back)
{
    for (int r = 0; r < ROLE_OTHER; r++) {
        char name[64];
        int layer = 7, want = role_info(r)->per_layer ? 12 : -1;
        ck_assert_int_eq(role_info(r)->role, r);
        ck_assert_int_eq(role_of(role_name(r, 12, name), &layer), r);
        ck_assert_int_eq(layer, want);
    }
    ck_assert_int_eq(role_info(1000)->role, ROLE_OTHER);
    ck_assert_int_eq(role_of("blk.0.attn_q.weight", NULL), ROLE_ATTN_Q);
}
END_TEST

START_TEST(linear_roles)
{
    int n = 0;
    for (int r = 0; r <= ROLE_OTHER; r++)
        n += role_info(r)->linear;
    ck_assert_int_eq(n, 7);
    ck_assert(!role_info(ROLE_OUTPUT)->linear && !role_info(ROLE_TOKEN_EMBD)->linear);
}
END_TEST

START_TEST(strange_names)
{
    static const struct {
        const char *name;
        int layer;
    } rows[] = {
        { "", -1 },
        { "blk.", -1 },
        { "blk.attn_q.weight", -1 },
        { "blk..attn_q.weight", -1 },
        { "blk.01.attn_q.weight", -1 },
        { "blk.-1.attn_q.weight", -1 },
        { "blk. 1.attn_q.weight", -1 },
        { "blk.1", -1 },
        { "blk.1.", 1 },
        { "blk.1.token_embd.weight", 1 },
        { "blk.2147483648.attn_q.weight", -1 },
        { "blk.99999999999999999999999999.attn_q.weight", -1 },
        { "attn_q.weight", -1 },
        { "blk.3.attn_q.bias", 3 },
        { "token_embd.weight2", -1 },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        int layer = -5;
        ck_assert_msg(role_of(rows[i].name, &layer) == ROLE_OTHER, "%s", rows[i].name);
        ck_assert_msg(layer == rows[i].layer, "%s: layer %d", rows[i].name, layer);
    }
    int layer;
    ck_assert_int_eq(role_of("blk.2147483647.attn_q.weight", &layer), ROLE_ATTN_Q);
    ck_assert_int_eq(layer, 2147483647);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("roles");
    TCase *t = tcase_create("names");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, there_and_back);
    tcase_add_test(t, linear_roles);
    tcase_add_test(t, strange_names);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return support_main(suite);
}
