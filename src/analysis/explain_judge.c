/* SPDX-License-Identifier: MIT
 *
 * How much of the durations a factor explains: by dividing spans into groups, or by a line.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/explain_factors.h"
#include "analysis/f_test.h"

enum {
    LEAST_WITHIN = 3, /* degrees of freedom that are left for the rest */
    RANGES = 10
};

static int compare_data(const void *left, const void *right)
{
    const crn_factor_datum *a = left, *b = right;
    if (a->text != b->text && a->text && b->text) {
        int order = strcmp(a->text, b->text);
        if (order)
            return order;
    }
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Most are in order as they are: iterations, and what is the same for all. */
static void sort_data(crn_factor *factor)
{
    uint32_t sorted = 1;
    while (sorted < factor->count &&
           compare_data(&factor->data[sorted - 1], &factor->data[sorted]) < 0)
        sorted++;
    if (sorted < factor->count)
        qsort(factor->data, factor->count, sizeof *factor->data, compare_data);
}

bool crn_factor_is_alike(const crn_factor_datum *left, const crn_factor_datum *right)
{
    return left->number == right->number &&
           (left->text == right->text ||
            (left->text && right->text && strcmp(left->text, right->text) == 0));
}

/* What one way of dividing them explains. */
typedef struct test {
    double explained, between, within;
    double slope;
    crn_factor_group slowest, fastest;
} test;

typedef struct moments {
    double mean, squares; /* of deviations */
} moments;

static moments durations_of(const crn_factor *factor)
{
    moments its = {0};
    for (uint32_t i = 0; i < factor->count; i++)
        its.mean += (factor->data[i].duration - its.mean) / (i + 1);
    for (uint32_t i = 0; i < factor->count; i++) {
        double deviation = factor->data[i].duration - its.mean;
        its.squares += deviation * deviation;
    }
    return its;
}

/* A straight line. Numbers are scaled first: their squares may be too large for a double. */
static test test_line(const crn_factor *factor, const moments *durations)
{
    const crn_factor_datum *data = factor->data;
    double low = data[0].number, high = data[factor->count - 1].number;
    double scale = fmax(fabs(low), fabs(high)), mean = 0, squares = 0, products = 0;
    test test = {.between = 1, .within = (double)factor->count - 2};
    if (!(scale > 0) || scale < 1e-300)
        return test;
    for (uint32_t i = 0; i < factor->count; i++)
        mean += (data[i].number / scale - mean) / (i + 1);
    for (uint32_t i = 0; i < factor->count; i++) {
        double deviation = data[i].number / scale - mean;
        squares += deviation * deviation;
        products += deviation * (data[i].duration - durations->mean);
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
    const crn_factor_datum *data = factor->data;
    crn_factor_group group = {.text = data[first].text,
                              .low = data[first].number,
                              .high = data[last - 1].number,
                              .count = last - first};
    double deviation = 0;
    for (uint32_t i = first; i < last; i++)
        deviation += (data[i].duration - durations->mean - deviation) / (i - first + 1);
    group.mean = durations->mean + deviation;
    test->explained += deviation * deviation * group.count;
    if (!test->slowest.count || group.mean > test->slowest.mean)
        test->slowest = group;
    if (!test->fastest.count || group.mean < test->fastest.mean)
        test->fastest = group;
    test->between++;
}

/* Groups of equal values, or for `most` of them at most of about as many spans each: equal
 * values are never divided. */
static test test_groups(const crn_factor *factor, const moments *durations, uint32_t most)
{
    test test = {.between = -1};
    for (uint32_t first = 0, last; first < factor->count; first = last) {
        uint32_t left = most - (uint32_t)(test.between + 1);
        uint32_t wanted = most ? (factor->count - first) / (left ? left : 1) : 1;
        last = first + (wanted ? wanted : 1);
        while (last < factor->count &&
               crn_factor_is_alike(&factor->data[last], &factor->data[last - 1]))
            last++;
        add_group(&test, factor, first, last, durations);
    }
    test.explained = fmin(1, test.explained / durations->squares);
    test.within = factor->count - test.between - 1;
    return test;
}

static uint32_t count_values(const crn_factor *factor)
{
    uint32_t values = factor->count > 0;
    for (uint32_t i = 1; i < factor->count; i++)
        values += !crn_factor_is_alike(&factor->data[i], &factor->data[i - 1]);
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
    sort_data(factor);
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

void crn_factor_compare_slow(const crn_explained *explained, crn_factor *factor)
{
    uint32_t slow = 0, typical = 0, run_slow = 0, run_typical = 0, best = 0, best_typical = 0;
    double slow_mean = 0, typical_mean = 0;
    for (uint32_t i = 0; i < factor->count; i++) {
        const crn_factor_datum *datum = &factor->data[i];
        if (i && !crn_factor_is_alike(datum, datum - 1))
            run_slow = run_typical = 0;
        bool is_slow = explained->slow[datum->place], is_typical = explained->typical[datum->place];
        run_slow += is_slow;
        run_typical += is_typical;
        if (is_slow)
            slow_mean += (datum->number - slow_mean) / ++slow;
        if (is_typical)
            typical_mean += (datum->number - typical_mean) / ++typical;
        bool ends = i + 1 == factor->count || !crn_factor_is_alike(datum, datum + 1);
        if (ends && run_slow > best) {
            best = run_slow;
            best_typical = run_typical;
            factor->shown.common = datum->text;
            factor->shown.common_number = datum->number;
        }
    }
    bool number = factor->shown.number;
    factor->shown.slow = !slow ? NAN : number ? slow_mean : (double)best / slow;
    factor->shown.typical = !typical ? NAN : number ? typical_mean : (double)best_typical / typical;
}
