/* SPDX-License-Identifier: MIT
 *
 * test_strands.c - the effect of each verb on a strand, by example.
 */
#include <errno.h>

#include "support/cases.h"
#include "support/profiles.h"
#include "support/scratch.h"

static void a_call_is_counted_for_its_caller(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    for (int i = 0; i < 5; i++) {
        cairn_enter(s.strand, 1);
        cairn_enter(s.strand, 2);
        cairn_tick(s.strand, 10);
        cairn_leave(s.strand);
        cairn_tick(s.strand, 1);
        cairn_leave(s.strand);
    }
    cairn_enter(s.strand, 2);
    cairn_leave(s.strand);
    cairn_tick(s.strand, 100);
    assert_int_equal(cost_at(s.profile, "").calls, 1);
    assert_int_equal(cost_at(s.profile, "").ticks, 100);
    assert_int_equal(cost_at(s.profile, "1").calls, 5);
    assert_int_equal(cost_at(s.profile, "1").ticks, 5);
    assert_int_equal(cost_at(s.profile, "1 2").calls, 5);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 50);
    assert_int_equal(cost_at(s.profile, "2").calls, 1);
    assert_int_equal(cost_at(s.profile, "2 1").calls, 0);
    assert_int_equal(calls_ending_in(s.profile, "2"), 6);
    assert_int_equal(calls_ending_in(s.profile, "1 2"), 5);
    assert_int_equal(calls_ending_in(s.profile, "0 2"), 1);
    assert_int_equal(calls_ending_in(s.profile, "0 1 2"), 5);
    assert_int_equal(calls_ending_in(s.profile, "0"), 1);
    assert_int_equal(contexts_in(s.profile), 4);
    setup_close(&s);
}

static void a_tail_call_keeps_the_height_and_the_caller(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_enter(s.strand, 1);
    cairn_replace(s.strand, 2);
    cairn_replace(s.strand, 3);
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    cairn_tick(s.strand, 7);
    cairn_leave(s.strand); /* one return ends the chain */
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    cairn_tick(s.strand, 1);
    assert_int_equal(cost_at(s.profile, "1 2 3").ticks, 7);
    assert_int_equal(cost_at(s.profile, "").ticks, 1);
    setup_close(&s);
}

static void recursion_folds(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    for (int i = 0; i < 1000; i++) {
        cairn_enter(s.strand, 1);
        cairn_enter(s.strand, 2);
    }
    assert_int_equal(cairn_strand_depth(s.strand), 2000);
    assert_int_equal(contexts_in(s.profile), 4); /* the root, 1, 1 2 and 1 2 1 */
    assert_int_equal(cost_at(s.profile, "1").calls, 1);
    assert_int_equal(cost_at(s.profile, "1 2").calls, 1000);
    assert_int_equal(cost_at(s.profile, "1 2 1").calls, 999);
    assert_int_equal(cost_at(s.profile, "1 2 1 2 1 2").calls, 1000); /* need not be canonical */
    assert_int_equal(calls_ending_in(s.profile, "0 1"), 1);
    assert_int_equal(calls_ending_in(s.profile, "1 2 1"), 999);
    for (int i = 0; i < 2000; i++)
        cairn_leave(s.strand);
    cairn_tick(s.strand, 3);
    assert_int_equal(cost_at(s.profile, "").ticks, 3);
    setup_close(&s);
}

/* One of two callers, the recursion comes back to where it came from. */
static void returns_find_their_caller(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_enter(s.strand, 1);
    cairn_enter(s.strand, 2);
    cairn_enter(s.strand, 1); /* 1 2 1 */
    cairn_enter(s.strand, 2); /* folds to 1 2 */
    cairn_leave(s.strand);
    cairn_tick(s.strand, 5);
    assert_int_equal(cost_at(s.profile, "1 2 1").ticks, 5);
    assert_int_equal(contexts_in(s.profile), 4);
    setup_close(&s);
}

