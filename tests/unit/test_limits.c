/* SPDX-License-Identifier: MIT
 *
 * test_limits.c - the path limit, the context budget and the file limit fold contexts without
 * losing a call.
 */
#include <stdlib.h>

#include "support/cases.h"
#include "support/player.h"
#include "support/profiles.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"

static cairn_options with_limits(uint32_t path_limit, uint32_t budget)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.path_limit = path_limit;
    options.context_budget = budget;
    return options;
}

static void a_path_at_its_limit_stays_and_a_longer_one_folds(void **state)
{
    (void)state;
    static const uint32_t limits[] = {4, 5, 64, 1024};
    for (size_t i = 0; i < COUNT(limits); i++) {
        uint32_t limit = limits[i];
        cairn_options options = with_limits(limit, 100000);
        setup s = setup_open(&options, limit + 1);
        for (uint32_t block = 1; block < limit; block++)
            cairn_enter(s.strand, block); /* with the root, a path of exactly `limit` */
        assert_int_equal(contexts_in(s.profile), limit);
        cairn_enter(s.strand, limit);
        cairn_tick(s.strand, 9);
        assert_int_equal(cairn_strand_depth(s.strand), limit);
        /* The root, limit - 1 contexts, [folded] and the block below it. */
        assert_int_equal(contexts_in(s.profile), limit + 2);
        if (limit == 4) {
            assert_int_equal(cost_at(s.profile, "4294967295 4").ticks, 9);
            assert_int_equal(calls_ending_in(s.profile, "3 4"), 1); /* under its real caller */
            assert_int_equal(calls_ending_in(s.profile, "4294967295 4"), 0);
        }
        assert_int_equal(total_of(s.profile).calls, limit + 1);
        assert_int_equal(total_of(s.profile).ticks, 9);
        cairn_leave(s.strand);
        cairn_enter(s.strand, 1); /* has an ancestor to fold into */
        assert_int_equal(cost_at(s.profile, "1").calls, 2);
        assert_int_equal(contexts_in(s.profile), limit + 2);
        setup_close(&s);
    }
}

static void the_stack_has_no_limit(void **state)
{
    (void)state;
    cairn_options options = with_limits(4, 100);
    setup s = setup_open(&options, 50);
    for (uint32_t i = 0; i < 100000; i++)
        cairn_enter(s.strand, 1 + i % 50);
    assert_int_equal(cairn_strand_depth(s.strand), 100000);
    for (uint32_t i = 0; i < 100000; i++)
        cairn_leave(s.strand);
    assert_int_equal(cairn_strand_depth(s.strand), 0);
    cairn_tick(s.strand, 1);
    assert_int_equal(cost_at(s.profile, "").ticks, 1);
    assert_int_equal(total_of(s.profile).calls, 100001);
    setup_close(&s);
}

/* 4: room for the root, [folded], a block below it, and one context that is not folded. */
static void limits_below_four_are_four(void **state)
{
    (void)state;
    for (uint32_t limit = 0; limit <= 4; limit++) {
        cairn_options options = with_limits(limit, limit);
        setup s = setup_open(&options, 10);
        for (cairn_block block = 1; block <= 10; block++)
            cairn_enter(s.strand, block);
        assert_int_equal(total_of(s.profile).calls, 11);
        assert_int_equal(cost_at(s.profile, "1 2 3").calls, 1);
        assert_int_equal(contexts_in(s.profile), 4 + 1 + 7);
        setup_close(&s);
    }
}

static void calls_per_block_are_exact_within_any_budget(void **state)
{
    (void)state;
    enum { BLOCKS = 15, EVENTS = 200000 };
    static const uint32_t budgets[] = {4, 5, 16, 100, 5000};
    for (size_t i = 0; i < COUNT(budgets); i++) {
        cairn_options options = with_limits(1024, budgets[i]);
        setup s = setup_open(&options, BLOCKS);
        random_source random = {i};
        uint64_t calls[BLOCKS + 1] = {1};
        for (int event = 0; event < EVENTS; event++) {
            cairn_block block = 1 + random_below(&random, BLOCKS);
            if (random_chance(&random, 1, 2)) {
                cairn_leave(s.strand);
                continue;
            }
            cairn_enter(s.strand, block);
            calls[block]++;
        }
        cairn_view *view;
        assert_int_equal(cairn_view_open(&view, s.profile), CAIRN_OK);
        for (cairn_block block = 0; block <= BLOCKS; block++)
            assert_int_equal(cairn_view_calls(view, &block, 1), calls[block]);
        assert_in_range(view_context_count(view), 1, budgets[i] + BLOCKS + 2);
        cairn_view_close(view);
        setup_close(&s);
    }
}

