/* SPDX-License-Identifier: MIT
 *
 * test_analysis_sampling.c - intervals and comparisons of sampled figures: coverage over many
 * simulated samplers. Also how notes describe the sampler.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/near.h"
#include "support/random.h"

static double uniform(random_source *random)
{
    return (double)(random_next(random) >> 11) * 0x1p-53;
}

/* ---- samplers, played ---- */

enum { RUNS = 2000, LONG = 400 };

/* Simulates a sampler that charges each gap to the block that runs at its end. Gaps are uniform
 * from P/2 to 3P/2; the program switches by a coin of `share` every P/50. Returns how often the
 * interval contains the share. */
static double wall_held(random_source *random, double share)
{
    int held = 0;
    for (int run = 0; run < RUNS; run++) {
        const double ends = LONG;
        double charged = 0, spent = 0, next = 0.5 + uniform(random), last = 0;
        for (double now = 0; now < ends; now += 0.02) {
            bool within = uniform(random) < share;
            spent += within ? 0.02 : 0;
            while (next < now + 0.02 && next < ends) {
                charged += within ? next - last : 0;
                last = next;
                next += 0.5 + uniform(random);
            }
        }
        crn_sampling sampling = {.unit = 13.0 / 12 * 1e6, .total = ends * 1e6};
        crn_interval found = crn_sampling_interval(&sampling, (uint64_t)(charged * 1e6));
        held += found.low <= spent * 1e6 && spent * 1e6 <= found.high;
    }
    return (double)held / RUNS;
}

static void intervals_contain_sampled_time(void **state)
{
    (void)state;
    random_source random = {3};
    assert_true(wall_held(&random, 0.01) > 0.92);
    assert_true(wall_held(&random, 0.05) > 0.94);
    assert_true(wall_held(&random, 0.2) > 0.94);
}

/* One draw in each interval of ticks; a block has a part of each, or all of some. */
static void intervals_contain_sampled_ticks(void **state)
{
    (void)state;
    random_source random = {4};
    int held = 0;
    for (int run = 0; run < RUNS; run++) {
        double spent = 0, share = 0.1 * uniform(&random);
        uint64_t hits = 0;
        for (int interval = 0; interval < LONG; interval++) {
            double part = interval % 5 == 0 ? (uniform(&random) < share) : share;
            spent += part;
            hits += uniform(&random) < part;
        }
        crn_sampling sampling = {.unit = 1000, .total = LONG * 1000};
        crn_interval found = crn_sampling_interval(&sampling, hits * 1000);
        held += found.low <= spent * 1000 && spent * 1000 <= found.high;
    }
    assert_true(held > RUNS * 0.95);
}

static uint64_t hits_of(random_source *random, double share)
{
    uint64_t hits = 0;
    for (int i = 0; i < LONG; i++)
        hits += uniform(random) < share;
    return hits;
}

/* Simulates two equal runs, the second with `finer` times the sampling rate. Returns how often they
 * are declared different. */
static double told_apart(random_source *random, double before, double after, unsigned finer)
{
    int told = 0;
    const crn_sampling sampling[2] = {{.unit = 1000, .total = LONG * 1000},
                                      {.unit = 1000.0 / finer, .total = LONG * 1000}};
    for (int run = 0; run < RUNS; run++) {
        uint64_t values[2] = {hits_of(random, before) * 1000, 0};
        for (unsigned i = 0; i < finer; i++)
            values[1] += hits_of(random, after) * 1000 / finer;
        told += !crn_sampling_within_chance(sampling, values, CRN_INTERVAL_Z);
    }
    return (double)told / RUNS;
}

static void equal_runs_differ_by_chance(void **state)
{
    (void)state;
    random_source random = {5};
    static const double shares[] = {0.005, 0.02, 0.1, 0.5, 0.9};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        assert_true(told_apart(&random, shares[i], shares[i], 1) < 0.065);
        assert_true(told_apart(&random, shares[i], shares[i], 4) < 0.065);
    }
}

static void unequal_runs_are_distinguished(void **state)
{
    (void)state;
    random_source random = {6};
    assert_true(told_apart(&random, 0.02, 0.1, 1) > 0.95);
    assert_true(told_apart(&random, 0.5, 0.65, 1) > 0.95);
    assert_true(told_apart(&random, 0.9, 0.97, 4) > 0.95);
}