static void misuse_is_defined(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_leave(s.strand);
    cairn_leave(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    cairn_tick(s.strand, 2);
    cairn_replace(s.strand, 1); /* takes the root's place */
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    cairn_tick(s.strand, 3);
    cairn_leave(s.strand); /* still nothing to leave */
    cairn_tick(s.strand, 4);
    cairn_strand_unwind(s.strand, 1000);
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    cairn_strand_unwind(s.strand, SIZE_MAX);
    cairn_enter(s.strand, 2);
    cairn_leave(s.strand);
    assert_int_equal(cost_at(s.profile, "").ticks, 2);
    assert_int_equal(cost_at(s.profile, "1").ticks, 7);
    assert_int_equal(cost_at(s.profile, "1 2").calls, 1);
    assert_int_equal(total_of(s.profile).calls, 3);
    setup_close(&s);
}

/* Also "no block", which marks empty entries of caches. */
static void blocks_that_were_never_added_are_counted_apart(void **state)
{
    (void)state;
    static const cairn_block unknown[] = {CAIRN_BLOCK_FOLDED, CAIRN_BLOCK_FOLDED, 4, 0xfffffffe};
    enum { UNKNOWN = sizeof unknown / sizeof *unknown };
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "unknown.cairn"));
    setup s = setup_open(&options, 3);
    for (int i = 0; i < UNKNOWN; i++) {
        cairn_enter(s.strand, unknown[i]);
        cairn_tick(s.strand, 1);
        cairn_enter(s.strand, 1);
        cairn_leave(s.strand);
        cairn_leave(s.strand);
    }
    cairn_enter(s.strand, 3);
    cairn_replace(s.strand, CAIRN_BLOCK_FOLDED);
    cairn_leave(s.strand);
    assert_int_equal(cost_at(s.profile, "").calls, 1);
    assert_int_equal(cost_at(s.profile, "1").calls, 0);
    assert_int_equal(cost_at(s.profile, "3").calls, 1);
    assert_int_equal(calls_ending_in(s.profile, "1"), UNKNOWN);
    assert_int_equal(total_of(s.profile).calls, 1 + 2 * UNKNOWN + 2);
    assert_int_equal(total_of(s.profile).ticks, UNKNOWN);
    setup_close(&s);
    assert_int_equal(note_of(path, "misuses"), UNKNOWN + 1);
}

static void a_tick_may_exceed_32_bits(void **state)
{
    (void)state;
    for (uint32_t period = 1; period <= 1000; period += 999) {
        cairn_options options = CAIRN_OPTIONS_DEFAULT;
        options.tick_period = period;
        setup s = setup_open(&options, 1);
        cairn_enter(s.strand, 1);
        cairn_tick(s.strand, 5000000000);
        cairn_leave(s.strand);
        cairn_stack *stack = cairn_stack_open(s.lane);
        cairn_strand_switch(cairn_stack_strand(stack));
        cairn_stack_enter(stack, 1);
        cairn_stack_tick(stack, 5000000000);
        cairn_stack_leave(stack);
        assert_in_range(cost_at(s.profile, "1").ticks, 10000000000 - 2 * period,
                        10000000000 + 2 * period);
        setup_close(&s);
    }
}

static void unwinding_drops_to_the_mark(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 5);
    cairn_enter(s.strand, 1);
    cairn_mark mark = cairn_strand_mark(s.strand);
    for (uint32_t block = 2; block <= 5; block++)
        cairn_enter(s.strand, block);
    cairn_strand_unwind(s.strand, mark);
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    cairn_tick(s.strand, 1);
    assert_int_equal(cost_at(s.profile, "1").ticks, 1);
    cairn_strand_unwind(s.strand, mark); /* again: nothing happens */
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    setup_close(&s);
}

static void a_mark_outlives_a_tail_call(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 5);
    cairn_enter(s.strand, 1);
    cairn_mark mark = cairn_strand_mark(s.strand);
    cairn_replace(s.strand, 2);
    cairn_enter(s.strand, 3);
    cairn_strand_unwind(s.strand, mark);
    cairn_tick(s.strand, 1);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 1); /* 2 stays in 1's place */
    cairn_leave(s.strand);
    cairn_strand_unwind(s.strand, mark); /* its frame is gone: a misuse */
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    setup_close(&s);
}

static void strands_are_stacks_into_one_graph(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_strand *other = cairn_strand_open(s.lane);
    cairn_enter(s.strand, 1);
    cairn_strand_switch(other);
    cairn_enter(other, 1);
    cairn_enter(other, 2);
    cairn_strand_switch(s.strand);
    cairn_enter(s.strand, 3);
    cairn_tick(other, 1);
    cairn_tick(s.strand, 10);
    assert_int_equal(cost_at(s.profile, "").calls, 2);
    assert_int_equal(cost_at(s.profile, "1").calls, 2);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 1);
    assert_int_equal(cost_at(s.profile, "1 3").ticks, 10);
    cairn_strand_close(other); /* with two frames on it */
    cairn_leave(s.strand);
    cairn_tick(s.strand, 5);
    assert_int_equal(cost_at(s.profile, "1").ticks, 5);
    setup_close(&s);
}

static void a_sample_is_charged_to_the_path_that_was_walked(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    const cairn_block path[] = {1, 2, 1, 2, 3};
    cairn_enter(s.strand, 3);
    cairn_sample(s.strand, path, 5, CAIRN_METRIC_TICKS, 7);
    cairn_sample(s.strand, path, 4, CAIRN_METRIC_WALL, 1000000);
    cairn_sample(s.strand, path, 0, CAIRN_METRIC_TICKS, 1);
    cairn_sample(s.strand, NULL, 0, CAIRN_METRIC_TICKS, 1);
    cairn_tick(s.strand, 100); /* its own stack is unchanged */
    assert_int_equal(cost_at(s.profile, "1 2 3").ticks, 7);
    assert_int_equal(cost_at(s.profile, "1 2 3").calls, 0);
    assert_in_range(cost_at(s.profile, "1 2").wall, 950000, 1050000);
    assert_int_equal(cost_at(s.profile, "").ticks, 2);
    assert_int_equal(cost_at(s.profile, "3").ticks, 100);
    assert_int_equal(total_of(s.profile).calls, 2);
    setup_close(&s);
}

