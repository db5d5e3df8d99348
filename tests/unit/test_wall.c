/* SPDX-License-Identifier: MIT
 *
 * test_wall.c - wall time, bounded by two readings of the system's clock inside and outside the
 * measured part: these bounds hold under any load.
 */
#include <time.h>

#include "support/cases.h"
#include "support/clock.h"
#include "support/profiles.h"

/* Allowance for the difference between the clocks: 2 % and 200 microseconds. */
static uint64_t loosened(uint64_t ns)
{
    return ns + ns / 50 + 200000;
}

/* Computes for a while; returns how long it took. */
static uint64_t spin(uint64_t ns)
{
    uint64_t start = now_ns(), end = start;
    while (end - start < ns)
        end = now_ns();
    return end - start;
}

static cairn_options with_wall(cairn_wall wall)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.wall = wall;
    return options;
}

static void assert_between(uint64_t low, uint64_t value, uint64_t high)
{
    if (loosened(value) < low || value > loosened(high))
        fail_msg("%llu is not between %llu and %llu", (unsigned long long)value,
                 (unsigned long long)low, (unsigned long long)high);
}

/* The first event after the lane was taken opens a strand, in a profile that was switched on before
 * that. */
static void time_without_a_thread_is_not_charged(void **state)
{
    (void)state;
    for (cairn_wall wall = CAIRN_WALL_SAMPLED; wall <= CAIRN_WALL_EXACT; wall++) {
        cairn_options options = with_wall(wall);
        uint64_t begin = now_ns();
        setup s = setup_open(&options, 1);
        cairn_lane_hand_over(s.lane);
        uint64_t owned = now_ns() - begin;
        cairn_profile_disable(s.profile);
        cairn_profile_enable(s.profile);
        spin(50000000);
        begin = now_ns();
        cairn_strand_close(cairn_strand_open(s.lane));
        cairn_lane_hand_over(s.lane);
        assert_between(0, total_of(s.profile).wall, owned + now_ns() - begin);
        setup_close(&s);
    }
}

static void exact_time_goes_to_the_context_that_ran(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_EXACT);
    setup s = setup_open(&options, 3);
    uint64_t inside[3] = {0, 0, 0}, outside[3] = {0, 0, 0};
    uint64_t begin = now_ns();
    for (int turn = 0; turn < 5; turn++) {
        for (cairn_block block = 1; block <= 3; block++) {
            uint64_t before = now_ns();
            cairn_enter(s.strand, block);
            inside[block - 1] += spin(block * 2000000);
            cairn_leave(s.strand);
            outside[block - 1] += now_ns() - before;
        }
    }
    uint64_t elapsed = now_ns() - begin;
    assert_between(inside[0], cost_at(s.profile, "1").wall, outside[0]);
    assert_between(inside[1], cost_at(s.profile, "2").wall, outside[1]);
    assert_between(inside[2], cost_at(s.profile, "3").wall, outside[2]);
    assert_true(loosened(total_of(s.profile).wall) >= elapsed);
    setup_close(&s);
}

static void exact_time_sums_to_the_elapsed_time(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_EXACT);
    uint64_t before = now_ns();
    setup s = setup_open(&options, 10);
    uint64_t start = now_ns();
    for (int i = 0; i < 200000; i++) {
        cairn_enter(s.strand, 1 + (cairn_block)(i % 10));
        cairn_replace(s.strand, 1 + (cairn_block)(i % 7));
        if (i % 3)
            cairn_leave(s.strand);
    }
    cairn_strand_unwind(s.strand, 0);
    uint64_t end = now_ns();
    uint64_t total = total_of(s.profile).wall;
    uint64_t after = now_ns();
    assert_between(end - start, total, after - before);
    setup_close(&s);
}

/* New contexts move the arrays of the lane, to which the strand has pointers. */
static void exact_time_is_whole_when_the_lane_grows(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_EXACT);
    uint64_t before = now_ns();
    setup s = setup_open(&options, 40);
    uint64_t start = now_ns();
    for (cairn_block i = 0; i < 40 * 40 * 40; i++) {
        cairn_enter(s.strand, 1 + i % 40);
        cairn_enter(s.strand, 1 + i / 40 % 40);
        cairn_enter(s.strand, 1 + i / 1600);
        for (int frame = 0; frame < 3; frame++)
            cairn_leave(s.strand);
    }
    cairn_leave(s.strand); /* misuse: the stack is empty */
    uint64_t end = now_ns();
    uint64_t total = total_of(s.profile).wall;
    uint64_t after = now_ns();
    assert_between(end - start, total, after - before);
    assert_int_equal(total_of(s.profile).calls, 3 * 40 * 40 * 40 + 1);
    setup_close(&s);
}

static void time_belongs_to_the_strand_that_runs(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_EXACT);
    setup s = setup_open(&options, 2);
    cairn_strand *other = cairn_strand_open(s.lane);
    cairn_enter(s.strand, 1);
    cairn_strand_switch(other);
    cairn_enter(other, 2);
    uint64_t inside[2] = {0, 0}, outside[2] = {0, 0};
    for (int turn = 0; turn < 10; turn++) {
        uint64_t before = now_ns();
        cairn_strand_switch(s.strand);
        inside[0] += spin(1000000);
        cairn_strand_switch(other);
        uint64_t between = now_ns();
        inside[1] += spin(2000000);
        cairn_strand_switch(s.strand);
        outside[1] += now_ns() - between;
        outside[0] += now_ns() - before;
        cairn_strand_switch(other);
    }
    assert_true(loosened(cost_at(s.profile, "1").wall) >= inside[0]);
    assert_true(loosened(cost_at(s.profile, "2").wall) >= inside[1]);
    assert_true(cost_at(s.profile, "1").wall <= loosened(outside[0] - inside[1]));
    setup_close(&s);
}

