/* SPDX-License-Identifier: MIT
 *
 * SQL functions over sets of blocks. A set is a blob with a byte for each id of `blocks`. The
 * functions for callers and callees are aggregates over the ids in a set.
 */
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"
#include "query/simple.h"

/* ---- callers and callees ---- */

typedef enum relation { PRED, SUCC, TO, FROM } relation;

typedef struct set_function {
    crn_query *query;
    relation relation;
} set_function;

/* Returns the metric of thresholds and call graphs: the one asked for, or the capture's default. */
static uint32_t metric_of(const crn_query *query, const crn_query_capture *capture)
{
    return query->about.collector ? query->about.metric : crn_metric_default(capture->profile);
}

/* Computes capture->graph on first use. */
static const crn_call_graph *graph_of(const crn_query *query, crn_query_capture *capture)
{
    if (!capture->graph.arrows)
        capture->graph = crn_call_graph_make(capture->profile, metric_of(query, capture), NULL);
    return &capture->graph;
}

static void set_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    const set_function *function = sqlite3_user_data(context);
    uint8_t **set = sqlite3_aggregate_context(context, sizeof *set);
    uint32_t blocks = crn_query_end(function->query)->block;
    sqlite3_int64 id = sqlite3_value_int64(values[0]);
    (void)count;
    if (set && !*set)
        *set = crn_calloc(blocks, 1);
    if (set && id >= 0 && id < blocks)
        (*set)[id] = 1;
}

static void set_end(sqlite3_context *context)
{
    const set_function *function = sqlite3_user_data(context);
    crn_query *query = function->query;
    uint32_t size = crn_query_end(query)->block;
    uint8_t **made = sqlite3_aggregate_context(context, 0);
    uint8_t *set = made && *made ? *made : crn_calloc(size, 1);
    for (uint32_t i = 0; i < query->count; i++) {
        crn_query_capture *capture = &query->captures[i];
        const crn_call_graph *graph = graph_of(query, capture);
        uint8_t *its = set + capture->block;
        uint32_t blocks = capture->profile->block_count;
        if (function->relation == TO || function->relation == FROM) {
            crn_block_reach(graph, blocks, its, function->relation == TO);
            continue;
        }
        uint8_t *beside = crn_block_neighbours(graph, blocks, its, function->relation == PRED);
        memcpy(its, beside, blocks);
        crn_free(beside);
    }
    sqlite3_result_blob64(context, set, size, crn_free);
}

/* in_set(id, set): 1 if the set has the id. */
static void in_set(sqlite3_context *context, int count, sqlite3_value **values)
{
    sqlite3_int64 id = sqlite3_value_int64(values[0]);
    const uint8_t *set = sqlite3_value_blob(values[1]);
    (void)count;
    sqlite3_result_int(context, set && id >= 0 && id < sqlite3_value_bytes(values[1]) && set[id]);
}

/* ---- thresholds ---- */

typedef enum threshold { THRESH, THRESH_STACK, THRESH_GC } threshold;

static const uint64_t *cost_of(const crn_query *query, crn_query_capture *capture,
                               threshold threshold)
{
    uint32_t metric = metric_of(query, capture);
    if (!capture->cost.self)
        capture->cost = crn_block_cost_make(capture->profile, metric, NULL);
    if (threshold == THRESH_GC && !capture->stack.collector) {
        const char *name = query->about.collector ? query->about.collector : "<gc>";
        uint8_t *collectors = crn_stack_collectors(capture->profile, name);
        capture->stack = crn_stack_make(capture->profile, metric, collectors, NULL);
        crn_free(collectors);
    }
    return threshold == THRESH_GC      ? capture->stack.collector
           : threshold == THRESH_STACK ? capture->cost.inclusive
                                       : capture->cost.self;
}