static void closed_strands_stay_counted(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    cairn_enter(s.strand, 1);
    cairn_lane_close(s.lane);
    s.lane = cairn_lane_open(s.profile, "second");
    s.strand = cairn_strand_open(s.lane);
    cairn_enter(s.strand, 1);
    cairn_enter(s.strand, 2);
    assert_int_equal(cost_at(s.profile, "").calls, 2);
    assert_int_equal(cost_at(s.profile, "1").calls, 2);
    assert_int_equal(cost_at(s.profile, "1 2").calls, 1);
    setup_close(&s);
}

static void profiles_do_not_mix(void **state)
{
    (void)state;
    setup one = setup_open(NULL, 3), two = setup_open(NULL, 3);
    cairn_enter(one.strand, 1);
    cairn_enter(two.strand, 2);
    cairn_enter(one.strand, 3);
    assert_int_equal(cost_at(one.profile, "1 3").calls, 1);
    assert_int_equal(cost_at(two.profile, "2").calls, 1);
    assert_int_equal(contexts_in(one.profile), 3);
    assert_int_equal(contexts_in(two.profile), 2);
    setup_close(&one);
    cairn_enter(two.strand, 3);
    assert_int_equal(cost_at(two.profile, "2 3").calls, 1);
    setup_close(&two);
}

static void frames_entered_while_off_count_as_their_caller(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 5);
    cairn_enter(s.strand, 1);
    cairn_profile_disable(s.profile);
    cairn_enter(s.strand, 2);
    cairn_enter(s.strand, 3);
    cairn_tick(s.strand, 1000);
    cairn_replace(s.strand, 4);
    assert_int_equal(cairn_strand_depth(s.strand), 3);
    cairn_profile_enable(s.profile);
    cairn_tick(s.strand, 1);
    cairn_enter(s.strand, 5);
    cairn_leave(s.strand);
    cairn_leave(s.strand);
    cairn_leave(s.strand);
    cairn_tick(s.strand, 2);
    cairn_leave(s.strand);
    cairn_tick(s.strand, 4);
    assert_int_equal(cost_at(s.profile, "1").ticks, 3);
    assert_int_equal(cost_at(s.profile, "1 5").calls, 1);
    assert_int_equal(cost_at(s.profile, "").ticks, 4);
    assert_int_equal(contexts_in(s.profile), 3);
    assert_int_equal(total_of(s.profile).ticks, 7);
    setup_close(&s);
}

static void a_profile_that_begins_disabled_records_nothing(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.disabled = true;
    setup s = setup_open(&options, 3);
    cairn_enter(s.strand, 1);
    cairn_tick(s.strand, 1);
    cairn_leave(s.strand);
    cairn_leave(s.strand);
    assert_int_equal(contexts_in(s.profile), 1);
    assert_int_equal(total_of(s.profile).ticks, 0);
    cairn_profile_enable(s.profile);
    cairn_profile_enable(s.profile); /* twice is once */
    cairn_enter(s.strand, 2);
    assert_int_equal(cost_at(s.profile, "2").calls, 1);
    cairn_profile_disable(s.profile);
    cairn_profile_disable(s.profile);
    cairn_leave(s.strand);
    cairn_enter(s.strand, 2);
    assert_int_equal(cost_at(s.profile, "2").calls, 1);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_call_is_counted_for_its_caller),
        cmocka_unit_test(a_tail_call_keeps_the_height_and_the_caller),
        cmocka_unit_test(recursion_folds),
        cmocka_unit_test(returns_find_their_caller),
        cmocka_unit_test(misuse_is_defined),
        cmocka_unit_test(blocks_that_were_never_added_are_counted_apart),
        cmocka_unit_test(a_tick_may_exceed_32_bits),
        cmocka_unit_test(unwinding_drops_to_the_mark),
        cmocka_unit_test(a_mark_outlives_a_tail_call),
        cmocka_unit_test(strands_are_stacks_into_one_graph),
        cmocka_unit_test(a_sample_is_charged_to_the_path_that_was_walked),
        cmocka_unit_test(closed_strands_stay_counted),
        cmocka_unit_test(profiles_do_not_mix),
        cmocka_unit_test(frames_entered_while_off_count_as_their_caller),
        cmocka_unit_test(a_profile_that_begins_disabled_records_nothing),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
