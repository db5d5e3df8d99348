/* SPDX-License-Identifier: MIT
 *
 * test_memory_failure.c - makes each allocation of a run fail, one a run: the program continues,
 * nothing crashes, and losses are reported. The address sanitizer's build also finds leaks.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "support/cases.h"
#include "support/children.h"
#include "support/profiles.h"
#include "support/scratch.h"
#include "support/walker.h"

enum { BLOCKS = 30, STEPS = 6000, QUIET = 60, MOST = 20000 };

typedef struct outcome {
    bool all;  /* everything was recorded, as without a failure */
    bool said; /* something returned an error or NULL */
} outcome;

static void walk_and_deepen(cairn_strand *strand, walker *walk)
{
    walk->strand = strand;
    walker_walk(walk, STEPS);
    for (uint32_t i = 0; i < 3000; i++)
        cairn_enter(strand, 1 + i % BLOCKS);
    walk->calls += 3000;
    cairn_strand_unwind(strand, 0);
}

/* A run with a bit of everything, in which the nth allocation and all after it fail. */
static outcome run(const cairn_options *options, uint64_t nth)
{
    outcome end = {false, false};
    cairn_profile *profile;
    crn_memory_fail_at(nth);
    if (cairn_profile_open(&profile, options)) {
        crn_memory_fail_at(0);
        assert_null(profile);
        return (outcome){false, true};
    }
    for (cairn_block block = 1; block <= BLOCKS; block++)
        end.said |= !cairn_block_add(profile, &(cairn_block_info){.name = "b", .line = block});
    end.said |= cairn_profile_note(profile, "key", "value") != CAIRN_OK;
    cairn_metric metric = cairn_metric_add(profile, "bytes", "byte");
    end.said |= metric == CAIRN_METRIC_MAX;
    cairn_lane *lane = cairn_lane_open(profile, "main");
    cairn_strand *strand = cairn_strand_open(lane), *other = cairn_strand_open(lane);
    end.said |= !strand || !other;
    walker walk = {.random = {3}, .blocks = BLOCKS};
    walk_and_deepen(strand, &walk);
    for (int i = 0; i < 100; i++)
        cairn_charge(strand, metric, 1);
    cairn_strand_switch(other);
    walk_and_deepen(other, &walk);
    cairn_lane *second = cairn_lane_open(profile, "second");
    cairn_strand *third = cairn_strand_open(second);
    end.said |= !third;
    walk_and_deepen(third, &walk);
    assert_int_equal(cairn_strand_depth(strand), 0);
    crn_memory_fail_at(0);

    uint64_t recorded = total_of(profile).calls;
    end.all = recorded == walk.calls + 3;
    end.said |= cairn_profile_status(profile) != CAIRN_OK;
    cairn_profile_close(profile);
    return end;
}

static void fail_everywhere(const cairn_options *options)
{
    assert_true(run(options, 0).all);
    uint64_t quiet = 0, nth = 1;
    for (; quiet < QUIET; nth++) {
        outcome end = run(options, nth);
        if (!end.all && !end.said)
            fail_msg("allocation %llu fails: calls are lost and nothing says so",
                     (unsigned long long)nth);
        quiet = end.all && !end.said ? quiet + 1 : 0;
        assert_in_range(nth, 1, MOST);
    }
    assert_true(nth > QUIET + 5); /* the failures did reach the library */
}

static void in_memory(void **state)
{
    (void)state;
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    fail_everywhere(&options);
}

static void in_a_capture(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "failing.cairn"));
    options.tick_period = 10;
    fail_everywhere(&options);
}

static void with_tiny_limits(void **state)
{
    (void)state;
    char path[SCRATCH_PATH];
    cairn_options options = path_options(scratch_path(path, "tiny.cairn"));
    options.path_limit = 4;
    options.context_budget = 8;
    options.wall = CAIRN_WALL_EXACT;
    fail_everywhere(&options);
}