static void exact_differences_are_never_chance(void **state)
{
    (void)state;
    const crn_sampling exact = {.total = 1e6}, sampled = {.unit = 1000, .total = 1e6};
    const crn_sampling both[2] = {exact, exact}, one[2] = {exact, sampled};
    const crn_sampling none[2] = {sampled, sampled};
    assert_false(crn_sampling_within_chance(both, (const uint64_t[]){500, 501}, CRN_INTERVAL_Z));
    /* Known to be 10,000; 10 samples may as well be 14, but not 20. */
    assert_true(crn_sampling_within_chance(one, (const uint64_t[]){10000, 14000}, CRN_INTERVAL_Z));
    assert_false(crn_sampling_within_chance(one, (const uint64_t[]){10000, 20000}, CRN_INTERVAL_Z));
    /* A block that never ran has no hits. */
    assert_false(crn_sampling_within_chance(one, (const uint64_t[]){0, 1000}, CRN_INTERVAL_Z));
    /* 3 samples more than none may be chance, 5 are not; totals have no noise. */
    assert_true(crn_sampling_within_chance(none, (const uint64_t[]){0, 3000}, CRN_INTERVAL_Z));
    assert_false(crn_sampling_within_chance(none, (const uint64_t[]){0, 5000}, CRN_INTERVAL_Z));
    const crn_sampling grown[2] = {sampled, {.unit = 1000, .total = 1001000}};
    assert_false(
        crn_sampling_within_chance(grown, (const uint64_t[]){1000000, 1001000}, CRN_INTERVAL_Z));
}

/* ---- from a profile's notes ---- */

typedef struct noted {
    const char *key, *value;
} noted;

static crn_profile *profile_of(const noted *notes, uint64_t wall, uint64_t cpu, uint64_t ticks)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    uint32_t root = crn_profile_builder_root(builder);
    crn_profile_builder_charge(builder, root, CRN_METRIC_WALL, wall);
    crn_profile_builder_charge(builder, root, CRN_METRIC_CPU, cpu);
    crn_profile_builder_charge(builder, root, CRN_METRIC_TICKS, ticks);
    for (; notes->key; notes++)
        crn_profile_builder_note(builder, notes->key, notes->value);
    return crn_profile_builder_end(builder);
}

static void clocks_are_as_fine_as_the_notes_say(void **state)
{
    (void)state;
    const noted notes[] = {
        {"wall", "sampled"}, {"cpu", "sampled"},      {"sample_period_ns", "1000000"},
        {"samples", "500"},  {"tick_period", "1000"}, {"tick_samples", "30"},
        {NULL, NULL}};
    crn_profile *profile = profile_of(notes, 1000000000, 250000000, 30000);
    crn_sampling wall = crn_sampling_of(profile, CRN_METRIC_WALL);
    crn_sampling cpu = crn_sampling_of(profile, CRN_METRIC_CPU);
    crn_sampling ticks = crn_sampling_of(profile, CRN_METRIC_TICKS);
    crn_sampling calls = crn_sampling_of(profile, CRN_METRIC_CALLS);
    assert_near(wall.asked, 1e6, 0);
    assert_near(wall.reached, 2e6, 1e-3); /* it was lengthened */
    assert_near(wall.unit, 2e6 * 13 / 12, 1e-3);
    assert_int_equal(wall.samples, 500);
    assert_near(cpu.unit, wall.unit, 1e-3);
    assert_near(cpu.total, 250e6, 0);
    assert_near(ticks.unit, 1000, 0);
    assert_near(ticks.reached, 1000, 1e-9);
    assert_true(calls.unit == 0);
    assert_true(crn_sampling_is_sure(&wall, 0));
    assert_false(crn_sampling_is_sure(&wall, 1));
    assert_false(crn_sampling_is_sure(&wall, 216000000));
    assert_true(crn_sampling_is_sure(&wall, 217000000));
    crn_profile_free(profile);
}

/* The recorded statistics of a sampler: 1,000 rounds of 1.2 ms, of which few charged a blocked
 * thread; gaps are exponential, with a mean square of twice their squared mean. */
static void recorded_sampler_statistics_are_used(void **state)
{
    (void)state;
    const noted notes[] = {{"wall", "sampled"},
                           {"cpu", "sampled"},
                           {"sample_period_ns", "1000000"},
                           {"samples", "50"},
                           {"sample_rounds", "1000"},
                           {"sample_rounds_ns", "1200000000"},
                           {"wall_squares", "144000000"}, /* 50 gaps of 2 * 1.2 ms squared */
                           {"cpu_samples", "40"},
                           {"cpu_squares", "20000000"}, /* 40 gaps of 2 * 0.5 ms squared */
                           {NULL, NULL}};
    crn_profile *profile = profile_of(notes, 1200000000, 20000000, 0);
    crn_sampling wall = crn_sampling_of(profile, CRN_METRIC_WALL);
    crn_sampling cpu = crn_sampling_of(profile, CRN_METRIC_CPU);
    assert_near(wall.reached, 1.2e6, 1e-3);
    assert_near(wall.unit, 2.4e6, 1e-3);
    assert_int_equal(wall.samples, 50);
    assert_near(cpu.reached, 1.2e6, 1e-3);
    assert_near(cpu.unit, 1e6, 1e-3);
    assert_int_equal(cpu.samples, 40);
    /* 50 gaps of 2 * 1.2 ms squared, and one at the end. */
    assert_near(wall.error, sqrt(50 * 2 * 1.44 + 1.44) * 1e6 / 2, 1);
    crn_profile_free(profile);
}

