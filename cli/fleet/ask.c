/* SPDX-License-Identifier: MIT
 *
 * Asks a question, or compares two groups of runs, and prints the answer: for the command, and for
 * the page.
 */
#include <string.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "fleet.h"

static const double SHARE_LEAST = 0.001; /* share of the whole from which a function is compared */

typedef struct metric {
    char *name, *unit;
} metric;

/* Finds the wanted metric; for NULL the most useful. On an error prints a message and returns
 * false. */
static bool metric_find(crn_database *database, const crn_fleet_filter *filter, const char *wanted,
                        metric *metric)
{
    crn_error error = {0};
    crn_answer answer = {0};
    crn_sql sql = {0};
    *metric = (struct metric){0};
    crn_question_metrics(&sql, filter);
    bool good = crn_database_query(database, sql.text, &answer, &error);
    crn_sql_free(&sql);
    while (good && !metric->name && crn_answer_more(&answer)) {
        char *name = crn_answer_copy(&answer), *unit = crn_answer_copy(&answer);
        if (!wanted || strcmp(name, wanted) == 0) {
            *metric = (struct metric){name, unit};
        } else {
            crn_free(name);
            crn_free(unit);
        }
    }
    crn_answer_free(&answer);
    if (!good)
        return crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
    if (!metric->name && wanted)
        return crn_cli_fail("no run that matches has the metric \"%s\"", wanted) == CRN_EXIT_OK;
    return metric->name ||
           crn_cli_fail("no run matches; cairn fleet runs lists all") == CRN_EXIT_OK;
}

static void metric_free(metric *metric)
{
    crn_free(metric->name);
    crn_free(metric->unit);
}

bool crn_fleet_ask(FILE *out, crn_database *database, const crn_question *question,
                   const crn_question_about *about, bool json)
{
    crn_error error = {0};
    metric metric = {0};
    crn_answer answer = {0};
    crn_sql sql = {0};
    crn_question_about known = *about;
    if (question->costs && !metric_find(database, about->filter, about->metric, &metric))
        return false;
    known.metric = metric.name;
    question->sql(&sql, &known);
    bool good = crn_database_query(database, sql.text, &answer, &error);
    if (good && !crn_fleet_print(out, question, &answer, metric.unit, json))
        good = crn_error_set(&error, 1, "the server's answer is cut short or damaged");
    crn_answer_free(&answer);
    crn_sql_free(&sql);
    metric_free(&metric);
    return good || crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}

bool crn_fleet_ask_compare(FILE *out, crn_database *database, const crn_fleet_filter filters[2],
                           const crn_fleet_shown *shown, bool *above)
{
    crn_error error = {0};
    metric metric;
    crn_fleet_groups groups;
    if (!metric_find(database, &filters[0], shown->metric, &metric))
        return false;
    bool good = crn_fleet_groups_fetch(&groups, database, filters, metric.name, &error);
    if (good && (groups.costs.runs[0] < 2 || groups.costs.runs[1] < 2))
        good = crn_error_set(&error, 1,
                             "%zu runs before and %zu after are too few to know the noise: choose "
                             "two runs or more on each side",
                             groups.costs.runs[0], groups.costs.runs[1]);
    if (good) {
        crn_fleet_shown known = *shown;
        known.metric = metric.name;
        known.unit = metric.unit;
        bool time = strcmp(metric.unit, CRN_UNIT_TIME) == 0;
        crn_fleet_compare changes = crn_fleet_compare_make(&groups.costs, time, SHARE_LEAST);
        *above = crn_fleet_print_compare(out, &groups, &changes, &known);
        crn_fleet_compare_free(&changes);
    }
    crn_fleet_groups_free(&groups);
    metric_free(&metric);
    return good || crn_cli_fail("%s", error.message) == CRN_EXIT_OK;
}
