/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "convert/names.h"
#include "tests/support/support.h"

START_TEST(roles_and_back)
{
    static const char *const prefixes[] = { "model.", "", "model.language_model.", "language_model.model.",
                                            "model.model." };
    char name[HFNAMES_MAX];
    for (size_t p = 0; p < 5; p++)
        for (enum role r = 0; r < ROLE_OTHER; r++) {
            if (r == ROLE_ROPE_FREQS) /* computed, never stored */
                continue;
            int layer = role_info(r)->per_layer ? 17 : -1;
            struct names_match m = names_of(&family_qwen3, prefixes[p], hfnames_make(r, layer, prefixes[p], name));
            ck_assert_msg(m.use == NAMES_TENSOR && m.role == r && m.layer == layer, "%s", name);
        }
    ck_assert_str_eq(hfnames_make(ROLE_FFN_UP, 3, "model.", name), "model.layers.3.mlp.up_proj.weight");
    ck_assert_str_eq(hfnames_make(ROLE_OUTPUT, -1, "model.", name), "lm_head.weight");
    ck_assert_str_eq(hfnames_make(ROLE_OUTPUT, -1, "language_model.model.", name), "language_model.lm_head.weight");
}
END_TEST

START_TEST(what_is_not_a_tensor_of_the_model)
{
    static const struct {
        const char *name;
        enum names_use use;
    } rows[] = {
        { "model.layers.0.self_attn.rotary_emb.inv_freq", NAMES_DROP },
        { "model.rotary_emb.inv_freq", NAMES_DROP },
        { "model.layers.0.mlp.up_proj.input_scale", NAMES_DROP },
        { "lm_head.weight._scale", NAMES_QUANTISED },
        { "model.layers.0.mlp.up_proj.weight_packed", NAMES_QUANTISED },
        { "model.layers.0.mlp.up_proj.weight_scale_inv", NAMES_QUANTISED },
        { "model.layers.0.mlp.up_proj.qweight", NAMES_QUANTISED },
        { "model.layers.0.mlp.up_proj.bias", NAMES_UNKNOWN },
        { "model.layers.00.mlp.up_proj.weight", NAMES_UNKNOWN },
        { "model.layers.-1.mlp.up_proj.weight", NAMES_UNKNOWN },
        { "model.layers.4294967296.mlp.up_proj.weight", NAMES_UNKNOWN },
        { "model.layers..mlp.up_proj.weight", NAMES_UNKNOWN },
        { "model.layers.0.norm.weight", NAMES_UNKNOWN },
        { "model.layers.0.lm_head.weight", NAMES_UNKNOWN },
        { "model.mlp.up_proj.weight", NAMES_UNKNOWN },
        { "layers.0.mlp.up_proj.weight", NAMES_UNKNOWN },
        { "", NAMES_UNKNOWN },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(names_of(&family_llama, "model.", rows[i].name).use == rows[i].use, "%s", rows[i].name);
}
END_TEST

START_TEST(head_norms_only_where_they_exist)
{
    const char *name = "model.layers.0.self_attn.q_norm.weight";
    ck_assert_int_eq(names_of(&family_qwen3, "model.", name).use, NAMES_TENSOR);
    ck_assert_int_eq(names_of(&family_llama, "model.", name).use, NAMES_UNKNOWN);
}
END_TEST

START_TEST(suggestions)
{
    char buf[HFNAMES_MAX];
    ck_assert_str_eq(names_nearest(&family_llama, "model.", "model.layers.7.mlp.up_prj.weight", buf),
                     "model.layers.7.mlp.up_proj.weight");
    ck_assert_str_eq(names_nearest(&family_llama, "model.", "embed_tokens.weight", buf), "model.embed_tokens.weight");
    ck_assert_ptr_null(names_nearest(&family_llama, "model.", "vision_tower.patch.3.conv", buf));
    char longest[2000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    ck_assert_ptr_null(names_nearest(&family_llama, "model.", longest, buf));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("names");
    TCase *c = tcase_create("names");
    suite_add_tcase(s, c);
    tcase_add_test(c, roles_and_back);
    tcase_add_test(c, what_is_not_a_tensor_of_the_model);
    tcase_add_test(c, head_norms_only_where_they_exist);
    tcase_add_test(c, suggestions);
    return s;
}

int main(void)
{
    return support_main(suite);
}
