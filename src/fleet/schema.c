/* SPDX-License-Identifier: MIT */
#include "fleet/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { WITH_CODECS = 20, STATEMENT_MAX = 4096 };

typedef struct table {
    const char *name, *columns, *order;
    bool dated; /* has the column day, and weekly partitions, which can be dropped */
} table;

/* `^` stands for a codec for costs, `~` for one for numbers that grow from row to row, on servers
 * with codecs. In bench/fleet/run these made the columns smallest. */
static const table tables[] = {
    {"runs",
     "service String, version String, host String, run FixedString(16), day Date,"
     " started DateTime, elapsed UInt64, level UInt8, folded FixedString(16), contexts UInt32,"
     " spans UInt64, length UInt64, span_lanes Array(String), notes Nested(key String, value "
     "String),"
     " labels Nested(key String, value String), warnings Array(String),"
     " metrics Nested(name String, unit String, total UInt64), lost Array(UInt64),"
     " origins Array(UInt64), histograms UInt32, flagged Nested(block FixedString(16), flags"
     " UInt32), recorded UInt64",
     "service, run", true},
    {"blocks",
     "service String, block FixedString(16), name String, file String, line UInt32,"
     " position UInt32, parent FixedString(16), nesting UInt8",
     "service, block", false},
    {"contexts",
     "service String, context FixedString(16), parent FixedString(16), block FixedString(16),"
     " depth UInt32, path Array(String)",
     "service, context", false},
    {"shapes", "service String, shape FixedString(16), contexts Array(FixedString(16))",
     "service, shape", false},
    {"figures",
     "service String, day Date, run FixedString(16), metric String, level UInt8, part UInt16,"
     " shape FixedString(16), values Array(UInt64)^, recorded UInt64",
     "service, run, metric, level, part", true},
    {"edges",
     "service String, day Date, run FixedString(16), level UInt8, part UInt16,"
     " source Array(FixedString(16)), target Array(FixedString(16)), calls Array(UInt64)^,"
     " folded Array(UInt8), recorded UInt64",
     "service, run, level, part", true},
    {"block_figures",
     "service String, day Date, run FixedString(16), at DateTime, metric String,"
     " blocks Array(FixedString(16)), self Array(UInt64)^, total Array(UInt64)^, recorded UInt64",
     "service, run, metric", true},
    {"spans",
     "service String, day Date, run FixedString(16), lane UInt32, span UInt32~, start UInt64^,"
     " duration UInt64^, open UInt8, cpu UInt64, block FixedString(16), parent_lane UInt32,"
     " parent UInt32~, handed_off UInt8, taken UInt64, adoption UInt16, iteration Int64,"
     " weight Float64, attributes Nested(key String, kind UInt8, integer Int64, number Float64,"
     " text String)",
     "service, run, lane, span", true},
    {"span_edges",
     "service String, day Date, run FixedString(16), lane UInt32, span UInt32, to_lane UInt32,"
     " to_span UInt32, kind UInt8, at UInt64",
     "service, run, lane, span, to_lane, to_span, kind, at", true},
    {"histograms",
     "service String, day Date, run FixedString(16), lane UInt32, number UInt32, kind UInt8,"
     " block FixedString(16), key String, value UInt64, text String, unit Float64, total UInt64,"
     " self UInt64, shortest UInt64, longest UInt64, cpu UInt64, cpu_spans UInt64,"
     " cpu_wall UInt64, buckets Array(UInt16), counts Array(UInt64)^, recorded UInt64",
     "service, run, lane, number", true},
    {"processes",
     "service String, day Date, run FixedString(16), process UInt32, name String, number UInt32,"
     " first_lane UInt32, unix_time UInt64, monotonic UInt64, boot FixedString(16), start UInt64,"
     " clock_shift Int64, trace FixedString(16), span_key UInt64, length UInt64, dangling UInt64,"
     " recorded UInt64",
     "service, run, process", true},
    {"remote_parents",
     "service String, day Date, run FixedString(16), lane UInt32, span UInt32, flags UInt16,"
     " trace FixedString(16), parent UInt64",
     "service, run, lane, span", true},
    {"counters",
     "service String, day Date, run FixedString(16), lane UInt32, span UInt32, number UInt32,"
     " name String, at UInt64~, value Float64",
     "service, run, lane, span, number", true},
    {"events",
     "service String, day Date, run FixedString(16), lane UInt32, span UInt32, number UInt32,"
     " level UInt8, at UInt64~, text String",
     "service, run, lane, span, number", true},
    {"off_core",
     "service String, day Date, run FixedString(16), lane UInt32, number UInt32, begin UInt64~,"
     " end UInt64~, waiting UInt64, ready UInt64, woken_by UInt32, recorded UInt64",
     "service, run, lane, number", true},
    {"hours",
     "service String, day Date, run FixedString(16), metric String, block FixedString(16),"
     " hour DateTime, self_state AggregateFunction(max, UInt64),"
     " total_state AggregateFunction(max, UInt64)",
     "service, run, metric, block, hour", true},
};

/* Fills `hours` from rows that are inserted into `block_figures`. Cost so far only grows, so its
 * maximum is the same if a row is sent twice. Hours are UTC, whatever the server's time zone. */