/* Square-free words never fold by themselves: only the limits hold them. */
static void square_free_tail_calls_stay_within_the_budget(void **state)
{
    (void)state;
    cairn_options options = with_limits(1024, 1000);
    setup s = setup_open(&options, 3);
    uint64_t count = scale(5000000);
    cairn_enter(s.strand, 1);
    for (uint64_t i = 0; i < count; i++)
        cairn_replace(s.strand, 1 + stream_square_free(i));
    assert_int_equal(cairn_strand_depth(s.strand), 1);
    assert_int_equal(total_of(s.profile).calls, count + 2);
    assert_in_range(contexts_in(s.profile), 900, 1010);
    setup_close(&s);
}

static void folded_calls_are_reported(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = with_limits(4, 100);
    options.path = scratch_path(path, "folded.cairn");
    setup s = setup_open(&options, 10);
    for (int round = 0; round < 7; round++) {
        for (cairn_block block = 1; block <= 4; block++)
            cairn_enter(s.strand, block);
        cairn_strand_unwind(s.strand, 0);
    }
    setup_close(&s);
    crn_profile *profile = recorded_profile(path);
    uint64_t folded = 0;
    for (uint32_t i = 0; i < profile->edge_count; i++)
        folded += profile->edges[i].folded ? profile->edges[i].calls : 0;
    assert_int_equal(folded, 7);
    crn_profile_free(profile);
}

/* The program continues when the capture cannot grow; all calls are counted. */
static void the_file_limit_is_respected(void **state)
{
    (void)state;
    static const uint64_t caps[] = {0, 1, 4096, 100000, 1 << 20, 3 << 20};
    for (size_t i = 0; i < COUNT(caps); i++) {
        char path[SCRATCH_PATH];
        cairn_options options = path_options(scratch_path(path, "capped.cairn"));
        options.file_limit = caps[i];
        cairn_profile *profile;
        cairn_error error = cairn_profile_open(&profile, &options);
        if (error) {
            assert_int_equal(error, CAIRN_E_SPACE);
            assert_null(profile);
            continue;
        }
        for (int block = 0; block < 1000; block++)
            cairn_block_add(profile, &(cairn_block_info){.name = "same"});
        cairn_strand *strand = cairn_strand_open(cairn_lane_open(profile, "main"));
        random_source random = {i};
        for (int call = 0; call < 300000; call++) {
            cairn_enter(strand, 1 + random_below(&random, 1000));
            if (random_chance(&random, 1, 2))
                cairn_leave(strand);
        }
        cairn_error status = cairn_profile_status(profile);
        uint64_t calls = total_of(profile).calls;
        cairn_profile_close(profile);
        if (strand)
            assert_int_equal(calls, 300001);
        assert_int_equal(status, CAIRN_E_SPACE);
        size_t size = 0;
        free(scratch_read(path, &size));
        assert_true(size <= caps[i]);
        crn_error problem = {0};
        crn_profile *loaded = crn_profile_load(path, &problem);
        if (!loaded)
            fail_msg("cap %llu: %s", (unsigned long long)caps[i], problem.message);
        assert_int_equal(profile_total(loaded, CRN_METRIC_CALLS), calls);
        crn_profile_free(loaded);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(a_path_at_its_limit_stays_and_a_longer_one_folds),
        cmocka_unit_test(the_stack_has_no_limit),
        cmocka_unit_test(limits_below_four_are_four),
        cmocka_unit_test(calls_per_block_are_exact_within_any_budget),
        cmocka_unit_test(square_free_tail_calls_stay_within_the_budget),
        cmocka_unit_test(folded_calls_are_reported),
        cmocka_unit_test(the_file_limit_is_respected),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