/* Adds what `spin` took to `inside`, and a frame to a strand before and after it. */
static void spin_between_events(cairn_strand *strand, uint64_t *inside)
{
    cairn_enter(strand, 2);
    *inside += spin(2000000);
    cairn_leave(strand);
}

static void events_of_other_strands_charge_the_one_that_runs(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_EXACT);
    setup s = setup_open(&options, 3);
    cairn_strand *other = cairn_strand_open(s.lane);
    uint64_t inside = 0, begin = now_ns();
    for (int turn = 0; turn < 5; turn++) {
        cairn_strand_switch(s.strand);
        cairn_enter(s.strand, 1);
        cairn_strand_switch(other);
        cairn_enter(other, 3);
        spin_between_events(s.strand, &inside);
        cairn_leave(other);
        cairn_leave(s.strand);
    }
    uint64_t outside = now_ns() - begin;
    assert_between(inside, cost_at(s.profile, "3").wall, outside);
    assert_int_equal(cost_at(s.profile, "1 2").calls, 5);
    assert_between(0, cost_at(s.profile, "1 2").wall, outside - inside);
    assert_between(0, cost_at(s.profile, "1").wall, outside - inside);
    setup_close(&s);
}

static void events_of_a_strand_that_records_nothing_charge_no_time(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_EXACT);
    uint64_t inside = 0, begin = now_ns();
    setup s = setup_open(&options, 2);
    for (int turn = 0; turn < 5; turn++) {
        cairn_enter(s.strand, 1);
        assert_null(cairn_strand_redirect(s.strand, NULL));
        spin_between_events(s.strand, &inside);
        cairn_strand_return(s.strand);
        cairn_leave(s.strand);
    }
    uint64_t total = total_of(s.profile).wall;
    assert_between(0, total, now_ns() - begin - inside);
    setup_close(&s);
}

static void no_time_passes_while_off(void **state)
{
    (void)state;
    static const cairn_wall walls[] = {CAIRN_WALL_EXACT, CAIRN_WALL_SAMPLED};
    for (size_t i = 0; i < COUNT(walls); i++) {
        cairn_options options = with_wall(walls[i]);
        options.sample_period_ns = 200000;
        uint64_t before = now_ns(), off = 0;
        setup s = setup_open(&options, 2);
        for (int turn = 0; turn < 10; turn++) {
            cairn_enter(s.strand, 1);
            cairn_profile_disable(s.profile);
            off += spin(3000000);
            cairn_profile_enable(s.profile);
            cairn_leave(s.strand);
        }
        uint64_t total = total_of(s.profile).wall;
        assert_true(total <= loosened(now_ns() - before - off));
        setup_close(&s);
    }
}

static void time_never_runs_backwards(void **state)
{
    (void)state;
    static const cairn_wall walls[] = {CAIRN_WALL_EXACT, CAIRN_WALL_SAMPLED};
    for (size_t i = 0; i < COUNT(walls); i++) {
        cairn_options options = with_wall(walls[i]);
        options.sample_period_ns = 100000;
        setup s = setup_open(&options, 2);
        uint64_t start = now_ns(), last = 0;
        for (int turn = 0; turn < 300; turn++) {
            cairn_enter(s.strand, 1);
            spin(50000);
            cairn_leave(s.strand);
            uint64_t total = total_of(s.profile).wall;
            assert_true(total + last / 50 + 2000 >= last); /* the calibration settles */
            last = total;
        }
        assert_true(last <= loosened(now_ns() - start) + 1000000);
        setup_close(&s);
    }
}

/* Sampled: all that has passed since the last sample, so the sum is the time that passed
 * but for what the last period still holds. */
static void sampled_time_sums_to_the_elapsed_time(void **state)
{
    (void)state;
    cairn_options options = with_wall(CAIRN_WALL_SAMPLED);
    options.sample_period_ns = 500000;
    uint64_t before = now_ns();
    setup s = setup_open(&options, 2);
    uint64_t start = now_ns();
    for (int turn = 0; turn < 2000; turn++) {
        cairn_enter(s.strand, 1);
        spin(30000);
        cairn_leave(s.strand);
        cairn_enter(s.strand, 2);
        spin(20000);
        cairn_leave(s.strand);
    }
    cairn_profile_disable(s.profile); /* charges the rest */
    uint64_t end = now_ns();
    uint64_t total = total_of(s.profile).wall;
    assert_true(total <= loosened(end - before));
    /* A sampler that gets no time to run cannot be helped; one that loses time can. */
    assert_true(loosened(total) + 50000000 >= end - start);
    assert_int_equal(total_of(s.profile).calls, 4001);
    setup_close(&s);
}

static void without_a_clock_there_is_no_time(void **state)
{
    (void)state;
    setup s = setup_open(NULL, 2);
    cairn_enter(s.strand, 1);
    spin(3000000);
    assert_int_equal(total_of(s.profile).wall, 0);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(exact_time_goes_to_the_context_that_ran),
        cmocka_unit_test(time_without_a_thread_is_not_charged),
        cmocka_unit_test(exact_time_sums_to_the_elapsed_time),
        cmocka_unit_test(exact_time_is_whole_when_the_lane_grows),
        cmocka_unit_test(time_belongs_to_the_strand_that_runs),
        cmocka_unit_test(events_of_other_strands_charge_the_one_that_runs),
        cmocka_unit_test(events_of_a_strand_that_records_nothing_charge_no_time),
        cmocka_unit_test(no_time_passes_while_off),
        cmocka_unit_test(time_never_runs_backwards),
        cmocka_unit_test(sampled_time_sums_to_the_elapsed_time),
        cmocka_unit_test(without_a_clock_there_is_no_time),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
