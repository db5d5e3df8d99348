/* SPDX-License-Identifier: MIT
 *
 * test_big.c - large sizes: ten million calls deep, a hundred thousand children, a million
 * strands.
 */
#include <stdlib.h>

#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/scratch.h"
#include "support/streams.h"

static void ten_million_deep(void **state)
{
    (void)state;
    uint32_t depth = (uint32_t)scale(10000000);
    setup s = setup_open(NULL, 3);
    for (uint32_t i = 0; i < depth; i++)
        cairn_enter(s.strand, 1);
    assert_int_equal(cairn_strand_depth(s.strand), depth);
    assert_int_equal(contexts_in(s.profile), 2);
    assert_int_equal(cost_at(s.profile, "1").calls, depth);
    cairn_enter(s.strand, 2);
    cairn_tick(s.strand, 1);
    for (uint32_t i = 0; i < depth; i++)
        cairn_leave(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    cairn_tick(s.strand, 5); /* in the context of the first call of 1 */
    assert_int_equal(cost_at(s.profile, "1").ticks, 5);
    assert_int_equal(cost_at(s.profile, "1 2").ticks, 1);
    cairn_leave(s.strand);
    cairn_leave(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    setup_close(&s);
}

/* Recursion through three blocks, left by one unwind. */
static void deep_cycles_unwind_at_once(void **state)
{
    (void)state;
    uint32_t depth = (uint32_t)scale(9000000) / 3 * 3 + 3;
    setup s = setup_open(NULL, 3);
    cairn_mark mark = cairn_strand_mark(s.strand);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < depth; i++)
            cairn_enter(s.strand, 1 + i % 3);
        cairn_strand_unwind(s.strand, mark);
        assert_int_equal(cairn_strand_depth(s.strand), 0);
    }
    assert_int_equal(contexts_in(s.profile), 6); /* up to 1 2 3 1 2, then it folds */
    assert_int_equal(cost_at(s.profile, "1 2 3").calls, 2 * (uint64_t)depth / 3);
    assert_int_equal(calls_ending_in(s.profile, "3 1"), 2 * (uint64_t)(depth / 3 - 1));
    setup_close(&s);
}

static void a_hundred_thousand_children(void **state)
{
    (void)state;
    uint32_t width = (uint32_t)scale(100000);
    setup s = setup_open(NULL, width + 1);
    cairn_enter(s.strand, width + 1);
    for (int round = 0; round < 5; round++) {
        for (cairn_block block = 1; block <= width; block++) {
            cairn_enter(s.strand, block);
            cairn_tick(s.strand, 2);
            cairn_leave(s.strand);
        }
    }
    assert_int_equal(contexts_in(s.profile), width + 2);
    cairn_view *view;
    assert_int_equal(cairn_view_open(&view, s.profile), CAIRN_OK);
    for (cairn_block block = 1; block <= width; block += width / 1000 + 1) {
        const cairn_block path[] = {width + 1, block};
        cairn_cost cost;
        assert_true(cairn_view_find(view, path, 2, &cost));
        assert_int_equal(cost.calls, 5);
        assert_int_equal(cost.ticks, 10);
    }
    cairn_view_close(view);
    setup_close(&s);
}

static void a_million_strands_one_after_the_other(void **state)
{
    (void)state;
    uint64_t strands = scale(1000000);
    setup s = setup_open(NULL, 3);
    for (uint64_t i = 0; i < strands; i++) {
        cairn_strand *strand = cairn_strand_open(s.lane);
        cairn_strand_switch(strand);
        cairn_enter(strand, 1);
        cairn_enter(strand, 2 + (cairn_block)(i % 2));
        cairn_tick(strand, 1);
        if (i % 3)
            cairn_leave(strand);
        cairn_strand_close(strand);
        cairn_strand_switch(s.strand);
    }
    assert_int_equal(cost_at(s.profile, "").calls, strands + 1);
    assert_int_equal(cost_at(s.profile, "1").calls, strands);
    assert_int_equal(total_of(s.profile).ticks, strands);
    setup_close(&s);
}

static void a_hundred_thousand_strands_at_once(void **state)
{
    (void)state;
    uint32_t count = (uint32_t)scale(100000);
    setup s = setup_open(NULL, 10);
    cairn_strand **strands = calloc(count, sizeof(cairn_strand *));
    for (uint32_t i = 0; i < count; i++) {
        strands[i] = cairn_strand_open(s.lane);
        assert_non_null(strands[i]);
    }
    for (uint32_t round = 1; round <= 20; round++) {
        for (uint32_t i = 0; i < count; i++) {
            cairn_strand_switch(strands[i]);
            cairn_enter(strands[i], 1 + (i + round) % 3);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(cairn_strand_depth(strands[i]), 20);
    /* They are closed in another order than they were opened in. */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t which = (uint32_t)((i * (uint64_t)7919) % count);
        cairn_strand_close(strands[which]);
        strands[which] = NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        cairn_strand_close(strands[i]);
    assert_int_equal(cost_at(s.profile, "").calls, count + 1);
    assert_int_equal(total_of(s.profile).calls, count * (uint64_t)21 + 1);
    free(strands);
    setup_close(&s);
}

static void many_lanes_one_after_the_other(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path = scratch_path(path, "lanes.cairn");
    setup s = setup_open(&options, 3);
    uint64_t lanes = scale(20000);
    for (uint64_t i = 0; i < lanes; i++) {
        cairn_lane *lane = cairn_lane_open(s.profile, "short");
        cairn_strand *strand = cairn_strand_open(lane);
        cairn_enter(strand, 1);
        cairn_enter(strand, 2);
        cairn_lane_close(lane);
    }
    assert_int_equal(cost_at(s.profile, "").calls, lanes + 1);
    assert_int_equal(cost_at(s.profile, "1 2").calls, lanes);
    setup_close(&s);
    size_t size = 0;
    free(scratch_read(path, &size));
    assert_in_range(size, 1, 4 << 20); /* their space was reused */
}

/* With the default limits paths grow to 1,024 blocks. */
static void square_free_tail_calls(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 3);
    uint64_t count = scale(5000000);
    cairn_enter(s.strand, 1);
    for (uint64_t i = 0; i < count; i++)
        cairn_replace(s.strand, 1 + stream_square_free(i));
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    assert_int_equal(total_of(s.profile).calls, count + 2);
    assert_in_range(contexts_in(s.profile), 1000, 4194304 + 5);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(ten_million_deep),
        cmocka_unit_test(deep_cycles_unwind_at_once),
        cmocka_unit_test(a_hundred_thousand_children),
        cmocka_unit_test(a_million_strands_one_after_the_other),
        cmocka_unit_test(a_hundred_thousand_strands_at_once),
        cmocka_unit_test(many_lanes_one_after_the_other),
        cmocka_unit_test(square_free_tail_calls),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
