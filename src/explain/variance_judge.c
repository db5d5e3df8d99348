/* SPDX-License-Identifier: MIT
 *
 * Tests how much of the variance a factor explains: by groups, or by a line.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain/f_test.h"
#include "explain/variance_factors.h"

enum {
    LEAST_WITHIN = 3, /* least degrees of freedom of the rest */
    RANGES = 10       /* number of ranges into which the values of a number are divided */
};

/* The result of one model. */
typedef struct test {
    double explained, between, within;
    double slope;
    crn_factor_group slowest, fastest;
} test;

typedef struct moments {
    double mean, squares; /* squares: sum of squared deviations */
} moments;

static moments durations_of(const crn_factor *factor)
{
    moments its = {0};
    for (uint32_t i = 0; i < factor->count; i++)
        its.mean += (crn_factor_duration(factor, i) - its.mean) / (i + 1);
    for (uint32_t i = 0; i < factor->count; i++) {
        double deviation = crn_factor_duration(factor, i) - its.mean;
        its.squares += deviation * deviation;
    }
    return its;
}

/* Tests a straight line. Scales the numbers first, because their squares may overflow a double. */
static test test_line(const crn_factor *factor, const moments *durations)
{
    double low = crn_factor_number(factor, 0);
    double high = crn_factor_number(factor, factor->count - 1);
    double scale = fmax(fabs(low), fabs(high)), mean = 0, squares = 0, products = 0;
    test test = {.between = 1, .within = (double)factor->count - 2};
    if (!(scale > 0) || scale < 1e-300)
        return test;
    for (uint32_t i = 0; i < factor->count; i++)
        mean += (crn_factor_number(factor, i) / scale - mean) / (i + 1);
    for (uint32_t i = 0; i < factor->count; i++) {
        double deviation = crn_factor_number(factor, i) / scale - mean;
        squares += deviation * deviation;
        products += deviation * (crn_factor_duration(factor, i) - durations->mean);
    }
    if (!(squares > 0))
        return test;
    test.slope = products / squares / scale;
    test.explained = fmin(1, products * products / squares / durations->squares);
    return test;
}

static void add_group(test *test, const crn_factor *factor, uint32_t first, uint32_t last,
                      const moments *durations)
{
    crn_factor_group group = {.text = crn_factor_text(factor, first),
                              .low = crn_factor_number(factor, first),
                              .high = crn_factor_number(factor, last - 1),
                              .count = last - first};
    double deviation = 0;
    for (uint32_t i = first; i < last; i++)
        deviation +=
            (crn_factor_duration(factor, i) - durations->mean - deviation) / (i - first + 1);
    group.mean = durations->mean + deviation;
    test->explained += deviation * deviation * group.count;
    if (!test->slowest.count || group.mean > test->slowest.mean)
        test->slowest = group;
    if (!test->fastest.count || group.mean < test->fastest.mean)
        test->fastest = group;
    test->between++;
}

/* Tests groups of equal values if `most` is 0; else about `most` ranges of values, with about equal
 * numbers of spans. Equal values stay together. */
static test test_groups(const crn_factor *factor, const moments *durations, uint32_t most)
{
    test test = {.between = -1};
    for (uint32_t first = 0, last; first < factor->count; first = last) {
        uint32_t left = most - (uint32_t)(test.between + 1);
        uint32_t wanted = most ? (factor->count - first) / (left ? left : 1) : 1;
        last = crn_factor_run_end(factor, first + (wanted ? wanted : 1) - 1);
        add_group(&test, factor, first, last, durations);
    }
    test.explained = fmin(1, test.explained / durations->squares);
    test.within = factor->count - test.between - 1;
    return test;
}

static uint32_t count_values(const crn_factor *factor)
{
    uint32_t values = 0;
    for (uint32_t at = 0; at < factor->count; at = crn_factor_run_end(factor, at))
        values++;
    return values;
}

static void use(crn_explain_factor *shown, const test *test, double tries)
{
    shown->explained = crn_explained_adjusted(test->explained, test->between, test->within);
    shown->chance = fmin(1, tries * crn_f_test(test->explained, test->between, test->within));
    shown->slope = test->slope;
    shown->slowest = test->slowest;
    shown->fastest = test->fastest;
}

void crn_factor_judge(crn_factor *factor)
{
    crn_explain_factor *shown = &factor->shown;
    shown->count = factor->count;
    shown->values = count_values(factor);
    shown->chance = 1;
    shown->verdict = CRN_VERDICT_CONSTANT;
    if (shown->values < 2)
        return;
    moments durations = durations_of(factor);
    uint32_t groups = shown->number && shown->values > RANGES ? RANGES : shown->values;
    shown->verdict = CRN_VERDICT_FEW;
    if (factor->count < groups + LEAST_WITHIN || groups > factor->count / 2)
        return;
    shown->verdict = CRN_VERDICT_CHANCE;
    if (!(durations.squares > 0))
        return;
    test by_groups = test_groups(factor, &durations, groups < shown->values ? RANGES : 0);
    use(shown, &by_groups, 1);
    if (!shown->number)
        return;
    shown->ranges = true;
    test line = test_line(factor, &durations);
    crn_explain_factor by_groups_shown = *shown;
    use(shown, &line, 2);
    shown->ranges = false;
    if (by_groups_shown.explained > shown->explained && shown->values > 2) {
        *shown = by_groups_shown;
        shown->chance = fmin(1, 2 * shown->chance);
    }
}

/* ---- slow and typical spans ---- */

void crn_factor_compare_slow(crn_factor *factor)
{
    const crn_explained *explained = factor->explained;
    uint32_t slow = 0, typical = 0, best = 0, best_typical = 0;
    double slow_mean = 0, typical_mean = 0;
    for (uint32_t first = 0, last; first < factor->count; first = last) {
        uint32_t run_slow = 0, run_typical = 0;
        double number = crn_factor_number(factor, first);
        last = crn_factor_run_end(factor, first);
        for (uint32_t i = first; i < last; i++) {
            run_slow += crn_bits_has(explained->slow, factor->spans[i]);
            run_typical += crn_bits_has(explained->typical, factor->spans[i]);
        }
        slow += run_slow;
        typical += run_typical;
        if (run_slow)
            slow_mean += (number - slow_mean) * run_slow / slow;
        if (run_typical)
            typical_mean += (number - typical_mean) * run_typical / typical;
        if (run_slow <= best)
            continue;
        best = run_slow;
        best_typical = run_typical;
        factor->shown.common = crn_factor_text(factor, first);
        factor->shown.common_number = number;
    }
    bool number = factor->shown.number;
    factor->shown.slow = !slow ? NAN : number ? slow_mean : (double)best / slow;
    factor->shown.typical = !typical ? NAN : number ? typical_mean : (double)best_typical / typical;
}
