/* SPDX-License-Identifier: MIT
 *
 * test_long.c - takes minutes: a hundred million tail calls in a sequence that never repeats.
 */
#include "support/cases.h"
#include "support/profiles.h"
#include "support/scratch.h"
#include "support/streams.h"

static void tail_calls(const cairn_options *options, uint64_t most)
{
    uint64_t count = scale(100000000);
    setup s = setup_open(options, 3);
    cairn_enter(s.strand, 1);
    for (uint64_t i = 0; i < count; i++) {
        cairn_replace(s.strand, 1 + stream_square_free(i));
        cairn_tick(s.strand, 1);
    }
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    assert_int_equal(total_of(s.profile).calls, count + 2);
    assert_int_equal(total_of(s.profile).ticks, count);
    assert_in_range(contexts_in(s.profile), 1, most);
    assert_int_equal(cairn_profile_status(s.profile), CAIRN_OK);
    setup_close(&s);
}

static void a_hundred_million_square_free_tail_calls(void **state)
{
    (void)state;
    const cairn_options options = CAIRN_OPTIONS_DEFAULT;
    tail_calls(&options, options.context_budget + 5);
}

static void the_same_within_a_small_budget(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.context_budget = 1000;
    tail_calls(&options, 1005);
}

static void the_same_without_a_path_limit(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path_limit = 200000;
    options.context_budget = 100000;
    tail_calls(&options, 100005);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_hundred_million_square_free_tail_calls),
        cmocka_unit_test(the_same_within_a_small_budget),
        cmocka_unit_test(the_same_without_a_path_limit),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
