/* SPDX-License-Identifier: MIT
 *
 * test_nesting.c - block names with their enclosing blocks.
 */
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "query/query.h"
#include "support/cases.h"
#include "support/random_profile.h"

/* A profile of nothing but blocks. */
static crn_profile of_blocks(crn_block_info *blocks, uint32_t count)
{
    return (crn_profile){.block_count = count, .blocks = blocks};
}

static void assert_name(const crn_profile *profile, uint32_t block, const char *outer,
                        const char *name)
{
    char *found = crn_nesting_outer(profile, block);
    assert_string_equal(found, outer);
    crn_free(found);
    found = crn_nesting_name(profile, block);
    assert_string_equal(found, name);
    crn_free(found);
}

static void enclosing_names_are_not_repeated(void **state)
{
    (void)state;
    crn_block_info blocks[] = {
        {.name = "[root]"},
        {.name = "main chunk of a.lua", .line = 1},
        {.name = "outer", .line = 1, .parent = 1},
        {.name = "inner", .line = 3, .parent = 2},
        {.name = "<true>", .line = 4, .column = 9, .parent = 3},
        {.name = "app::run", .line = 7},
        {.name = "app::run(int)::{lambda()#1}::operator()", .line = 8, .parent = 5},
        {.name = "<case>", .line = 9, .parent = 6},
        {.name = "app::runner", .line = 10, .parent = 5},
        {.name = "main", .line = 1, .column = 5},
        {.name = "<false>", .line = 1, .column = 20, .parent = 9},
    };
    crn_profile profile = of_blocks(blocks, COUNT(blocks));
    assert_name(&profile, 0, "", "[root]");
    assert_name(&profile, 2, "", "outer");
    assert_name(&profile, 3, "outer", "outer.inner");
    assert_name(&profile, 4, "outer.inner", "outer.inner.<true>");
    assert_name(&profile, 6, "", "app::run(int)::{lambda()#1}::operator()");
    assert_name(&profile, 7, "app::run(int)::{lambda()#1}::operator()",
                "app::run(int)::{lambda()#1}::operator().<case>");
    assert_name(&profile, 8, "app::run", "app::run.app::runner");
    assert_name(&profile, 10, "main", "main.<false>");
}

static void cyclic_nesting_ends(void **state)
{
    (void)state;
    crn_block_info blocks[] = {{.name = "[root]"},
                               {.name = "a", .line = 5, .parent = 2},
                               {.name = "b", .line = 5, .parent = 1},
                               {.name = "c", .line = 5, .parent = 3},
                               {.name = "d", .line = 5, .parent = 99}};
    crn_profile profile = of_blocks(blocks, COUNT(blocks));
    uint32_t around[CRN_NESTING_MOST];
    assert_true(crn_nesting_around(&profile, 1, around) <= CRN_NESTING_MOST);
    assert_true(crn_nesting_around(&profile, 3, around) <= CRN_NESTING_MOST);
    assert_int_equal(crn_nesting_around(&profile, 4, around), 0);
}

static void names_of_random_blocks_are_those_of_their_parents(void **state)
{
    (void)state;
    random_source random = {22};
    for (int i = 0; i < 20; i++) {
        crn_profile *profile = random_profile(&random, 12, 100, NULL);
        for (uint32_t b = 1; b < profile->block_count; b++) {
            char expected[512] = "", before[512];
            for (uint32_t at = b; at; at = profile->blocks[at].parent) {
                strcpy(before, expected);
                snprintf(expected, sizeof expected, "%s%s%.400s", profile->blocks[at].name,
                         *before ? "." : "", before);
            }
            char *name = crn_nesting_name(profile, b);
            assert_string_equal(name, expected);
            char expression[1024];
            snprintf(expression, sizeof expression, "\"^%s$\"", name);
            crn_error error;
            uint8_t *set = crn_block_set_make(
                profile, (crn_block_set_about){CRN_METRIC_TICKS, "<gc>"}, expression, &error);
            assert_int_equal(set[b], 1);
            crn_free(set);
            crn_free(name);
        }
        crn_profile_free(profile);
    }
}

int main(void)
{
    static const struct CMUnitTest cases[] = {
        cmocka_unit_test(enclosing_names_are_not_repeated),
        cmocka_unit_test(cyclic_nesting_ends),
        cmocka_unit_test(names_of_random_blocks_are_those_of_their_parents),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
