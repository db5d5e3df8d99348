/* SPDX-License-Identifier: MIT */
#include "fleet/questions.h"

#include <inttypes.h>
#include <string.h>

static void runs_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "SELECT run, started, service, version, host, "
                     "notes.value[indexOf(notes.key, 'command')] AS command, "
                     "toUInt64(contexts) AS contexts, spans FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(about->filter, sql);
    crn_sql_add(sql, " ORDER BY started DESC, run LIMIT %" PRIu64, about->limit);
}

static const crn_question_column runs_columns[] = {
    {"run", CRN_QUESTION_ID},         {"started", CRN_QUESTION_TIME},
    {"service", CRN_QUESTION_TEXT},   {"version", CRN_QUESTION_TEXT},
    {"host", CRN_QUESTION_TEXT},      {"command", CRN_QUESTION_TEXT},
    {"contexts", CRN_QUESTION_COUNT}, {"spans", CRN_QUESTION_COUNT}};

/* Adds the value by which rows are divided; '' if `by` is NULL. */
static void by_sql(crn_sql *sql, const char *by)
{
    static const char *const columns[] = {"version", "host", "service"};
    for (size_t i = 0; by && i < sizeof columns / sizeof *columns; i++)
        if (strcmp(by, columns[i]) == 0) {
            crn_sql_add(sql, "%s", columns[i]);
            return;
        }
    if (!by) {
        crn_sql_add(sql, "''");
        return;
    }
    crn_sql_add(sql, "labels.value[indexOf(labels.key, ");
    crn_sql_literal(sql, by);
    crn_sql_add(sql, ")]");
}

/* Adds figures by block of the runs that match: run, metric, blocks, self, total, by_value. */
static void figures_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, about->by ? "SELECT run, metric, blocks, self, total, by_value FROM "
                               : "SELECT run, metric, blocks, self, total, '' AS by_value FROM ");
    crn_sql_add(sql, about->by ? "(SELECT run, metric, blocks, self, total FROM " : "");
    crn_sql_add(sql, "block_figures FINAL WHERE metric IN ('calls', ");
    crn_sql_literal(sql, about->metric);
    crn_sql_add(sql, ") AND ");
    crn_fleet_filter_runs(about->filter, sql);
    if (!about->by)
        return;
    crn_sql_add(sql, ") ANY LEFT JOIN (SELECT run, ");
    by_sql(sql, about->by);
    crn_sql_add(sql, " AS by_value FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(about->filter, sql);
    crn_sql_add(sql, ") USING run");
}

/* Adds the sums by block: block, by_value, calls, own, whole, in_runs. Most runs of one program
 * have equal arrays of blocks: arrays of figures are added up before they are taken apart.
 * `in_runs` is the number of runs that called the block, or of those in which it has cost,
 * whichever is larger. */
static void sums_sql(crn_sql *sql, const crn_question_about *about)
{
    static const char *const sums[] = {"s", "own", "t", "whole"};
    crn_sql_add(sql, "SELECT block, by_value, sumIf(s, metric = 'calls') AS calls, ");
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i += 2) {
        crn_sql_add(sql, "sumIf(%s, metric = ", sums[i]);
        crn_sql_literal(sql, about->metric);
        crn_sql_add(sql, ") AS %s, ", sums[i + 1]);
    }
    crn_sql_add(sql, "greatest(sumIf(n, metric = 'calls'), sumIf(n, metric = ");
    crn_sql_literal(sql, about->metric);
    crn_sql_add(
        sql,
        ")) AS in_runs FROM (SELECT metric, by_value, any(blocks) AS list, sumForEach(self) AS "
        "ss, sumForEach(total) AS ts, sumForEach(arrayMap((x, y) -> toUInt64(x > 0 OR y > 0), "
        "self, total)) AS ns FROM (");
    figures_sql(sql, about);
    crn_sql_add(
        sql,
        ") GROUP BY metric, by_value, cityHash64(blocks), sipHash64(blocks)) ARRAY JOIN list AS "
        "block, ss AS s, ts AS t, ns AS n WHERE s > 0 OR t > 0 GROUP BY block, by_value ORDER "
        "BY %s DESC LIMIT %" PRIu64,
        about->by_total ? "whole" : "own", about->limit);
}