static void views_that_cannot_be_made_say_so(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    walker walk = {.strand = s.strand, .random = {3}, .blocks = BLOCKS};
    walker_walk(&walk, STEPS);
    uint64_t nth = 1;
    for (cairn_error error = CAIRN_E_MEMORY; error; nth++) {
        cairn_view *view;
        crn_memory_fail_at(nth);
        error = cairn_view_open(&view, s.profile);
        crn_memory_fail_at(0);
        assert_true(error == CAIRN_OK || error == CAIRN_E_MEMORY);
        assert_true(error == CAIRN_OK ? view != NULL : view == NULL);
        cairn_view_close(view);
        assert_in_range(nth, 1, MOST);
    }
    assert_true(nth > 2);
    assert_int_equal(total_of(s.profile).calls, walk.calls + 1);
    setup_close(&s);
}

/* Frames without memory still count as frames: their return leads back to the right caller. */
static void returns_match_calls_without_memory(void **state)
{
    (void)state;
    for (int by_unwind = 0; by_unwind < 2; by_unwind++) {
        setup s = setup_open(NULL, 3);
        cairn_enter(s.strand, 1);
        cairn_leave(s.strand);
        crn_memory_fail_at(1);
        uint32_t depth = 100000;
        for (uint32_t i = 0; i < depth; i++)
            cairn_enter(s.strand, 1 + i % 3);
        assert_int_equal(cairn_strand_depth(s.strand), depth);
        cairn_replace(s.strand, 2);
        cairn_tick(s.strand, 1);
        if (by_unwind) {
            cairn_strand_unwind(s.strand, depth - 7);
            assert_int_equal(cairn_strand_depth(s.strand), depth - 7);
            depth = 9;
            cairn_strand_unwind(s.strand, depth);
        }
        for (; depth > 1; depth--) {
            assert_int_equal(cairn_strand_depth(s.strand), depth);
            cairn_leave(s.strand);
        }
        crn_memory_fail_at(0);
        /* The deep tick belongs to a frame that got memory: with tiny limits, this one. */
        uint64_t deep = cost_at(s.profile, "1").ticks;
        assert_in_range(deep, 0, 1);
        cairn_tick(s.strand, 10);
        assert_int_equal(cost_at(s.profile, "1").ticks, deep + 10);
        cairn_leave(s.strand);
        cairn_tick(s.strand, 100);
        assert_int_equal(cost_at(s.profile, "").ticks, 100);
        assert_int_equal(total_of(s.profile).ticks, 111);
        assert_int_equal(cairn_profile_status(s.profile), CAIRN_E_MEMORY);
        cairn_enter(s.strand, 3); /* with memory, it works again */
        assert_int_equal(cost_at(s.profile, "3").calls, 1);
        setup_close(&s);
    }
}

/* A program that runs for a long time after its memory is exhausted. */
static void recording_continues_without_memory(void **state)
{
    (void)state;
    setup s = setup_open(NULL, BLOCKS);
    walker walk = {.strand = s.strand, .random = {3}, .blocks = BLOCKS};
    walker_walk(&walk, 500);
    crn_memory_fail_at(1);
    walker_walk(&walk, scale(2000000));
    crn_memory_fail_at(0);
    uint64_t recorded = total_of(s.profile).calls;
    assert_true(recorded <= walk.calls + 1);
    if (recorded < walk.calls + 1)
        assert_int_not_equal(cairn_profile_status(s.profile), CAIRN_OK);
    assert_true(recorded > 100);
    setup_close(&s);
}

/* An array whose room is the largest number of its type cannot grow. */
static void a_count_that_would_wrap_ends_the_process(void **state)
{
    (void)state;
    static char *array;
    uint8_t count = 0, room = 0;
    for (; count < UINT8_MAX; count++) {
        CRN_GROW(array, count, room);
        array[count] = 1;
    }
    assert_int_equal(room, UINT8_MAX);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        child_begin(60);
        close(STDERR_FILENO); /* it prints a message */
        CRN_GROW(array, count, room);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    crn_free(array);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(in_memory),
        cmocka_unit_test(in_a_capture),
        cmocka_unit_test(with_tiny_limits),
        cmocka_unit_test(views_that_cannot_be_made_say_so),
        cmocka_unit_test(returns_match_calls_without_memory),
        cmocka_unit_test(recording_continues_without_memory),
        cmocka_unit_test(a_count_that_would_wrap_ends_the_process),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
