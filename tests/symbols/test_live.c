/* SPDX-License-Identifier: MIT
 *
 * test_live.c - live bytes, and the stated uncertainty of sampled bytes.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "profile/profile.h"
#include "support/cases.h"
#include "support/random.h"
#include "support/scratch.h"

enum { RUNS = 1000, OBJECTS = 3000, MEAN = 10000 };

/* A profile of one function that allocated `came` and freed `went`. */
static crn_profile *profile_of(uint64_t came, uint64_t went, const char *mean)
{
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_block_info block = {.name = "f"};
    uint32_t context = crn_profile_builder_child(builder, crn_profile_builder_root(builder),
                                                 crn_profile_builder_block(builder, &block), 0);
    uint32_t bytes = crn_profile_builder_metric(builder, CRN_ALLOC_BYTES, "bytes");
    uint32_t freed = crn_profile_builder_metric(builder, CRN_FREED_BYTES, "bytes");
    crn_profile_builder_charge(builder, context, bytes, came);
    crn_profile_builder_charge(builder, context, freed, went);
    if (mean)
        crn_profile_builder_note(builder, "alloc", mean);
    return crn_profile_builder_end(builder);
}

static void what_lives_is_the_difference(void **state)
{
    (void)state;
    static const struct {
        uint64_t came, went, live;
        size_t warnings;
    } cases[] = {{10, 3, 7, 0}, {10, 10, 0, 0}, {10, 11, 0, 1}, {10, 0, 10, 0}, {0, 0, 0, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        crn_profile *profile = profile_of(cases[i].came, cases[i].went, "exact");
        crn_live_derive(profile);
        crn_live_derive(profile); /* a saved capture has it already */
        int live = crn_profile_metric(profile, CRN_LIVE_BYTES);
        assert_true(live >= 0);
        assert_int_equal(crn_metric_total(profile, (uint32_t)live), cases[i].live);
        assert_int_equal(profile->warning_count, 2 * cases[i].warnings);
        assert_int_equal(crn_profile_metric(profile, CRN_LIVE_OBJECTS), -1);
        assert_int_equal(crn_alloc_recorded(profile), cases[i].came != 0);
        crn_profile_free(profile);
    }
}

static void the_mean_is_the_coarsest(void **state)
{
    (void)state;
    static const struct {
        const char *note;
        double mean;
    } cases[] = {{NULL, 0},
                 {"exact", 0},
                 {"524288", 524288},
                 {"512 | 4096", 4096},
                 {"exact | 4096", 4096},
                 {"4096 | exact", 4096},
                 {"-5", 0},
                 {"nan", 0},
                 {"1e300", 0},
                 {"", 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        crn_profile *profile = profile_of(1, 0, cases[i].note);
        assert_true(crn_alloc_mean(profile) == cases[i].mean);
        uint32_t metric = (uint32_t)crn_profile_metric(profile, CRN_ALLOC_BYTES);
        assert_true(crn_sampling_of(profile, metric).unit == cases[i].mean);
        assert_true(crn_sampling_of(profile, CRN_METRIC_WALL).unit == 0);
        crn_profile_free(profile);
    }
}

/* Small sizes, and sometimes one that is larger than the mean. */
static uint64_t draw_size(random_source *random)
{
    return random_chance(random, 1, 50) ? 1 + random_below(random, 40000)
                                        : 1 + random_below(random, 500);
}

/* Random allocations, sampled as docs/ALLOC.md describes: the true value must be in the stated 95 %
 * interval in at least 95 of 100 runs, because the stated variance is an upper bound. */
static void sampled_bytes_are_as_sure_as_is_said(void **state)
{
    (void)state;
    random_source random = {5};
    uint64_t runs = scale(RUNS), inside = 0;
    for (uint64_t run = 0; run < runs; run++) {
        double truth = 0, estimate = 0;
        for (int i = 0; i < OBJECTS; i++) {
            double size = (double)draw_size(&random), chance = -expm1(-size / MEAN);
            bool drawn = (double)random_next(&random) < chance * 0x1p64;
            truth += size;
            estimate += drawn ? size / chance : 0;
        }
        char mean[32];
        snprintf(mean, sizeof mean, "%d", MEAN);
        crn_profile *profile = profile_of((uint64_t)estimate, 0, mean);
        uint32_t metric = (uint32_t)crn_profile_metric(profile, CRN_ALLOC_BYTES);
        crn_sampling sampling = crn_sampling_of(profile, metric);
        crn_interval interval = crn_sampling_interval(&sampling, (uint64_t)estimate);
        assert_true(interval.low <= estimate && estimate <= interval.high + 1);
        inside += interval.low <= truth && truth <= interval.high;
        crn_profile_free(profile);
    }
    assert_true((double)inside >= 0.95 * (double)runs - 3 * sqrt(0.05 * 0.95 * (double)runs));
}

static void nothing_seen_may_be_a_few_means(void **state)
{
    (void)state;
    crn_interval none = crn_interval_count(0, MEAN);
    assert_true(none.low == 0 && none.high > 3 * MEAN && none.high < 5 * MEAN);
    crn_interval exact = crn_interval_count(77, 0);
    assert_true(exact.low == 77 && exact.high == 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lives_is_the_difference),
        cmocka_unit_test(the_mean_is_the_coarsest),
        cmocka_unit_test(sampled_bytes_are_as_sure_as_is_said),
        cmocka_unit_test(nothing_seen_may_be_a_few_means),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
