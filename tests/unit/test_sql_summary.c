/* SPDX-License-Identifier: MIT
 *
 * test_sql_summary.c - the summary of blocks with so many spans that quantiles take a second pass,
 * compared with aggregates over all spans.
 */
#include <stdio.h>

#include "support/asking.h"
#include "support/cases.h"
#include "support/scratch.h"

/* A figure of block_figures, and the aggregate over spans that it equals. */
static const struct {
    const char *name, *aggregate;
} figures[] = {
    {"total", "sum(duration)"},
    {"self", "sum(self)"},
    {"min", "min(case when not open then duration end)"},
    {"median", "median(case when not open then duration end)"},
    {"p90", "percentile(case when not open then duration end, 90)"},
    {"p99", "percentile(case when not open then duration end, 99)"},
    {"max", "max(case when not open then duration end)"},
};

static void assert_figure(crn_query *query, size_t figure)
{
    char left[256], right[256];
    snprintf(left, sizeof left,
             "select count, %s from block_figures where count > open order by capture, block",
             figures[figure].name);
    snprintf(right, sizeof right,
             "select count(*), %s from spans group by capture, block having sum(not open) > 0"
             " order by capture, block",
             figures[figure].aggregate);
    assert_same_answers(query, left, right);
}

/* Asks for each figure first of all, and then for the others: a pass for one can compute others. */
static void assert_summary(const crn_query_file *files, uint32_t count)
{
    for (size_t first = 0; first < COUNT(figures); first++) {
        crn_query *query = open_query(files, count);
        for (size_t i = 0; i < COUNT(figures); i++)
            assert_figure(query, (first + i) % COUNT(figures));
        crn_query_close(query);
    }
}

static void the_summary_of_many_spans_is_exact(void **state)
{
    (void)state;
    random_source random = {61};
    int64_t most = 0;
    for (uint64_t round = 0; round < scale(4); round++) {
        asked one = asked_make(&random, 80000), other = asked_make(&random, 80000);
        const crn_query_file files[] = {one.file, other.file};
        crn_query *query = open_query(files, 2);
        int64_t count = number_of(query, "select max(count - open) from block_figures");
        most = count > most ? count : most;
        crn_query_close(query);
        assert_summary(files, 2);
        asked_free(&one);
        asked_free(&other);
    }
    assert_true(most > CRN_RANK_FEW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_summary_of_many_spans_is_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
