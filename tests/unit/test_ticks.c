/* SPDX-License-Identifier: MIT
 *
 * test_ticks.c - ticks: exact, and sampled with jitter from a seed.
 */
#include <math.h>
#include <stdlib.h>

#include "support/cases.h"
#include "support/profiles.h"
#include "support/random.h"
#include "support/recorded.h"
#include "support/scratch.h"
#include "support/soundness.h"

enum { BLOCKS = 4 };

static cairn_options with_period(uint64_t period, uint64_t seed)
{
    cairn_options options = CAIRN_OPTIONS_DEFAULT;
    options.tick_period = period;
    options.seed = seed;
    return options;
}

/* A loop in which block b takes `part[b]` of each turn, one tick at a time. */
static void loop(cairn_strand *strand, const uint32_t part[BLOCKS], uint64_t turns)
{
    for (uint64_t turn = 0; turn < turns; turn++) {
        for (cairn_block block = 1; block <= BLOCKS; block++) {
            cairn_enter(strand, block);
            for (uint32_t i = 0; i < part[block - 1]; i++)
                cairn_tick(strand, 1);
            cairn_leave(strand);
        }
    }
}

static uint64_t ticks_of(cairn_profile *profile, cairn_block block)
{
    cairn_view *view;
    assert_int_equal(cairn_view_open(&view, profile), CAIRN_OK);
    cairn_cost cost = {0};
    cairn_view_find(view, &block, 1, &cost);
    cairn_view_close(view);
    return cost.ticks;
}

static void exact_ticks_are_exact(void **state)
{
    (void)state;
    static const uint32_t part[BLOCKS] = {1, 2, 3, 4};
    cairn_options options = with_period(1, 0);
    setup s = setup_open(&options, BLOCKS);
    loop(s.strand, part, 1000);
    cairn_tick(s.strand, UINT32_MAX);
    cairn_tick(s.strand, UINT32_MAX);
    cairn_tick(s.strand, 0);
    cairn_tick(s.strand, 5000000000); /* more than 32 bits */
    for (cairn_block block = 1; block <= BLOCKS; block++)
        assert_int_equal(ticks_of(s.profile, block), 1000 * part[block - 1]);
    assert_int_equal(cost_at(s.profile, "").ticks, 2 * (uint64_t)UINT32_MAX + 5000000000);
    setup_close(&s);
}

/* The loop of 10 ticks divides the period of 100: a sampler without jitter would always
 * hit the same block. Expected shares within five standard deviations of a sampler that
 * draws at random; jittered sampling is no worse. */
static void shares_are_unbiased(void **state)
{
    (void)state;
    static const uint32_t part[BLOCKS] = {1, 2, 3, 4};
    static const uint64_t periods[] = {2, 10, 100, 1000, 997};
    for (size_t i = 0; i < COUNT(periods); i++) {
        uint64_t turns = scale(400000);
        cairn_options options = with_period(periods[i], 42 + i);
        setup s = setup_open(&options, BLOCKS);
        loop(s.strand, part, turns);
        double total = (double)turns * 10, samples = total / (double)periods[i];
        for (cairn_block block = 1; block <= BLOCKS; block++) {
            double share = part[block - 1] / 10.0;
            double deviation = sqrt(samples * share * (1 - share)) * (double)periods[i];
            double error = (double)ticks_of(s.profile, block) - share * total;
            if (fabs(error) > 5 * deviation + 2 * (double)periods[i])
                fail_msg("period %llu, block %u: off by %.0f, standard deviation %.0f",
                         (unsigned long long)periods[i], block, error, deviation);
        }
        assert_int_equal(cost_at(s.profile, "1").calls, turns); /* calls are never sampled */
        setup_close(&s);
    }
}

/* Events of many ticks have their full weight. */
static void long_events_have_full_weight(void **state)
{
    (void)state;
    uint64_t turns = scale(200000);
    cairn_options options = with_period(1000, 3);
    setup s = setup_open(&options, 3);
    static const uint32_t step[] = {7000, 500, 2500};
    for (uint64_t turn = 0; turn < turns; turn++) {
        for (cairn_block block = 1; block <= 3; block++) {
            cairn_enter(s.strand, block);
            cairn_tick(s.strand, step[block - 1]);
            cairn_leave(s.strand);
        }
    }
    for (cairn_block block = 1; block <= 3; block++) {
        double expected = (double)step[block - 1] * (double)turns;
        double error = fabs((double)ticks_of(s.profile, block) / expected - 1);
        assert_true(error < 5 / sqrt((double)turns * step[block - 1] / 1000.0) + 0.001);
    }
    setup_close(&s);
}

