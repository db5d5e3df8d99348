/* SPDX-License-Identifier: MIT
 *
 * test_compare.c - comparing groups of runs: known cases, and simulated fleets with a planted
 * regression.
 */
#include <math.h>

#include "fleet/fleet.h"
#include "support/cases.h"
#include "support/random.h"

enum { FUNCTIONS = 200, RUNS = 20 };

/* From the sum of twelve uniform numbers: close enough to normal. */
static double noise(random_source *random, double deviation)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)random_below(random, 1 << 20) / (1 << 20);
    return 1 + deviation * sum;
}

/* Runs on machines whose speeds differ by 10 %; each function differs by 1 % besides. After, the
 * function `slower` costs 3 % more. */
static void fleet_make(random_source *random, double *values, int slower)
{
    for (int r = 0; r < 2 * RUNS; r++) {
        double machine = noise(random, 0.1);
        for (int f = 0; f < FUNCTIONS; f++)
            values[r * FUNCTIONS + f] = 1e6 * (1 + f % 17) * machine * noise(random, 0.01) *
                                        (r >= RUNS && f == slower ? 1.03 : 1);
    }
}

static void a_planted_regression_is_found_and_nothing_else_blamed(void **state)
{
    (void)state;
    enum { FLEETS = 100 };
    static double values[2 * RUNS * FUNCTIONS];
    random_source random = {11};
    int found = 0, wrong = 0;
    for (int i = 0; i < FLEETS; i++) {
        int slower = (int)random_below(&random, FUNCTIONS);
        fleet_make(&random, values, slower);
        crn_fleet_costs costs = {{RUNS, RUNS}, FUNCTIONS, values};
        crn_fleet_compare compare = crn_fleet_compare_make(&costs, true, 0.0001);
        bool blamed = false;
        for (size_t c = 0; c < compare.count; c++) {
            bool sure = compare.changes[c].p < 0.05;
            found += sure && compare.changes[c].column == (uint32_t)slower;
            blamed |= sure && compare.changes[c].column != (uint32_t)slower;
        }
        wrong += blamed;
        crn_fleet_compare_free(&compare);
    }
    print_message("# found %d, wrong %d of %d\n", found, wrong, FLEETS);
    assert_true(found >= FLEETS * 95 / 100);
    assert_true(wrong <= FLEETS * 5 / 100 + 3); /* 5 are expected at most: 8 is three deviations */
}

/* Welch's test against a published example: NIST/SEMATECH e-Handbook, 7.3.1, two processes. */
static void p_and_interval_are_those_of_welch(void **state)
{
    (void)state;
    double values[] = {32, 37, 35, 28, 41, 44, 35, 31, 34, 38,
                       42, 36, 31, 30, 29, 34, 35, 25, 34, 38};
    enum { BEFORE = 11, AFTER = 9 };
    crn_fleet_costs costs = {{BEFORE, AFTER}, 1, values};
    crn_fleet_compare compare = crn_fleet_compare_make(&costs, false, 0);
    const crn_fleet_change *change = &compare.changes[0];
    double before = 0, after = 0, one = 0, other = 0;
    for (int i = 0; i < BEFORE; i++)
        before += values[i] / BEFORE;
    for (int i = 0; i < AFTER; i++)
        after += values[BEFORE + i] / AFTER;
    for (int i = 0; i < BEFORE; i++)
        one += pow(values[i] - before, 2) / (BEFORE - 1) / BEFORE;
    for (int i = 0; i < AFTER; i++)
        other += pow(values[BEFORE + i] - after, 2) / (AFTER - 1) / AFTER;
    double t = (after - before) / sqrt(one + other);
    double freedom = pow(one + other, 2) / (one * one / (BEFORE - 1) + other * other / (AFTER - 1));
    /* The density of t, integrated by Simpson's rule from 0 to |t|. */
    enum { STEPS = 20000 };
    double area = 0, width = fabs(t) / STEPS;
    double scale = exp(lgamma((freedom + 1) / 2) - lgamma(freedom / 2)) / sqrt(freedom * acos(-1));
    for (int i = 0; i <= STEPS; i++) {
        double x = i * width, density = scale * pow(1 + x * x / freedom, -(freedom + 1) / 2);
        area += density * width / 3 * (i == 0 || i == STEPS ? 1 : i % 2 ? 4 : 2);
    }
    assert_true(fabs(change->p - (1 - 2 * area)) < 1e-9);
    assert_true(fabs(change->before - before) < 1e-12 && fabs(change->after - after) < 1e-12);
    double middle = (change->low + change->high) / 2;
    assert_true(fabs(middle - (after - before) / before) < 1e-12);
    crn_fleet_compare_free(&compare);
}

static void without_noise_every_difference_counts(void **state)
{
    (void)state;
    double values[] = {5, 7, 5, 7, 5, 8, 5, 8};
    crn_fleet_costs costs = {{2, 2}, 2, values};
    crn_fleet_compare compare = crn_fleet_compare_make(&costs, false, 0);
    assert_int_equal(compare.count, 2);
    assert_int_equal(compare.changes[0].column, 1);
    assert_true(compare.changes[0].p == 0 && compare.changes[1].p == 1);
    crn_fleet_compare_free(&compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_planted_regression_is_found_and_nothing_else_blamed),
        cmocka_unit_test(p_and_interval_are_those_of_welch),
        cmocka_unit_test(without_noise_every_difference_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