static void compare(sqlite3_context *context, sqlite3_value **values, threshold threshold)
{
    const crn_query *query = sqlite3_user_data(context);
    sqlite3_int64 id = sqlite3_value_int64(values[0]);
    double percent = sqlite3_value_double(values[1]);
    if (sqlite3_value_numeric_type(values[1]) == SQLITE_TEXT || !(percent >= 0 && percent <= 100)) {
        sqlite3_result_error(context, "a threshold is a percentage from 0 to 100", -1);
        return;
    }
    if (id < 0 || id >= crn_query_end(query)->block)
        return;
    crn_query_capture *capture =
        (crn_query_capture *)CRN_CAPTURE_OF(query, block, (uint32_t)id); /* has caches */
    const uint64_t *cost = cost_of(query, capture, threshold);
    sqlite3_result_int(context, (double)cost[id - capture->block] >=
                                    percent / 100 * (double)capture->cost.total);
}

/* thresh(id, percent): 1 if the block's self cost is at least this share of the total. */
static void thresh(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    compare(context, values, THRESH);
}

static void thresh_stack(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    compare(context, values, THRESH_STACK);
}

static void thresh_gc(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    compare(context, values, THRESH_GC);
}

/* ---- names ---- */

/* nested_name(id): the block's name after the names of its lexical parents. */
static void nested_name(sqlite3_context *context, int count, sqlite3_value **values)
{
    const crn_query *query = sqlite3_user_data(context);
    sqlite3_int64 id = sqlite3_value_int64(values[0]);
    (void)count;
    if (id < 0 || id >= crn_query_end(query)->block)
        return;
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, block, (uint32_t)id);
    char *name = crn_nesting_name(capture->profile, (uint32_t)id - capture->block);
    sqlite3_result_text(context, name, -1, SQLITE_TRANSIENT);
    crn_free(name);
}

static void free_expression(void *expression)
{
    regfree(expression);
    crn_free(expression);
}

/* Returns the compiled pattern; SQLite keeps it while the argument is constant. Sets `*made` to
 * true if this call compiled it. Returns NULL and sets the SQL error if the pattern is invalid. */
static regex_t *expression_of(sqlite3_context *context, sqlite3_value *pattern, bool *made)
{
    regex_t *expression = sqlite3_get_auxdata(context, 0);
    *made = !expression;
    if (expression)
        return expression;
    const char *text = (const char *)sqlite3_value_text(pattern);
    expression = crn_calloc(1, sizeof *expression);
    int reason = regcomp(expression, text, REG_EXTENDED | REG_NOSUB);
    if (!reason)
        return expression;
    char why[200], message[400];
    regerror(reason, expression, why, sizeof why);
    snprintf(message, sizeof message, "\"%.100s\" is not a regular expression: %s", text, why);
    sqlite3_result_error(context, message, -1);
    crn_free(expression);
    return NULL;
}

/* regexp(pattern, text), also written "text regexp pattern": matches a POSIX extended
 * expression. */
static void regular(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *text = (const char *)sqlite3_value_text(values[1]);
    bool made;
    (void)count;
    if (!text || !sqlite3_value_text(values[0]))
        return;
    regex_t *expression = expression_of(context, values[0], &made);
    if (!expression)
        return;
    sqlite3_result_int(context, regexec(expression, text, 0, NULL, 0) == 0);
    if (made) /* last: SQLite may free `expression` at once */
        sqlite3_set_auxdata(context, 0, expression, free_expression);
}

/* ---- entry ---- */

static int add_relation(crn_query *query, const char *name, relation relation)
{
    set_function *function = crn_calloc(1, sizeof *function);
    *function = (set_function){query, relation};
    return sqlite3_create_function_v2(query->database, name, 1, SQLITE_UTF8, function, NULL,
                                      set_step, set_end, crn_free);
}

int crn_set_functions(crn_query *query)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"in_set", 2, in_set},
        {"thresh", 2, thresh},
        {"thresh_stack", 2, thresh_stack},
        {"thresh_gc", 2, thresh_gc},
        {"nested_name", 1, nested_name},
        {"regexp", 2, regular},
    };
    static const char *const relations[] = {"pred_set", "succ_set", "to_set", "from_set"};
    int status = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && status == SQLITE_OK; i++)
        status = sqlite3_create_function(query->database, functions[i].name, functions[i].arguments,
                                         SQLITE_UTF8 | SQLITE_DETERMINISTIC, query,
                                         functions[i].call, NULL, NULL);
    for (int i = 0; i < 4 && status == SQLITE_OK; i++)
        status = add_relation(query, relations[i], (relation)i);
    return status;
}