static void totals_add_up(void **state)
{
    (void)state;
    random_source random = {11};
    for (uint64_t round = 0; round < scale(100); round++) {
        char path[SCRATCH_PATH];
        cairn_options options = with_period(1 + random_below(&random, 500), round);
        options.path = scratch_path(path, "ticks.cairn");
        setup s = setup_open(&options, BLOCKS);
        uint64_t total = 0;
        for (uint32_t i = random_below(&random, 20000); i > 0; i--) {
            uint32_t count = random_below(&random, 40);
            cairn_enter(s.strand, 1 + random_below(&random, BLOCKS));
            cairn_tick(s.strand, count);
            total += count;
            if (random_chance(&random, 2, 3))
                cairn_strand_unwind(s.strand, 0);
        }
        uint64_t seen = total_of(s.profile).ticks;
        setup_close(&s);
        /* In a live profile the last sample may be missing; after the end none is. */
        assert_true(seen <= total + 2 * options.tick_period);
        assert_true(seen + 2 * options.tick_period + 40 >= total);
        crn_profile *profile = recorded_profile(path);
        assert_int_equal(profile_total(profile, CRN_METRIC_TICKS), total);
        crn_profile_free(profile);
    }
}

/* One event of billions of ticks, with a period of two: it ends, and it weighs as much. */
static void an_event_of_any_length_is_one_event(void **state)
{
    (void)state;
    static const uint64_t periods[] = {2, 3, 1000, 4000000000};
    for (size_t i = 0; i < COUNT(periods); i++) {
        char path[SCRATCH_PATH];
        cairn_options options = with_period(periods[i], i);
        options.path = scratch_path(path, "long.cairn");
        setup s = setup_open(&options, 2);
        uint64_t total[2] = {0, 0};
        random_source random = {i};
        for (uint64_t turn = 0; turn < 2000; turn++) {
            uint32_t block = random_below(&random, 2);
            uint32_t count = random_chance(&random, 1, 2) ? UINT32_MAX - random_below(&random, 9)
                                                          : random_below(&random, 9);
            cairn_enter(s.strand, 1 + block);
            cairn_tick(s.strand, count);
            cairn_leave(s.strand);
            total[block] += count;
        }
        double deviation = sqrt(2000.0) * (double)periods[i];
        assert_true(fabs((double)ticks_of(s.profile, 1) - (double)total[0]) < 5 * deviation);
        assert_true(fabs((double)ticks_of(s.profile, 2) - (double)total[1]) < 5 * deviation);
        uint64_t seen = total_of(s.profile).ticks;
        assert_in_range(total[0] + total[1] - seen + 2 * periods[i], 0, 4 * periods[i]);
        setup_close(&s);
        crn_profile *profile = recorded_profile(path);
        assert_int_equal(profile_total(profile, CRN_METRIC_TICKS), total[0] + total[1]);
        crn_profile_free(profile);
    }
}

static void run_with_seed(uint64_t seed, uint64_t ticks[BLOCKS])
{
    static const uint32_t part[BLOCKS] = {3, 1, 4, 1};
    cairn_options options = with_period(100, seed);
    setup s = setup_open(&options, BLOCKS);
    loop(s.strand, part, 10000);
    for (cairn_block block = 1; block <= BLOCKS; block++)
        ticks[block - 1] = ticks_of(s.profile, block);
    setup_close(&s);
}

static void the_same_seed_gives_the_same_profile(void **state)
{
    (void)state;
    uint64_t first[BLOCKS], again[BLOCKS];
    for (uint64_t seed = 0; seed < 20; seed++) {
        run_with_seed(seed, first);
        run_with_seed(seed, again);
        assert_memory_equal(first, again, sizeof(first));
    }
}

static void other_seeds_give_other_profiles(void **state)
{
    (void)state;
    enum { SEEDS = 20 };
    uint64_t ticks[SEEDS][BLOCKS];
    for (uint64_t seed = 0; seed < SEEDS; seed++)
        run_with_seed(seed, ticks[seed]);
    int same = 0;
    for (int i = 0; i < SEEDS; i++) {
        for (int j = 0; j < i; j++)
            same += ticks[i][0] == ticks[j][0] && ticks[i][1] == ticks[j][1];
    }
    assert_in_range(same, 0, 3);
}