static const char hours_view[] =
    "CREATE MATERIALIZED VIEW IF NOT EXISTS %s.hours_view TO %s.hours%s AS SELECT service, day, "
    "run, "
    "metric, block, toDateTime(intDiv(toUInt32(at), 3600) * 3600) AS hour, maxState(s) AS "
    "self_state, maxState(t) AS total_state FROM %s.block_figures%s ARRAY JOIN blocks AS block, "
    "self "
    "AS s, total AS t WHERE s > 0 OR t > 0 GROUP BY service, day, run, metric, block, hour";

/* Adds text; '^' and '~' become codecs, or nothing without `codecs`. Returns the new length. */
static size_t add(char *sql, size_t length, const char *text, bool codecs)
{
    for (; *text && length < STATEMENT_MAX; text++)
        if (*text != '^' && *text != '~')
            sql[length++] = *text;
        else if (codecs)
            length += (size_t)snprintf(sql + length, STATEMENT_MAX - length, " CODEC(%sZSTD)",
                                       *text == '~' ? "Delta, " : "");
    sql[length < STATEMENT_MAX ? length : STATEMENT_MAX - 1] = '\0';
    return length;
}

static void table_statement(char *sql, const char *database, const table *table,
                            const crn_schema_options *options)
{
    bool codecs = options->server >= WITH_CODECS;
    bool replaces = strstr(table->columns, "recorded UInt64") != NULL;
    char end[512], keep[64] = "";
    size_t length = (size_t)snprintf(sql, STATEMENT_MAX, "CREATE TABLE IF NOT EXISTS %s.%s%s (",
                                     database, table->name, options->cluster ? "_local" : "");
    length = add(sql, length, table->columns, codecs);
    if (table->dated && codecs && options->keep_days)
        snprintf(keep, sizeof keep, " TTL day + INTERVAL %u DAY", options->keep_days);
    snprintf(end, sizeof end, ") ENGINE = %sMergeTree(%s)%s ORDER BY (%s)%s",
             strstr(table->columns, "AggregateFunction") ? "Aggregating" : "Replacing",
             replaces ? "recorded" : "", table->dated ? " PARTITION BY toMonday(day)" : "",
             table->order, keep);
    add(sql, length, end, false);
}

/* Writes the statement of a table over all shards. The shard depends on the run or, in tables
 * without runs, on the second column of the key, an id: rows that replace each other have the same
 * run or id. */
static void shards_statement(char *sql, const char *database, const table *table,
                             const char *cluster)
{
    char key[32] = "run";
    if (!table->dated)
        sscanf(table->order, "service, %31[a-z]", key);
    size_t length = (size_t)snprintf(sql, STATEMENT_MAX, "CREATE TABLE IF NOT EXISTS %s.%s (",
                                     database, table->name);
    length = add(sql, length, table->columns, false);
    snprintf(sql + length, STATEMENT_MAX - length,
             ") ENGINE = Distributed(%s, %s, %s_local, cityHash64(%s))", cluster, database,
             table->name, key);
}

bool crn_schema_each(const char *database, const crn_schema_options *options,
                     crn_schema_statement *statement, void *data, crn_error *error)
{
    const char *cluster = options->cluster ? options->cluster : "";
    if (cluster[strspn(cluster, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")])
        return crn_error_set(error, EINVAL, "\"%s\" is no cluster's name: letters, digits and _",
                             cluster);
    char sql[STATEMENT_MAX + 1];
    snprintf(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s", database);
    bool good = statement(data, sql, error);
    for (size_t i = 0; good && i < sizeof tables / sizeof *tables; i++) {
        table_statement(sql, database, &tables[i], options);
        good = statement(data, sql, error);
        if (good && options->cluster) {
            shards_statement(sql, database, &tables[i], options->cluster);
            good = statement(data, sql, error);
        }
    }
    const char *local = options->cluster ? "_local" : "";
    snprintf(sql, sizeof sql, hours_view, database, database, local, database, local);
    return good && statement(data, sql, error);
}

static bool run_statement(void *data, const char *sql, crn_error *error)
{
    return crn_database_query(data, sql, NULL, error);
}

/* Asks for the server's version. Creates the database first, because the query names it. */
static bool server_version(crn_database *database, unsigned *version, crn_error *error)
{
    char sql[300];
    snprintf(sql, sizeof sql, "CREATE DATABASE IF NOT EXISTS %s", crn_database_name(database));
    if (!crn_database_query(database, sql, NULL, error))
        return false;
    crn_answer answer;
    bool good = crn_database_query(database, "SELECT toUInt16(splitByChar('.', version())[1])",
                                   &answer, error);
    *version = good ? (unsigned)crn_answer_number(&answer, 2) : 0;
    good = good &&
           (!answer.bad ||
            crn_error_set(error, EIO, "the server is no ClickHouse server; check its address"));
    crn_answer_free(&answer);
    return good;
}

bool crn_schema_create(crn_database *database, crn_schema_options options, crn_error *error)
{
    return server_version(database, &options.server, error) &&
           crn_schema_each(crn_database_name(database), &options, run_statement, database, error);
}
