/* SPDX-License-Identifier: MIT
 *
 * test_explain_ranks.c - ranks that explain computes without storing values, compared with stored
 * and sorted values.
 */
#include <math.h>
#include <stdlib.h>

#include "base/order.h"
#include "support/made_spans.h"
#include "support/random.h"

/* A length of any size, now and then one that was there before. */
static uint64_t any_length(random_source *random, const made *made)
{
    uint32_t count = made->trace.span_count;
    if (count && random_chance(random, 1, 3)) {
        const crn_span *span = &made->spans[random_below(random, count)];
        return span->end - span->start;
    }
    uint64_t high = random_below(random, UINT32_MAX), low = random_below(random, UINT32_MAX);
    return (high << 32 | low) >> (4 + random_below(random, 58));
}

static uint32_t slow_half(const uint64_t *lengths, uint32_t count, double mean)
{
    double *squares = crn_calloc(count, sizeof *squares), sum = 0;
    uint32_t half = 0;
    for (uint32_t i = 0; i < count; i++) {
        squares[i] = ((double)lengths[i] - mean) * ((double)lengths[i] - mean);
        sum += squares[i];
    }
    qsort(squares, count, sizeof *squares, crn_order_double);
    for (double left = sum / 2; left > 0 && half < count; half++)
        left -= squares[count - 1 - half];
    crn_free(squares);
    return half;
}

static void ranks_equal_the_reference(void **state)
{
    (void)state;
    random_source random = {37};
    for (int round = 0; round < 300; round++) {
        made *made = make();
        uint32_t count = 1 + random_below(&random, 400);
        uint64_t *lengths = crn_calloc(count, sizeof *lengths);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
            made->spans[span].start = 0;
            made->spans[span].end = lengths[i] = any_length(&random, made);
        }
        crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
        qsort(lengths, count, sizeof *lengths, crn_order_uint64);
        assert_true(explain->min == lengths[0] && explain->max == lengths[count - 1]);
        assert_true(explain->median == lengths[(count + 1) / 2 - 1]);
        assert_true(explain->p95 == lengths[(uint32_t)ceil(0.95 * count) - 1]);
        assert_true(explain->p99 == lengths[(uint32_t)ceil(0.99 * count) - 1]);
        uint32_t half = slow_half(lengths, count, explain->mean);
        assert_true(explain->half <= half + 1 && half <= explain->half + 1); /* sums round */
        crn_explain_free(explain);
        crn_free(lengths);
        crn_free(made);
    }
}

/* Few values or many, below 0 too, in any order: each of them is counted once, and the groups that
 * are farthest apart are those that a sorted list has. */
static void values_are_put_in_order(void **state)
{
    (void)state;
    random_source random = {41};
    for (int round = 0; round < 200; round++) {
        made *made = make();
        uint32_t count = 100 + random_below(&random, 900), values = 1;
        uint32_t range = random_chance(&random, 1, 2) ? 8 : 100000;
        double *sorted = crn_calloc(count, sizeof *sorted);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t span = begin(made, RENDER, CRN_SPAN_NONE);
            sorted[i] = ((double)random_below(&random, range) - range / 2.0) / 7;
            give(made, span, 0, CRN_ATTRIBUTE_NUMBER, sorted[i], NULL);
            made->now += 1000000 + (uint64_t)(int64_t)(sorted[i] * 7);
            end(made, span);
        }
        qsort(sorted, count, sizeof *sorted, crn_order_double);
        for (uint32_t i = 1; i < count; i++)
            values += sorted[i] != sorted[i - 1];
        crn_explain *explain = explain_block(&made->trace, RENDER, BLOCKS);
        const crn_explain_factor *width = factor_of(explain, CRN_FACTOR_ATTRIBUTE, "width");
        assert_non_null(width);
        assert_int_equal(width->count, count);
        assert_int_equal(width->values, values);
        assert_int_equal(width->verdict, CRN_VERDICT_EXPLAINS);
        assert_near(width->explained, 1, 0.001); /* a line, or a group for each value */
        if (!width->ranges)
            assert_near(width->slope, 7, 0.01);
        crn_explain_free(explain);
        crn_free(sorted);
        crn_free(made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_equal_the_reference),
        cmocka_unit_test(values_are_put_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