/* Lanes sample independently of each other. */
static void lanes_do_not_disturb_each_other(void **state)
{
    (void)state;
    static const uint32_t part[BLOCKS] = {3, 1, 4, 1};
    uint64_t ticks[2][BLOCKS];
    for (int busy = 0; busy < 2; busy++) {
        cairn_options options = with_period(100, 5);
        setup s = setup_open(&options, BLOCKS + 1);
        cairn_strand *other = cairn_strand_open(cairn_lane_open(s.profile, "other"));
        cairn_enter(other, BLOCKS + 1);
        for (int i = 0; i < 1000; i++) {
            if (busy)
                cairn_tick(other, 33);
            loop(s.strand, part, 10);
        }
        for (cairn_block block = 1; block <= BLOCKS; block++)
            ticks[busy][block - 1] = ticks_of(s.profile, block);
        setup_close(&s);
    }
    assert_memory_equal(ticks[0], ticks[1], sizeof(ticks[0]));
}

/* Threads that live for a tenth of a period, one after the other: the lane's intervals continue, so
 * short lives are sampled like long ones. */
static void short_lives_have_full_weight(void **state)
{
    (void)state;
    uint64_t lives = scale(100000);
    cairn_options options = with_period(1000, 9);
    setup s = setup_open(&options, 2);
    cairn_lane_close(s.lane);
    for (uint64_t life = 0; life < lives; life++) {
        cairn_lane *lane = cairn_lane_open(s.profile, "life");
        cairn_strand *strand = cairn_strand_open(lane);
        cairn_enter(strand, 1);
        cairn_tick(strand, 70);
        cairn_leave(strand);
        cairn_enter(strand, 2);
        cairn_tick(strand, 30);
        cairn_lane_close(lane);
    }
    double samples = (double)lives / 10;
    double deviation = sqrt(samples * 0.7 * 0.3) * 1000;
    double error = (double)ticks_of(s.profile, 1) - (double)lives * 70;
    assert_true(fabs(error) < 5 * deviation + 2000);
    assert_in_range(cost_at(s.profile, "").ticks, 0, 1000);
    setup_close(&s);
}

/* A host that counts by interrupting itself, only where it must. */
static void the_distance_to_the_next_sample_is_known(void **state)
{
    (void)state;
    cairn_options options = with_period(100, 4);
    setup s = setup_open(&options, 1);
    cairn_enter(s.strand, 1);
    uint64_t passed = 0;
    for (uint64_t sample = 0; sample < 1000; sample++) {
        uint32_t due = cairn_tick_due(s.strand);
        cairn_tick(s.strand, due);
        assert_int_equal(cairn_tick_due(s.strand), 0);
        cairn_tick(s.strand, 1);
        assert_in_range(due, 0, 198);
        passed += due + 1;
        /* One in each interval. */
        assert_int_equal((passed - 1) / 100, sample);
    }
    assert_int_equal(cairn_tick_due(NULL), 0);
    setup_close(&s);
    options.tick_period = 1;
    s = setup_open(&options, 1);
    assert_int_equal(cairn_tick_due(s.strand), 0);
    setup_close(&s);
}

static void nothing_is_sampled_while_off(void **state)
{
    (void)state;
    cairn_options options = with_period(50, 1);
    setup s = setup_open(&options, 2);
    uint64_t on = 0;
    for (int i = 0; i < 2000; i++) {
        cairn_enter(s.strand, 1);
        cairn_tick(s.strand, 30);
        on += 30;
        cairn_profile_disable(s.profile);
        cairn_tick(s.strand, 1000);
        cairn_profile_enable(s.profile);
        cairn_leave(s.strand);
    }
    uint64_t total = total_of(s.profile).ticks;
    assert_true(total <= on + 100 && total + 100 >= on);
    setup_close(&s);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(exact_ticks_are_exact),
        cmocka_unit_test(shares_are_unbiased),
        cmocka_unit_test(long_events_have_full_weight),
        cmocka_unit_test(totals_add_up),
        cmocka_unit_test(an_event_of_any_length_is_one_event),
        cmocka_unit_test(the_same_seed_gives_the_same_profile),
        cmocka_unit_test(other_seeds_give_other_profiles),
        cmocka_unit_test(lanes_do_not_disturb_each_other),
        cmocka_unit_test(short_lives_have_full_weight),
        cmocka_unit_test(the_distance_to_the_next_sample_is_known),
        cmocka_unit_test(nothing_is_sampled_while_off),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
