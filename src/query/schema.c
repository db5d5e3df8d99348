/* SPDX-License-Identifier: MIT
 *
 * Describes the tables, views and functions of `cairn query`: for its option --schema, for
 * docs/QUERY.md and for the page. The views are created from the SELECT statements in crn_schema.
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
    {"spans", "table", "single executions of blocks, ordered by lane, then by start",
     COLUMNS(
         {"id", INTEGER, "number of the span, from 0"}, {"name", TEXT, "name of its block"},
         {"iteration", INTEGER, "NULL if it has none"},
         {"start", INTEGER, "ns since the capture began"},
         {"end", INTEGER, "ns; for an open span the last recorded moment"},
         {"duration", INTEGER, "ns, from start to end"},
         {"self", INTEGER, "ns in which no child runs, and no other span inside it on its lane"},
         {"cpu", INTEGER, "ns of the thread's processor time; NULL if not recorded"},
         {"ready", INTEGER,
          "ns in which the thread could run but had no core; NULL if not recorded"},
         {"parent", INTEGER,
          "spans.id: the enclosing span, or the one that asked for it by a hand-off; NULL if none"},
         {"lane", INTEGER, "lanes.id"}, {"open", INTEGER, "1: it has not ended"},
         {"handed_off", INTEGER, "1: the parent asked for it by a hand-off"},
         {"weight", "REAL", "number of spans it stands for: 1, unless span trees were sampled"},
         {"block", INTEGER, "blocks.id"}, CAPTURE,
         {"KEY", "", "hidden: the attribute of that name, the last if there are several"}),
     NULL},
    {"blocks", "table", "named pieces of source code that are profiled; 0 is the root",
     COLUMNS({"id", INTEGER, ""}, {"name", TEXT, ""}, {"file", TEXT, "NULL if unknown"},
             {"line", INTEGER, "NULL if unknown"}, {"column", INTEGER, "NULL if unknown"},
             {"parent", INTEGER, "blocks.id: the enclosing block in the source; NULL if none"},
             CAPTURE),
     NULL},
    {"block_figures", "table",
     "durations of each block's spans; percentiles (nearest rank) of ended spans",
     COLUMNS({"block", INTEGER, "blocks.id"}, {"name", TEXT, ""}, {"count", INTEGER, "spans"},
             {"open", INTEGER, "spans that have not ended"}, {"total", INTEGER, "ns"},
             {"self", INTEGER, "ns"}, {"min", INTEGER, "ns"}, {"median", INTEGER, "ns"},
             {"p90", INTEGER, "ns"}, {"p99", INTEGER, "ns"}, {"max", INTEGER, "ns"}, CAPTURE),
     NULL},
    {"block_costs", "table", "costs of each block over all its contexts",
     COLUMNS({"block", INTEGER, "blocks.id"}, {"name", TEXT, ""}, {"calls", INTEGER, ""},
             {"ticks", INTEGER, "self; like all costs, 0 if not recorded"},
             {"wall", INTEGER, "ns, self"}, {"cpu", INTEGER, "ns, self"},
             {"ticks_inclusive", INTEGER, "recursion counted once"},
             {"wall_inclusive", INTEGER, "ns"}, {"cpu_inclusive", INTEGER, "ns"},
             {"contexts", INTEGER, "number of contexts of this block"}, CAPTURE),
     NULL},
    {"attributes", "table", "keys and values that the program gave to spans",
     COLUMNS({"span", INTEGER, "spans.id"}, {"key", TEXT, ""},
             {"value", "", "an integer, a number or a text"},
             {"kind", TEXT, "integer, number or text"}, CAPTURE),
     NULL},
    {"span_edges", "table", "relations between spans other than nesting",
     COLUMNS({"span", INTEGER, "spans.id"},
             {"kind", TEXT,
              "waits: span waited for the end of other; follows: span continues other; handoff: "
              "other asked for span; cut: parent edge removed because it closed a cycle"},
             {"other", INTEGER, "spans.id"},
             {"at", INTEGER,
              "ns: when it was recorded; for a wait its end, for a hand-off when the token was "
              "taken; NULL if unknown"},
             CAPTURE),
     NULL},
    {"counters", "table", "values that the program gave to counters",
     COLUMNS({"name", TEXT, ""}, {"at", INTEGER, "ns: the moment from which on it had the value"},
             {"value", "REAL", ""},
             {"span", INTEGER,
              "spans.id: the span open at that moment, or else the last one before it on the lane"},
             CAPTURE),
     NULL},
    {"events", "table", "events and log lines of the program",
     COLUMNS({"at", INTEGER, "ns"}, {"level", TEXT, "event, debug, info, warning or error"},
             {"text", TEXT, ""},
             {"span", INTEGER,
              "spans.id: the span open at that moment, or else the last one before it on the lane"},
             CAPTURE),
     NULL},
    {"off_core", "table",
     "times in which a lane's thread had no core (--off-core); a thread's first row has length 0",
     COLUMNS({"lane", INTEGER, "lanes.id"}, {"begin", INTEGER, "ns"}, {"end", INTEGER, "ns"},
             {"waiting", INTEGER, "ns"},
             {"ready", INTEGER, "ns: able to run; after the wait if both fill the period"},
             {"woken_by", INTEGER, "lanes.id: the lane that ended the wait; NULL if unknown"},
             CAPTURE),
     NULL},
    {"samples", "table",
     "samples of processor time (cairn run ./program, cairn run --stacks, cairn attach)",
     COLUMNS({"at", INTEGER, "ns"}, {"cpu", INTEGER, "ns: since the thread's last sample"},
             {"lane", INTEGER, "lanes.id"},
             {"span", INTEGER,
              "spans.id: the innermost span that its thread was in; NULL if it was in none"},
             {"name", TEXT, "of the function"},
             {"path", TEXT, "names of the functions from the outermost on, with ; between them"},
             {"block", INTEGER, "blocks.id"}, CAPTURE),
     NULL},
    {"contexts", "table", "canonical paths of blocks from the root, which is 0",
     COLUMNS({"id", INTEGER, ""}, {"parent", INTEGER, "contexts.id; NULL for the root"},
             {"name", TEXT, "of the block"}, {"depth", INTEGER, "0 for the root"},
             {"calls", INTEGER, "over all edges to it"},
             {"ticks", INTEGER, "self; like all costs, 0 if not recorded"},
             {"wall", INTEGER, "ns, self"}, {"cpu", INTEGER, "ns, self"},
             {"ticks_inclusive", INTEGER, "self and all descendants"},
             {"wall_inclusive", INTEGER, "ns"}, {"cpu_inclusive", INTEGER, "ns"},
             {"recursive", INTEGER, "1: an ancestor has the same block"},
             {"block", INTEGER, "blocks.id"}, CAPTURE),
     NULL},
    {"costs", "table", "a row for each context and each metric that is not 0 in all contexts",
     COLUMNS({"context", INTEGER, "contexts.id"}, {"metric", TEXT, "metrics.name"},
             {"unit", TEXT, ""}, {"self", INTEGER, ""},
             {"inclusive", INTEGER, "self and all descendants"}, CAPTURE),
     NULL},
    {"edges", "table", "calls from context to context; the begin of a strand is no call",
     COLUMNS({"source", INTEGER, "contexts.id"}, {"target", INTEGER, "contexts.id"},
             {"kind", TEXT, "tree, cycle (recursion folded) or folded (at a limit)"},
             {"calls", INTEGER, ""}, CAPTURE),
     NULL},
    {"lanes", "table",
     "groups of strands of which at most one runs at a time: of a thread, of an interpreter",
     COLUMNS({"id", INTEGER, ""}, {"name", TEXT, ""}, {"spans", INTEGER, "number of spans"},
             {"thread", INTEGER,
              "the kernel's number of the thread, the first if several used the lane in turn; NULL "
              "if unknown"},
             CAPTURE),
     NULL},
    {"lane_figures", "table",
     "times of the spans on each lane; first, last and busy are NULL without spans",
     COLUMNS({"lane", INTEGER, "lanes.id"}, {"name", TEXT, ""},
             {"spans", INTEGER, "number of spans"},
             {"first", INTEGER, "ns: start of the first span"},
             {"last", INTEGER, "ns: end of the last span"},
             {"busy", INTEGER, "ns in which at least one span was open, each moment counted once"},
             CAPTURE),
     NULL},
    {"metrics", "table", "kinds of cost",
     COLUMNS({"name", TEXT, ""}, {"unit", TEXT, ""}, {"total", INTEGER, "over all contexts"},
             CAPTURE),
     NULL},
    {"notes", "table", "facts about the run: command, time, options",
     COLUMNS({"key", TEXT, ""}, {"value", TEXT, ""}, CAPTURE), NULL},
    {"captures", "table",
     "the given files; ids of spans, blocks ... continue from one file to the next",
     COLUMNS({"id", INTEGER, "from 0"}, {"path", TEXT, ""},
             {"length", INTEGER, "ns: the last recorded moment"}, {"spans", INTEGER, ""},
             {"open", INTEGER, "spans that have not ended"},
             {"dropped", INTEGER, "spans dropped for lack of space"},
             {"recycled", INTEGER, "spans overwritten by later ones"},
             {"skipped", INTEGER, "spans not sampled (--span-rate)"},
             {"details_dropped", INTEGER, "attributes and edges dropped for lack of space"},
             {"dangling", INTEGER, "edges to spans that are not in the capture"},
             {"contexts", INTEGER, ""}),
     NULL},
    {"summary", "view", "block_figures of blocks with spans, largest total first",
     COLUMNS({"name", TEXT, ""}, {"count", INTEGER, ""}, {"open", INTEGER, ""},
             {"total", INTEGER, "ns"}, {"self", INTEGER, "ns"}, {"min", INTEGER, "ns"},
             {"median", INTEGER, "ns"}, {"p90", INTEGER, "ns"}, {"p99", INTEGER, "ns"},
             {"max", INTEGER, "ns"}, {"block", INTEGER, "blocks.id"}, CAPTURE),
     "select name, count, open, total, self, min, median, p90, p99, max, block, capture"
     " from block_figures where count > 0 order by total desc"},
    {"slowest", "view", "spans, longest first; add a limit",
     COLUMNS({"id", INTEGER, "spans.id"}, {"duration", INTEGER, "ns"}, {"self", INTEGER, "ns"},
             {"start", INTEGER, "ns"}, {"ancestry", TEXT, "names of its ancestors"},
             {"attributes", TEXT, ""}, {"name", TEXT, ""}, CAPTURE),
     "select id, duration, self, start, ancestry(id) as ancestry, attributes(id) as attributes,"
     " name, capture from spans order by duration desc"},
    {"missing", "view", "time of root spans that no child covers, by block",
     COLUMNS({"name", TEXT, ""}, {"count", INTEGER, "spans"}, {"total", INTEGER, "ns"},
             {"missing", INTEGER, "ns"}, {"share", "REAL", "of total"},
             {"block", INTEGER, "blocks.id"}, CAPTURE),
     "select name, count(*) as count, sum(duration) as total, sum(self) as missing,"
     " ifnull(sum(self) * 1.0 / sum(duration), 0.0) as share, block, capture from spans"
     " where parent is null group by block order by missing desc"},
    {"threads", "view", "lanes with the times of their spans",
     COLUMNS({"id", INTEGER, "lanes.id"}, {"name", TEXT, ""}, {"spans", INTEGER, "number of spans"},
             {"first", INTEGER, "ns: start of the first span"},
             {"last", INTEGER, "ns: end of the last span"},
             {"busy", INTEGER, "ns in which at least one span was open, each moment counted once"},
             CAPTURE),
     "select lane as id, name, spans, first, last, busy, capture from lane_figures"},
    {"calls", "view", "calls between blocks, over all contexts",
     COLUMNS({"caller", TEXT, ""}, {"callee", TEXT, ""}, {"calls", INTEGER, ""},
             {"caller_block", INTEGER, "blocks.id"}, {"callee_block", INTEGER, "blocks.id"},
             CAPTURE),
     "select s.name as caller, t.name as callee, sum(edges.calls) as calls,"
     " s.block as caller_block, t.block as callee_block, edges.capture from edges"
     " join contexts s on s.id = edges.source join contexts t on t.id = edges.target"
     " group by s.block, t.block order by calls desc"},
    {"functions", "view", "block_costs of blocks with contexts, largest self cost first",
     COLUMNS({"name", TEXT, ""}, {"calls", INTEGER, ""}, {"ticks", INTEGER, "self"},
             {"wall", INTEGER, "ns, self"}, {"cpu", INTEGER, "ns, self"},
             {"ticks_inclusive", INTEGER, "recursion counted once"},
             {"wall_inclusive", INTEGER, "ns"}, {"cpu_inclusive", INTEGER, "ns"},
             {"contexts", INTEGER, "number of contexts of this block"},
             {"block", INTEGER, "blocks.id"}, CAPTURE),
     "select name, calls, ticks, wall, cpu, ticks_inclusive, wall_inclusive, cpu_inclusive,"
     " contexts, block, capture from block_costs where contexts > 0"
     " order by wall desc, ticks desc, calls desc"},
    {"spans_wide", "view", "spans with a column for each attribute key",
     COLUMNS({"*", "", "all columns of spans"}, {"KEY", "", "the attribute of that name"}),
     "select *, %s from spans"},
    {"path(context)", "function", "path of a context: \"main > load > parse\"", NULL, NULL},
    {"ancestry(span)", "function",
     "ancestors of a span, with iterations: \"main > foo >* convert #0\"; >* is a hand-off", NULL,
     NULL},
    {"attribute(span, key)", "function", "an attribute, even if it has no column", NULL, NULL},
    {"attributes(span)", "function", "all attributes as one text, \"width=640 image=a.jpg\"", NULL,
     NULL},
    {"ms(time)", "function", "nanoseconds as milliseconds, with three decimals", NULL, NULL},
    {"median(x)", "function", "aggregate, nearest rank: a value that occurs", NULL, NULL},
    {"percentile(x, p)", "function", "aggregate, nearest rank; p is from 0 to 100", NULL, NULL},
    {"x regexp re", "operator", "x matches a regular expression (POSIX extended)", NULL, NULL},
    {"cost(metric, b, ...)", "function",
     "total cost of the sequence b, ... (blocks by name or number); without blocks, of the capture",
     NULL, NULL},
    {"METRIC(b, ...)", "function", "cost('METRIC', b, ...), such as calls('main', 'f')", NULL,
     NULL},
    {"self_cost(metric, b, ...)", "function", "cost of the contexts that end in the sequence", NULL,
     NULL},
    {"inclusive_cost(...)", "function",
     "like cost(), but the metric calls includes the calls below the sequence", NULL, NULL},
    {"contexts(b, ...)", "function", "number of contexts that end in the sequence", NULL, NULL},
    {"cycles(), folded()", "function",
     "number of calls that came back along cycles; that folded at limits", NULL, NULL},
    {"block(b)", "function", "number of a block that is named as on the command line", NULL, NULL},
    {"nested_name(block)", "function", "the block's name after the names of its lexical parents",
     NULL, NULL},
    {"thresh(block, p)", "function", "1 if the block's self cost is p % of the total or more", NULL,
     NULL},
    {"thresh_stack(block, p)", "function",
     "1 if the block's total cost is p % of the total or more", NULL, NULL},
    {"thresh_gc(block, p)", "function",
     "1 if the collector's cost while the block is on the stack is p % of the total or more", NULL,
     NULL},
    {"pred_set(block)", "function", "aggregate: the set of direct callers of all these blocks",
     NULL, NULL},
    {"succ_set(block)", "function", "aggregate: the set of direct callees of all these blocks",
     NULL, NULL},
    {"to_set(block)", "function", "aggregate: these blocks with direct and indirect callers", NULL,
     NULL},
    {"from_set(block)", "function", "aggregate: these blocks with direct and indirect callees",
     NULL, NULL},
    {"in_set(block, set)", "function", "1 if the block is in the set", NULL, NULL},
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

/* Returns the names of the attribute columns, for a view that includes them; NULL without any. */
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
