/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "convert/metadata.h"
#include "tests/support/support.h"

static int parse(struct metadata *m, const char **items, size_t n, struct error *err)
{
    struct cli_list list = { items, n };
    return metadata_parse(m, &list, "llama", err);
}

START_TEST(accepts_text_keys)
{
    static const char *items[] = { "general.author=A = B", "general.basename=", "my.own-key_1=x" };
    struct metadata m;
    struct error err = { 0 };
    ck_ok(parse(&m, items, 3, &err), err);
    ck_assert_str_eq(metadata_get(&m, "general.author"), "A = B");
    ck_assert_str_eq(metadata_get(&m, "general.basename"), "");
    ck_assert_ptr_null(metadata_get(&m, "general.name"));
    ck_assert(metadata_is_identity("general.license.link") && !metadata_is_identity("my.own-key_1"));
    metadata_free(&m);
}
END_TEST

START_TEST(refuses_the_rest)
{
    static const char *bad[] = { "general.author",
                                 "=x",
                                 "nodot=x",
                                 "general.file_type=1",
                                 "llama.block_count=2",
                                 "tokenizer.x=y",
                                 "sp ace.key=x",
                                 "ternpack.version=1",
                                 "a.b=\xff" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct metadata m;
        struct error err = { 0 };
        ck_assert_msg(parse(&m, &bad[i], 1, &err) == ERROR_USAGE, "%s", bad[i]);
        ck_assert_ptr_null(m.items);
    }
    static const char *twice[] = { "a.b=1", "a.b=2" };
    struct metadata m;
    struct error err = { 0 };
    ck_assert_int_eq(parse(&m, twice, 2, &err), ERROR_USAGE);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("metadata");
    TCase *c = tcase_create("metadata");
    suite_add_tcase(s, c);
    tcase_add_test(c, accepts_text_keys);
    tcase_add_test(c, refuses_the_rest);
    return s;
}

int main(void)
{
    return support_main(suite);
}
