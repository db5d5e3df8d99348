/* SPDX-License-Identifier: MIT
 *
 * test_analysis_interval.c - confidence intervals, compared with exact and published ones; their
 * coverage, computed over all outcomes.
 */
#include <math.h>
#include <stdio.h>

#include "profile/profile.h"
#include "support/cases.h"
#include "support/near.h"

/* ---- reference: binomial tails, term by term ---- */

static double binomial(unsigned hits, unsigned samples, double share)
{
    if (share <= 0 || share >= 1)
        return hits == (share >= 1 ? samples : 0);
    return exp(lgamma(samples + 1.0) - lgamma(hits + 1.0) - lgamma(samples - hits + 1.0) +
               hits * log(share) + (samples - hits) * log1p(-share));
}

static double at_most(unsigned hits, unsigned samples, double share)
{
    double sum = 0;
    for (unsigned i = 0; i <= hits; i++)
        sum += binomial(i, samples, share);
    return sum;
}

/* Returns the share for which at most `hits` hits have probability `tail` (Clopper, Pearson
 * 1934). */
static double share_at(unsigned hits, unsigned samples, double tail)
{
    double low = 0, high = 1;
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (at_most(hits, samples, middle) > tail)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static crn_interval exact_interval(unsigned hits, unsigned samples)
{
    return (crn_interval){hits ? share_at(hits - 1, samples, 0.975) : 0,
                          hits < samples ? share_at(hits, samples, 0.025) : 1};
}

/* The table of docs/SAMPLING.md, in hits of 1,000. */
static void the_table_of_the_manual_is_right(void **state)
{
    (void)state;
    static const struct {
        unsigned hits;
        crn_interval wilson, exact;
        double tolerance[2]; /* half of the last digit that is printed, of each end's */
    } rows[] = {{0, {0, 3.8}, {0, 3.7}, {0.05, 0.05}},
                {1, {0.2, 5.6}, {0.03, 5.6}, {0.05, 0.05}},
                {5, {2.1, 11.7}, {1.6, 11.6}, {0.05, 0.05}},
                {30, {21.1, 42.5}, {20.3, 42.6}, {0.05, 0.05}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        crn_interval wilson = crn_interval_share(rows[i].hits, 1000);
        crn_interval exact = exact_interval(rows[i].hits, 1000);
        assert_near(1000 * wilson.low, rows[i].wilson.low, rows[i].tolerance[0]);
        assert_near(1000 * wilson.high, rows[i].wilson.high, rows[i].tolerance[1]);
        assert_near(1000 * exact.low, rows[i].exact.low, rows[i].tolerance[0]);
        assert_near(1000 * exact.high, rows[i].exact.high, rows[i].tolerance[1]);
    }
}

/* Wilson's interval is inside the exact one, or close to it, at all points. */
static void an_interval_is_close_to_the_exact_one(void **state)
{
    (void)state;
    static const unsigned samples[] = {5, 20, 100, 1000};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        unsigned step = samples[i] > 100 ? 7 : 1;
        for (unsigned hits = 0; hits <= samples[i]; hits += step) {
            crn_interval found = crn_interval_share(hits, samples[i]);
            crn_interval exact = exact_interval(hits, samples[i]);
            double share = (double)hits / samples[i], width = exact.high - exact.low;
            assert_true(found.low <= share && share <= found.high);
            assert_true(found.low >= 0 && found.high <= 1);
            assert_near(found.low, exact.low, 0.2 * width + 1e-12);
            assert_near(found.high, exact.high, 0.2 * width + 1e-12);
        }
    }
}

static void interval_ends_are_right(void **state)
{
    (void)state;
    crn_interval nothing = crn_interval_share(0, 0), never = crn_interval_share(0, 1000);
    crn_interval always = crn_interval_share(50, 50), part = crn_interval_share(0.3, 0.5);
    assert_true(nothing.low == 0 && nothing.high == 1);
    assert_true(never.low == 0 && never.high > 0 && never.high < 0.004);
    assert_true(always.high == 1 && always.low > 0.9 && always.low < 1);
    assert_true(part.low < 0.3 && part.high > 0.9); /* half a sample says next to nothing */
    crn_interval beyond = crn_interval_share(12, 10);
    assert_true(beyond.high == 1 && beyond.low <= 1);
}

/* Newcombe's own example: 56 of 70 less 48 of 80 (Table II, method 10). */
static void a_difference_is_newcombes(void **state)
{
    (void)state;
    crn_interval found = crn_interval_difference(56.0 / 70, crn_interval_share(56, 70), 48.0 / 80,
                                                 crn_interval_share(48, 80));
    assert_near(found.low, 0.0524, 0.00005);
    assert_near(found.high, 0.3339, 0.00005);
    crn_interval known =
        crn_interval_difference(0.75, (crn_interval){0.75, 0.75}, 0.25, (crn_interval){0.25, 0.25});
    assert_true(known.low == 0.5 && known.high == 0.5);
}

static void many_comparisons_need_a_larger_deviate(void **state)
{
    (void)state;
    assert_near(crn_interval_z_of(0), 1.959964, 1e-6);
    assert_near(crn_interval_z_of(1), 1.959964, 1e-6);
    assert_near(crn_interval_z_of(2), 2.241403, 1e-6);
    assert_near(crn_interval_z_of(10), 2.807034, 1e-6);
    assert_near(crn_interval_z_of(1000), 4.055627, 1e-6);
    assert_true(crn_interval_z_of(UINT32_MAX) < 8);
}

/* Each share's chance to be held, worked out and not tried: 95 % in the mean, and never below
 * the 84 % that docs/SAMPLING.md owns to. */
static void intervals_contain_the_share(void **state)
{
    (void)state;
    enum { SAMPLES = 1000, SHARES = 400 };
    crn_interval intervals[SAMPLES + 1];
    for (unsigned hits = 0; hits <= SAMPLES; hits++)
        intervals[hits] = crn_interval_share(hits, SAMPLES);
    double sum = 0, worst = 1;
    for (int i = 0; i < SHARES; i++) {
        double share = 0.1 * (i + 0.5) / SHARES, held = 0; /* up to 100 hits of 1,000 */
        for (unsigned hits = 0; hits <= 200; hits++)
            if (intervals[hits].low <= share && share <= intervals[hits].high)
                held += binomial(hits, SAMPLES, share);
        sum += held;
        worst = held < worst ? held : worst;
    }
    assert_near(sum / SHARES, 0.95, 0.01);
    assert_true(worst > 0.83);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_the_manual_is_right),
        cmocka_unit_test(an_interval_is_close_to_the_exact_one),
        cmocka_unit_test(interval_ends_are_right),
        cmocka_unit_test(a_difference_is_newcombes),
        cmocka_unit_test(many_comparisons_need_a_larger_deviate),
        cmocka_unit_test(intervals_contain_the_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
