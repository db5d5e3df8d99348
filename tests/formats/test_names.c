/* SPDX-License-Identifier: MIT
 *
 * test_names.c - names of blocks in formats that have nothing but names.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/names.h"
#include "support.h"
#include "support/cases.h"

/* A profile in which each of the blocks has a context. */
static crn_profile *with_blocks(const crn_block_info *blocks, size_t count)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    for (size_t i = 0; i < count; i++)
        crn_profile_builder_child(builder, crn_profile_builder_root(builder),
                                  crn_profile_builder_block(builder, &blocks[i]), 1);
    return crn_profile_builder_end(builder);
}

static void check_labels(const crn_block_info *blocks, const char *const *labels, size_t count)
{
    crn_profile *profile = with_blocks(blocks, count);
    crn_names names;
    crn_names_open(&names, profile);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(names.labels[i + 1], labels[i]);
    crn_names_close(&names);
    crn_profile_free(profile);
}

static void test_qualified(void **state)
{
    (void)state;
    static const crn_block_info blocks[] = {
        {"alone", "a.lua", 1, 0, 0, 0},   {"Tak", "tak.sml", 1, 0, 0, 0},
        {"Gak", "gak.sml", 2, 0, 0, 0},   {"tak1", "tak.sml", 3, 0, 2, 0},
        {"tak1", "gak.sml", 3, 0, 3, 0},  {"new", "a.lua", 5, 0, 0, 0},
        {"new", "b.lua", 5, 0, 0, 0},     {"lambda", "c.lua", 9, 4, 0, 0},
        {"lambda", "c.lua", 9, 20, 0, 0}, {"Out.in", "o.sml", 1, 0, 0, 0},
        {"", "x.lua", 3, 0, 0, 0},
    };
    static const char *const labels[] = {
        "alone",
        "Tak",
        "Gak",
        "Tak.tak1",
        "Gak.tak1",
        "new a.lua:5",
        "new b.lua:5",
        "lambda c.lua:9:4",
        "lambda c.lua:9:20",
        "Out.in",
        "[unnamed]",
    };
    check_labels(blocks, labels, COUNT(blocks));
}

/* Blocks that differ only in a parent without a name are told apart by a number. */
static void test_numbered(void **state)
{
    (void)state;
    static const crn_block_info blocks[] = {{"p", "", 0, 0, 0, 0},
                                            {"p", "", 1, 0, 0, 0},
                                            {"in", "", 0, 0, 1, 0},
                                            {"in", "", 0, 0, 2, 0}};
    static const char *const labels[] = {"p #1", "p #2", "p.in #3", "p.in #4"};
    check_labels(blocks, labels, COUNT(blocks));
}

static void test_utf8(void **state)
{
    (void)state;
#define BAD "\xef\xbf\xbd"
    static const char *const texts[][2] = {
        {"plain", "plain"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff", BAD},
        {"a\xc3", "a" BAD},
        {"\xc0\x80", BAD BAD},                 /* overlong form */
        {"\xed\xa0\x80", BAD BAD BAD},         /* a surrogate */
        {"\xe0\x80\x80", BAD BAD BAD},         /* overlong form */
        {"\xf4\x90\x80\x80", BAD BAD BAD BAD}, /* beyond the last character */
        {"\xe2\x82x", BAD BAD "x"},
        {"\xf0\x9f\x98", BAD BAD BAD},
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        char *valid = crn_text_copy(texts[i][0], false);
        assert_string_equal(valid, texts[i][1]);
        crn_free(valid);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qualified),
        cmocka_unit_test(test_numbered),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
