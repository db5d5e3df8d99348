/* SPDX-License-Identifier: MIT
 *
 * The schema as text, for `cairn query --schema` and docs/QUERY.md; also the source of the views.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"

#define INTEGER "INTEGER"
#define TEXT "TEXT"
#define CAPTURE                                                                                    \
    {                                                                                              \
        "capture", INTEGER, "captures.id"                                                          \
    }
#define END                                                                                        \
    {                                                                                              \
        0                                                                                          \
    }

#define COLUMNS(...)                                                                               \
    (const crn_schema_column[])                                                                    \
    {                                                                                              \
        __VA_ARGS__, END                                                                           \
    }

const crn_schema_table crn_schema[] = {
    {"spans", "table", "single executions, in the order in which each lane began them",
     COLUMNS({"id", INTEGER, "number of the span, from 0"}, {"name", TEXT, "of its block"},
             {"iteration", INTEGER, "NULL if it has none"},
             {"start", INTEGER, "ns since the capture began"},
             {"end", INTEGER, "ns; of an open one the last moment that the capture knows of"},
             {"duration", INTEGER, "ns, from start to end"},
             {"self", INTEGER, "ns that no child runs, on whatever lane"},
             {"cpu", INTEGER, "ns, of the thread's processor time; NULL if it was not taken"},
             {"parent", INTEGER, "spans.id: what it ran in, or what asked for it; NULL if none"},
             {"lane", INTEGER, "lanes.id: where it ran"}, {"open", INTEGER, "1: it has not ended"},
             {"handed_off", INTEGER, "1: the parent asked for it from elsewhere"},
             {"weight", "REAL", "for how many it stands: 1, unless only some trees were recorded"},
             {"block", INTEGER, "blocks.id"}, CAPTURE,
             {"KEY", "", "hidden: the attribute of that name, the last if there are several"}),
     NULL},
    {"blocks", "table", "pieces of source that are profiled; 0 is the root",
     COLUMNS({"id", INTEGER, ""}, {"name", TEXT, ""}, {"file", TEXT, "NULL if unknown"},
             {"line", INTEGER, ""}, {"column", INTEGER, ""},
             {"parent", INTEGER, "blocks.id: what it is written inside of"}, CAPTURE),
     NULL},
    {"block_figures", "table",
     "how long the spans of each block took, in ns; percentiles by nearest rank, of those that "
     "have ended",
     COLUMNS({"block", INTEGER, "blocks.id"}, {"name", TEXT, ""}, {"count", INTEGER, "spans"},
             {"open", INTEGER, "those that have not ended"}, {"total", INTEGER, "ns"},
             {"self", INTEGER, "ns"}, {"min", INTEGER, "ns"}, {"median", INTEGER, "ns"},
             {"p90", INTEGER, "ns"}, {"p99", INTEGER, "ns"}, {"max", INTEGER, "ns"}, CAPTURE),
     NULL},
    {"attributes", "table", "what spans were told about themselves",
     COLUMNS({"span", INTEGER, "spans.id"}, {"key", TEXT, ""},
             {"value", "", "an integer, a number or a text"},
             {"kind", TEXT, "integer, number or text"}, CAPTURE),
     NULL},
    {"span_edges", "table", "what hangs together beyond nesting",
     COLUMNS({"span", INTEGER, "spans.id"},
             {"kind", TEXT,
              "waits: for the end of the other; follows: goes on where it ended; handoff: was "
              "asked for by it; cut: had a parent that led back to it"},
             {"other", INTEGER, "spans.id"},
             {"at", INTEGER,
              "ns: when it was recorded; of a wait its end, of a hand-off when it was asked for; "
              "NULL if not known"},
             CAPTURE),
     NULL},
    {"contexts", "table", "canonical paths of blocks from the root, which is 0",
     COLUMNS({"id", INTEGER, ""}, {"parent", INTEGER, "contexts.id; NULL of the root"},
             {"name", TEXT, "of the block"}, {"depth", INTEGER, "0 of the root"},
             {"calls", INTEGER, "over all edges to it"},
             {"ticks", INTEGER, "its own; as all costs, 0 where they were not taken"},
             {"wall", INTEGER, "ns, its own"}, {"cpu", INTEGER, "ns, its own"},
             {"ticks_inclusive", INTEGER, "its own and of all below"},
             {"wall_inclusive", INTEGER, "ns"}, {"cpu_inclusive", INTEGER, "ns"},
             {"recursive", INTEGER, "1: its block is on the path before"},
             {"block", INTEGER, "blocks.id"}, CAPTURE),
     NULL},
    {"costs", "table", "of each context in each metric that was charged anywhere",
     COLUMNS({"context", INTEGER, "contexts.id"}, {"metric", TEXT, "metrics.name"},
             {"unit", TEXT, ""}, {"self", INTEGER, "its own"},
             {"inclusive", INTEGER, "its own and of all below"}, CAPTURE),
     NULL},
    {"edges", "table", "calls from context to context; the root's first calls have none",
     COLUMNS({"source", INTEGER, "contexts.id"}, {"target", INTEGER, "contexts.id"},
             {"kind", TEXT, "tree, cycle (recursion folds there) or folded (by a limit)"},
             {"calls", INTEGER, ""}, CAPTURE),
     NULL},
    {"lanes", "table", "what never runs in parallel with itself: threads, interpreters",
     COLUMNS({"id", INTEGER, ""}, {"name", TEXT, ""}, {"spans", INTEGER, "how many"}, CAPTURE),
     NULL},
    {"lane_figures", "table", "when something ran on each lane; NULL where nothing did",
     COLUMNS({"lane", INTEGER, "lanes.id"}, {"name", TEXT, ""}, {"spans", INTEGER, "how many"},
             {"first", INTEGER, "ns: start of the first span"},
             {"last", INTEGER, "ns: end of the last"},
             {"busy", INTEGER, "ns in which at least one span was open: no moment twice"}, CAPTURE),
     NULL},
    {"metrics", "table", "what contexts are charged",
     COLUMNS({"name", TEXT, ""}, {"unit", TEXT, ""}, {"total", INTEGER, "over all contexts"},
             CAPTURE),
     NULL},
    {"notes", "table", "what is known of a capture as a whole",
     COLUMNS({"key", TEXT, ""}, {"value", TEXT, ""}, CAPTURE), NULL},
    {"captures", "table", "the files that are asked; ids go on from one to the next",
     COLUMNS({"id", INTEGER, "from 0"}, {"path", TEXT, ""},
             {"length", INTEGER, "ns: the last moment that it knows of"}, {"spans", INTEGER, ""},
             {"open", INTEGER, "spans that have not ended"},
             {"dropped", INTEGER, "spans that there was no space for"},
             {"recycled", INTEGER, "spans that made room for later ones"},
             {"skipped", INTEGER, "spans of trees that were not drawn"},
             {"details_dropped", INTEGER, "attributes and edges, likewise"},
             {"dangling", INTEGER, "edges to spans that are not there"}, {"contexts", INTEGER, ""}),
     NULL},
    {"summary", "view", "block_figures of the blocks that have spans, the largest total first",
     COLUMNS({"name", TEXT, ""}, {"count", INTEGER, ""}, {"open", INTEGER, ""},
             {"total", INTEGER, "ns"}, {"self", INTEGER, "ns"}, {"min", INTEGER, "ns"},
             {"median", INTEGER, "ns"}, {"p90", INTEGER, "ns"}, {"p99", INTEGER, "ns"},
             {"max", INTEGER, "ns"}, {"block", INTEGER, "blocks.id"}, CAPTURE),
     "select name, count, open, total, self, min, median, p90, p99, max, block, capture"
     " from block_figures where count > 0 order by total desc"},
    {"slowest", "view", "spans, the longest first: add a limit",
     COLUMNS({"id", INTEGER, "spans.id"}, {"duration", INTEGER, "ns"}, {"self", INTEGER, "ns"},
             {"start", INTEGER, "ns"}, {"ancestry", TEXT, "what it ran in"},
             {"attributes", TEXT, ""}, {"name", TEXT, ""}, CAPTURE),
     "select id, duration, self, start, ancestry(id) as ancestry, attributes(id) as attributes,"
     " name, capture from spans order by duration desc"},
    {"missing", "view", "time of spans without a parent that no child accounts for, by block",
     COLUMNS({"name", TEXT, ""}, {"count", INTEGER, "spans"}, {"total", INTEGER, "ns"},
             {"missing", INTEGER, "ns"}, {"share", "REAL", "of total"},
             {"block", INTEGER, "blocks.id"}, CAPTURE),
     "select name, count(*) as count, sum(duration) as total, sum(self) as missing,"
     " ifnull(sum(self) * 1.0 / sum(duration), 0.0) as share, block, capture from spans"
     " where parent is null group by block order by missing desc"},
    {"threads", "view", "lanes, with what ran there",
     COLUMNS({"id", INTEGER, "lanes.id"}, {"name", TEXT, ""}, {"spans", INTEGER, "how many"},
             {"first", INTEGER, "ns: start of the first span"},
             {"last", INTEGER, "ns: end of the last"},
             {"busy", INTEGER, "ns in which at least one span was open: no moment twice"}, CAPTURE),
     "select lane as id, name, spans, first, last, busy, capture from lane_figures"},
    {"calls", "view", "who calls whom how often, by block, over all contexts",
     COLUMNS({"caller", TEXT, ""}, {"callee", TEXT, ""}, {"calls", INTEGER, ""},
             {"caller_block", INTEGER, "blocks.id"}, {"callee_block", INTEGER, "blocks.id"},
             CAPTURE),
     "select s.name as caller, t.name as callee, sum(edges.calls) as calls,"
     " s.block as caller_block, t.block as callee_block, edges.capture from edges"
     " join contexts s on s.id = edges.source join contexts t on t.id = edges.target"
     " group by s.block, t.block order by calls desc"},
    {"functions", "view", "what blocks cost, wherever they are called from",
     COLUMNS({"name", TEXT, ""}, {"calls", INTEGER, ""}, {"ticks", INTEGER, "its own"},
             {"wall", INTEGER, "ns, its own"}, {"cpu", INTEGER, "ns, its own"},
             {"ticks_inclusive", INTEGER, "each moment once, however deep the recursion"},
             {"wall_inclusive", INTEGER, "ns"}, {"cpu_inclusive", INTEGER, "ns"},
             {"contexts", INTEGER, "how many it is in"}, {"block", INTEGER, "blocks.id"}, CAPTURE),
     "select name, sum(calls) as calls, sum(ticks) as ticks, sum(wall) as wall, sum(cpu) as cpu,"
     " sum(case when recursive then 0 else ticks_inclusive end) as ticks_inclusive,"
     " sum(case when recursive then 0 else wall_inclusive end) as wall_inclusive,"
     " sum(case when recursive then 0 else cpu_inclusive end) as cpu_inclusive,"
     " count(*) as contexts, block, capture from contexts group by block"
     " order by wall desc, ticks desc, calls desc"},
    {"spans_wide", "view", "spans with a column for each key of their attributes",
     COLUMNS({"*", "", "as spans has them"}, {"KEY", "", "its attribute of that name"}),
     "select *, %s from spans"},
    {"path(context)", "function", "\"main > load > parse\": what leads to a context", NULL, NULL},
    {"ancestry(span)", "function",
     "\"main > foo >* convert #0\": what it ran in, with iterations; >* is a hand-off", NULL, NULL},
    {"attribute(span, key)", "function", "an attribute, also one that has no column", NULL, NULL},
    {"attributes(span)", "function", "all of them as a text, \"width=640 image=a.jpg\"", NULL,
     NULL},
    {"ms(time)", "function", "nanoseconds as milliseconds, with three decimals", NULL, NULL},
    {"median(x)", "function", "aggregate, by nearest rank: a value that occurred", NULL, NULL},
    {"percentile(x, p)", "function", "aggregate, by nearest rank; p is from 0 to 100", NULL, NULL},
    {0},
};

char *crn_schema_text(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (const crn_schema_table *table = crn_schema; out && table->name; table++) {
        if (table != crn_schema && (table->columns || table[-1].columns))
            fputc('\n', out);
        if (!table->columns) {
            fprintf(out, "%-21s %s: %s\n", table->name, table->kind, table->says);
            continue;
        }
        fprintf(out, "%s %s: %s\n", table->kind, table->name, table->says);
        for (const crn_schema_column *column = table->columns; column->name; column++)
            if (*column->says)
                fprintf(out, "    %-15s  %-7s  %s\n", column->name, column->type, column->says);
            else
                fprintf(out, "    %-15s  %s\n", column->name, column->type);
    }
    if (out)
        fclose(out);
    return text ? text : crn_strdup("");
}

/* Lists the attribute columns for a view that includes them. */
static char *key_list(const crn_query *query)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (uint32_t k = 0; k < query->column_keys; k++)
        sqlite3_str_appendf(text, "%s\"%w\"", k ? ", " : "", query->key_columns[k]);
    return sqlite3_str_finish(text);
}

int crn_query_views(crn_query *query)
{
    int status = SQLITE_OK;
    for (const crn_schema_table *table = crn_schema; table->name && status == SQLITE_OK; table++) {
        if (!table->sql)
            continue;
        char *select = NULL;
        if (strstr(table->sql, "%s")) {
            char *keys = key_list(query);
            select = keys ? sqlite3_mprintf("select *, %s from spans", keys)
                          : sqlite3_mprintf("select * from spans");
            sqlite3_free(keys);
        }
        char *sql =
            sqlite3_mprintf("create view %s as %s", table->name, select ? select : table->sql);
        status = sql ? sqlite3_exec(query->database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
        sqlite3_free(select);
    }
    return status;
}