/* Adds the 99th percentile of the durations of spans that ended, by block. Reads without FINAL: a
 * span that ended is sent once, and one that is sent again hardly changes a percentile. */
static void percentiles_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "(SELECT block, toUInt64(quantileTDigest(0.99)(duration)) AS p99 FROM spans "
                     "WHERE open = 0 AND ");
    crn_fleet_filter_runs(about->filter, sql);
    crn_sql_add(sql, " GROUP BY block)");
}

/* Adds a table of the blocks' names, one row a block. */
static void names_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "(SELECT block, any(name) AS name, any(file) AS file, "
                     "toUInt64(any(line)) AS line FROM blocks");
    if (about->filter->service) {
        crn_sql_add(sql, " WHERE service = ");
        crn_sql_literal(sql, about->filter->service);
    }
    crn_sql_add(sql, " GROUP BY block)");
}

static void top_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "SELECT own, whole, calls, in_runs, p99, by_value, name, file, line FROM "
                     "(SELECT own, whole, calls, in_runs, by_value, block, p99 FROM (");
    sums_sql(sql, about);
    crn_sql_add(sql, ") ANY LEFT JOIN ");
    percentiles_sql(sql, about);
    crn_sql_add(sql, " USING block) ANY LEFT JOIN ");
    names_sql(sql, about);
    crn_sql_add(sql, " USING block ORDER BY %s DESC, name, file, line, by_value",
                about->by_total ? "whole" : "own");
}

static const crn_question_column top_columns[] = {
    {"self", CRN_QUESTION_METRIC}, {"total", CRN_QUESTION_METRIC}, {"calls", CRN_QUESTION_COUNT},
    {"runs", CRN_QUESTION_COUNT},  {"span p99", CRN_QUESTION_NS},  {"by", CRN_QUESTION_TEXT},
    {"name", CRN_QUESTION_TEXT},   {"file", CRN_QUESTION_TEXT},    {"line", CRN_QUESTION_COUNT}};

/* Adds the condition that a row's block is called about->block; if that is NULL, that it is the
 * root. */
static void blocks_sql(crn_sql *sql, const crn_question_about *about)
{
    if (about->block) {
        crn_sql_add(sql, "block GLOBAL IN (SELECT block FROM blocks WHERE name = ");
        crn_sql_literal(sql, about->block);
        crn_sql_add(sql, ")");
    } else {
        crn_sql_add(sql, "block GLOBAL IN (SELECT block FROM contexts WHERE depth = 0)");
    }
}

/* Adds a table of each run's cost, of a block or of everything: run, own, whole. */
static void costs_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "(SELECT run, sum(s) AS own, sum(t) AS whole FROM "
                     "(SELECT run, blocks, self, total FROM block_figures FINAL WHERE metric = ");
    crn_sql_literal(sql, about->metric);
    crn_sql_add(sql, " AND ");
    crn_fleet_filter_runs(about->filter, sql);
    crn_sql_add(sql, ") ARRAY JOIN blocks AS block, self AS s, total AS t");
    crn_sql_add(sql, " WHERE ");
    blocks_sql(sql, about);
    crn_sql_add(sql, " GROUP BY run)");
}

/* Adds the SQL of trend: mean cost of a run by version, in the order in which versions first
 * ran. */
static void trend_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql,
                "SELECT version, toUInt64(count()) AS in_runs, toUInt32(min(started)) AS first, "
                "toUInt64(avg(own)) AS mean_own, toUInt64(avg(whole)) AS mean_whole FROM "
                "(SELECT run, version, started FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(about->filter, sql);
    crn_sql_add(sql, ") ANY LEFT JOIN ");
    costs_sql(sql, about);
    crn_sql_add(sql, " USING run GROUP BY version ORDER BY first, version");
}

static const crn_question_column trend_columns[] = {{"version", CRN_QUESTION_TEXT},
                                                    {"runs", CRN_QUESTION_COUNT},
                                                    {"first", CRN_QUESTION_TIME},
                                                    {"self", CRN_QUESTION_METRIC},
                                                    {"total", CRN_QUESTION_METRIC}};