/* A program that alternates computing and sleeping, 200 periods each: only gaps around a change are
 * uncertain. There are few samples, but the costs are known well. */
static void long_contexts_are_known_from_few_samples(void **state)
{
    (void)state;
    enum { TURNS = 10 };
    random_source random = {8};
    int held = 0, narrow = 0;
    for (int run = 0; run < RUNS; run++) {
        double charged = 0, squares = 0, spent = 0, now = 0, last = 0,
               next = 0.5 + uniform(&random);
        for (int turn = 0; turn < TURNS; turn++) {
            double end = now + 200 + uniform(&random) * 10;
            double first = next; /* the gap that the turn's beginning lies in */
            squares += (first - last) * (first - last);
            while (next < end) {
                charged += turn % 2 ? next - last : 0;
                last = next;
                next += 0.5 + uniform(&random);
            }
            spent += turn % 2 ? end - now : 0;
            now = end;
        }
        charged += now - last; /* the rest: turns end with one that counts */
        crn_sampling sampling = {
            .unit = 13.0 / 12 * 1e6, .total = now * 1e6, .error = sqrt(squares + 1) / 2 * 1e6};
        uint64_t value = (uint64_t)(charged * 1e6);
        crn_interval found = crn_sampling_interval(&sampling, value);
        held += found.low <= spent * 1e6 && spent * 1e6 <= found.high;
        narrow += found.high - found.low < 10e6 && crn_sampling_is_sure(&sampling, value);
    }
    assert_true(held > RUNS * 0.95);
    assert_int_equal(narrow, RUNS);
}

static void merged_profiles_have_the_coarsest_period(void **state)
{
    (void)state;
    const noted notes[] = {{"wall", "exact | sampled"},
                           {"cpu", "off"},
                           {"sample_period_ns", "1000000 | 4000000"},
                           {"samples", "2000"},
                           {"tick_period", "1 | 50"},
                           {NULL, NULL}};
    crn_profile *profile = profile_of(notes, 2000000000, 77, 30000);
    assert_near(crn_sampling_of(profile, CRN_METRIC_WALL).unit, 4e6 * 13 / 12, 1e-3);
    assert_near(crn_sampling_of(profile, CRN_METRIC_TICKS).unit, 50, 0);
    assert_true(crn_sampling_of(profile, CRN_METRIC_CPU).unit == 0); /* the host charged it */
    crn_profile_free(profile);
}

/* Nothing was sampled: a short run, all of whose time was charged at its end. */
static void no_samples_say_nothing(void **state)
{
    (void)state;
    const noted notes[] = {
        {"wall", "sampled"}, {"sample_period_ns", "1000000"}, {"samples", "0"}, {NULL, NULL}};
    crn_profile *profile = profile_of(notes, 700000, 0, 0);
    crn_sampling wall = crn_sampling_of(profile, CRN_METRIC_WALL);
    crn_interval found = crn_sampling_interval(&wall, 300000);
    assert_true(wall.reached == 0 && wall.unit >= 1e6);
    assert_true(found.low < 30000 && found.high > 650000);
    crn_profile_free(profile);
}

static void notes_that_mean_harm_are_nothing(void **state)
{
    (void)state;
    const noted notes[] = {{"wall", "sampled"},
                           {"sample_period_ns", "nan | inf | -5 | 1e400"},
                           {"samples", "-1"},
                           {"tick_period", "1e300"},
                           {NULL, NULL}};
    crn_profile *profile = profile_of(notes, 1000, 0, 10);
    crn_sampling wall = crn_sampling_of(profile, CRN_METRIC_WALL);
    crn_interval found = crn_sampling_interval(&wall, 10);
    assert_true(found.low >= 0 && found.high <= 1000 && found.low <= found.high);
    assert_true(crn_sampling_of(profile, CRN_METRIC_TICKS).unit == 0);
    crn_profile_free(profile);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_contain_sampled_time),
        cmocka_unit_test(intervals_contain_sampled_ticks),
        cmocka_unit_test(equal_runs_differ_by_chance),
        cmocka_unit_test(unequal_runs_are_distinguished),
        cmocka_unit_test(exact_differences_are_never_chance),
        cmocka_unit_test(clocks_are_as_fine_as_the_notes_say),
        cmocka_unit_test(recorded_sampler_statistics_are_used),
        cmocka_unit_test(long_contexts_are_known_from_few_samples),
        cmocka_unit_test(merged_profiles_have_the_coarsest_period),
        cmocka_unit_test(no_samples_say_nothing),
        cmocka_unit_test(notes_that_mean_harm_are_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