/* Adds the SQL of history: the newest runs, the oldest of them first. */
static void history_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "SELECT started, version, host, run, toUInt64(own) AS own, toUInt64(whole) AS "
                     "whole FROM (SELECT started, version, host, run FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(about->filter, sql);
    crn_sql_add(sql, " ORDER BY started DESC, run LIMIT %" PRIu64 ") ANY LEFT JOIN ", about->limit);
    costs_sql(sql, about);
    crn_sql_add(sql, " USING run ORDER BY started, run");
}

static const crn_question_column history_columns[] = {
    {"started", CRN_QUESTION_TIME}, {"version", CRN_QUESTION_TEXT}, {"host", CRN_QUESTION_TEXT},
    {"run", CRN_QUESTION_ID},       {"self", CRN_QUESTION_METRIC},  {"total", CRN_QUESTION_METRIC}};

/* Adds the cost of each run up to the end of each hour: run, b, hour, v (self), w (total). */
static void hour_states_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "SELECT run, block AS b, hour, maxMerge(self_state) AS v, "
                     "maxMerge(total_state) AS w FROM hours WHERE metric = ");
    crn_sql_literal(sql, about->metric);
    crn_sql_add(sql, " AND ");
    crn_fleet_filter_runs(about->filter, sql);
    crn_sql_add(sql, " AND ");
    blocks_sql(sql, about);
    crn_sql_add(sql, " GROUP BY run, block, hour");
}

/* Adds the SQL of hours: the cost of a run at the end of an hour minus that at the end of the hour
 * before. A run that was reset in between has less; then all of its cost is new. */
static void hours_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(
        sql, "SELECT moment, uniq(run) AS in_runs, sum(own) AS own, sum(whole) AS whole FROM "
             "(SELECT run, tupleElement(one, 1) AS moment, tupleElement(one, 2) - "
             "if(tupleElement(one, 2) >= tupleElement(before, 2), tupleElement(before, 2), 0) AS "
             "own, tupleElement(one, 3) - if(tupleElement(one, 3) >= tupleElement(before, 3), "
             "tupleElement(before, 3), 0) AS whole FROM (SELECT run, "
             "arraySort(groupArray((toUInt32(hour), v, w))) AS list FROM (");
    hour_states_sql(sql, about);
    crn_sql_add(sql,
                ") GROUP BY run, b) ARRAY JOIN list AS one, arrayPushFront(arrayPopBack(list), "
                "(toUInt32(0), toUInt64(0), toUInt64(0))) AS before) GROUP BY moment "
                "ORDER BY moment");
}

static const crn_question_column hours_columns[] = {{"hour", CRN_QUESTION_TIME},
                                                    {"runs", CRN_QUESTION_COUNT},
                                                    {"self", CRN_QUESTION_METRIC},
                                                    {"total", CRN_QUESTION_METRIC}};

/* Adds the condition that a span's run matches the filter and, unless about->block is NULL, that
 * its block has this name. */
static void block_condition(crn_sql *sql, const crn_question_about *about)
{
    crn_fleet_filter_runs(about->filter, sql);
    if (!about->block)
        return;
    crn_sql_add(sql, " AND block GLOBAL IN (SELECT block FROM blocks WHERE name = ");
    crn_sql_literal(sql, about->block);
    crn_sql_add(sql, ")");
}

static void spans_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "SELECT toUInt64(number) AS number, toUInt64(q[1]) AS p50, toUInt64(q[2]) AS "
                     "p99, longest, whole, name FROM (SELECT block, count() AS number, "
                     "quantilesTDigest(0.5, 0.99)(duration) AS q, max(duration) AS longest, "
                     "sum(duration) AS whole FROM spans FINAL WHERE ");
    block_condition(sql, about);
    crn_sql_add(sql, " GROUP BY block ORDER BY whole DESC LIMIT %" PRIu64 ") ANY LEFT JOIN ",
                about->limit);
    names_sql(sql, about);
    crn_sql_add(sql, " USING block ORDER BY whole DESC, name");
}

static const crn_question_column spans_columns[] = {
    {"spans", CRN_QUESTION_COUNT}, {"p50", CRN_QUESTION_NS},   {"p99", CRN_QUESTION_NS},
    {"longest", CRN_QUESTION_NS},  {"total", CRN_QUESTION_NS}, {"name", CRN_QUESTION_TEXT}};

/* Adds the SQL of heat. A row of durations spans half a power of two. */
static void heat_sql(crn_sql *sql, const crn_question_about *about)
{
    uint64_t step = about->step ? about->step : 3600;
    crn_sql_add(
        sql,
        "SELECT toUInt32(slot) AS moment, toUInt64(round(exp2(bin / 2))) AS low, "
        "toUInt64(number) AS number, longest, exemplar FROM (SELECT intDiv(started + "
        "intDiv(start, 1000000000), %" PRIu64 ") * %" PRIu64 " AS slot, "
        "floor(log2(duration + 1) * 2) AS bin, count() AS number, max(duration) AS longest, "
        "argMax(run, duration) AS exemplar FROM (SELECT run, start, duration FROM spans "
        "FINAL WHERE ",
        step, step);
    block_condition(sql, about);
    crn_sql_add(sql, ") ANY LEFT JOIN (SELECT run, toUInt64(toUInt32(started)) AS started FROM "
                     "runs FINAL) USING run GROUP BY slot, bin) ORDER BY moment, low");
}

static const crn_question_column heat_columns[] = {{"time", CRN_QUESTION_TIME},
                                                   {"at_least", CRN_QUESTION_NS},
                                                   {"spans", CRN_QUESTION_COUNT},
                                                   {"longest", CRN_QUESTION_NS},
                                                   {"run", CRN_QUESTION_ID}};

static void slowest_sql(crn_sql *sql, const crn_question_about *about)
{
    crn_sql_add(sql, "SELECT duration, begin, iteration_text, run, version, host, name FROM "
                     "(SELECT duration, begin, iteration_text, run, version, host, block FROM "
                     "(SELECT run, block, duration, start AS begin, if(iteration = "
                     "toInt64(-9223372036854775807) - 1, '', toString(iteration)) AS "
                     "iteration_text FROM spans FINAL WHERE ");
    block_condition(sql, about);
    crn_sql_add(sql,
                " ORDER BY duration DESC LIMIT %" PRIu64 ") ANY LEFT JOIN (SELECT run, "
                "version, host FROM runs FINAL) USING run) ANY LEFT JOIN ",
                about->limit);
    names_sql(sql, about);
    crn_sql_add(sql, " USING block ORDER BY duration DESC");
}

static const crn_question_column slowest_columns[] = {
    {"duration", CRN_QUESTION_NS}, {"start", CRN_QUESTION_NS},     {"iteration", CRN_QUESTION_TEXT},
    {"run", CRN_QUESTION_ID},      {"version", CRN_QUESTION_TEXT}, {"host", CRN_QUESTION_TEXT},
    {"name", CRN_QUESTION_TEXT}};

/* clang-format off */
#define QUESTION(word, by_block, costs)                                                            \
    {#word, word##_columns, sizeof word##_columns / sizeof *word##_columns, by_block, costs,       \
     word##_sql}
/* clang-format on */

const crn_question crn_questions[] = {QUESTION(runs, false, false), QUESTION(top, false, true),
                                      QUESTION(trend, true, true),  QUESTION(history, true, true),
                                      QUESTION(hours, true, true),  QUESTION(spans, true, false),
                                      QUESTION(heat, true, false),  QUESTION(slowest, true, false)};
const size_t crn_question_count = sizeof crn_questions / sizeof *crn_questions;

void crn_question_metrics(crn_sql *sql, const crn_fleet_filter *filter)
{
    crn_sql_add(sql, "SELECT metric, measure FROM (SELECT metric, any(unit) AS measure, "
                     "sum(amount) AS whole FROM (SELECT metrics.name AS names, metrics.unit AS "
                     "units, metrics.total AS amounts FROM runs FINAL WHERE ");
    crn_fleet_filter_sql(filter, sql);
    crn_sql_add(
        sql,
        ") ARRAY JOIN names AS metric, units AS unit, amounts AS amount GROUP BY "
        "metric) WHERE whole > 0 ORDER BY indexOf(['wall', 'ticks', '', "
        "'cpu', 'calls'], if(metric IN ('wall', 'ticks', 'cpu', 'calls'), metric, '')), metric");
}
