/* SPDX-License-Identifier: MIT
 *
 * SQL functions that return costs of sequences of blocks, such as cost('wall', 'main', 'parse'),
 * calls('parse') and wall('parse').
 */
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"

typedef enum aspect {
    ASPECT_TOTAL, /* inclusive cost; of calls, those of the sequence */
    ASPECT_SELF,
    ASPECT_INCLUSIVE,
    ASPECT_CONTEXTS,
    ASPECT_CYCLES,
    ASPECT_FOLDED
} aspect;

/* The figure that a function returns, and its metric; UINT32_MAX: the first argument names the
 * metric. */
typedef struct cost_function {
    crn_query *query;
    aspect aspect;
    uint32_t metric;
} cost_function;

static bool fail(sqlite3_context *context, const char *message)
{
    sqlite3_result_error(context, message, -1);
    return false;
}

/* Returns the only capture's profile. Fails with several: a block's name belongs to one profile. */
static const crn_profile *profile_of(sqlite3_context *context, const crn_query *query)
{
    if (query->count == 1)
        return query->captures[0].profile;
    fail(context, "costs of blocks need a single capture");
    return NULL;
}

static bool take_metric(sqlite3_context *context, const crn_profile *profile, sqlite3_value *value,
                        uint32_t *metric)
{
    const char *name = (const char *)sqlite3_value_text(value);
    int found = crn_profile_metric(profile, name ? name : "");
    *metric = (uint32_t)found;
    if (found >= 0)
        return true;
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "unknown metric \"%.100s\"; the capture has", name ? name : "");
    for (uint32_t m = 0; m < profile->metric_count; m++)
        sqlite3_str_appendf(text, "%s %s", m ? "," : "", profile->metrics[m].name);
    char *message = sqlite3_str_finish(text);
    fail(context, message ? message : "unknown metric");
    sqlite3_free(message);
    return false;
}

/* Finds a block by number or name. If the name is unknown, sets `*known` to false; fails unless
 * unknown blocks cost 0. */
static bool take_block(sqlite3_context *context, const crn_query *query, sqlite3_value *value,
                       uint32_t *block, bool *known)
{
    const crn_profile *profile = query->captures[0].profile;
    if (sqlite3_value_type(value) == SQLITE_INTEGER) {
        sqlite3_int64 number = sqlite3_value_int64(value);
        *block = (uint32_t)number;
        return (number >= 0 && number < profile->block_count) ||
               fail(context, "there is no block of this number");
    }
    const char *name = (const char *)sqlite3_value_text(value);
    crn_error error = {0};
    if (!name)
        return fail(context, "a block is a name or a number");
    if (crn_reference_block(profile, name, strlen(name), block, &error))
        return true;
    *known = false;
    return (query->unknown_is_zero && error.code == CAIRN_E_READ) || fail(context, error.message);
}

static uint64_t look_up(const crn_profile *profile, const cost_function *function, uint32_t metric,
                        const crn_sequence *sequence)
{
    if (function->aspect == ASPECT_CONTEXTS)
        return sequence->length ? crn_sequence_count(profile, sequence) : profile->context_count;
    if (!sequence->length)
        return crn_metric_total(profile, metric);
    crn_sequence_cost cost = crn_sequence_measure(profile, sequence, metric, NULL);
    return function->aspect == ASPECT_SELF                                  ? cost.self
           : metric == CRN_METRIC_CALLS && function->aspect == ASPECT_TOTAL ? cost.calls
                                                                            : cost.inclusive;
}

/* Returns a double, so that dividing costs does not truncate. */
static void cost(sqlite3_context *context, int count, sqlite3_value **values)
{
    const cost_function *function = sqlite3_user_data(context);
    const crn_profile *profile = profile_of(context, function->query);
    uint32_t metric = function->metric;
    int first = metric == UINT32_MAX;
    if (!profile)
        return;
    if (first && !count) {
        fail(context, "the first argument is missing: the name of a metric, such as 'wall'");
        return;
    }
    if (first && !take_metric(context, profile, values[0], &metric))
        return;
    if (count - first > CRN_SEQUENCE_MAX) {
        fail(context, "a sequence has too many blocks");
        return;
    }
    bool known = true;
    crn_sequence sequence = {(uint32_t)(count - first),
                             crn_calloc((size_t)count + 1, sizeof *sequence.blocks)};
    bool good = true;
    for (int i = first; i < count && good; i++)
        good = take_block(context, function->query, values[i], &sequence.blocks[i - first], &known);
    if (good)
        sqlite3_result_double(context,
                              known ? (double)look_up(profile, function, metric, &sequence) : 0);
    crn_sequence_free(&sequence);
}

static void whole(sqlite3_context *context, int count, sqlite3_value **values)
{
    const cost_function *function = sqlite3_user_data(context);
    const crn_profile *profile = profile_of(context, function->query);
    (void)count, (void)values;
    if (profile)
        sqlite3_result_double(context, (double)(function->aspect == ASPECT_FOLDED
                                                    ? crn_folded_calls(profile)
                                                    : crn_cycle_calls_total(profile)));
}

/* block(name): the block's number. */
static void block(sqlite3_context *context, int count, sqlite3_value **values)
{
    const crn_query *query = sqlite3_user_data(context);
    uint32_t number;
    bool known = true;
    (void)count;
    if (profile_of(context, query) && take_block(context, query, values[0], &number, &known) &&
        known)
        sqlite3_result_int64(context, number);
}

static int add(crn_query *query, const char *name, int arguments, aspect aspect, uint32_t metric,
               void (*call)(sqlite3_context *, int, sqlite3_value **))
{
    cost_function *function = crn_calloc(1, sizeof *function);
    *function = (cost_function){query, aspect, metric};
    return sqlite3_create_function_v2(query->database, name, arguments, SQLITE_UTF8, function, call,
                                      NULL, NULL, crn_free);
}

/* Returns true if SQL has a function `name`, or if that is unknown. */
static bool is_taken(crn_query *query, const char *name)
{
    sqlite3_stmt *statement = NULL;
    bool taken = true;
    if (sqlite3_prepare_v2(query->database,
                           "select 1 from pragma_function_list where name = lower(?)", -1,
                           &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        taken = sqlite3_step(statement) != SQLITE_DONE;
    }
    sqlite3_finalize(statement);
    return taken;
}

int crn_cost_functions(crn_query *query)
{
    int status = add(query, "cost", -1, ASPECT_TOTAL, UINT32_MAX, cost);
    if (status == SQLITE_OK)
        status = add(query, "self_cost", -1, ASPECT_SELF, UINT32_MAX, cost);
    if (status == SQLITE_OK)
        status = add(query, "inclusive_cost", -1, ASPECT_INCLUSIVE, UINT32_MAX, cost);
    if (status == SQLITE_OK)
        status = add(query, "contexts", -1, ASPECT_CONTEXTS, CRN_METRIC_CALLS, cost);
    if (status == SQLITE_OK)
        status = add(query, "cycles", 0, ASPECT_CYCLES, 0, whole);
    if (status == SQLITE_OK)
        status = add(query, "folded", 0, ASPECT_FOLDED, 0, whole);
    if (status == SQLITE_OK)
        status = sqlite3_create_function(query->database, "block", 1, SQLITE_UTF8, query, block,
                                         NULL, NULL);
    const crn_profile *profile = query->captures[0].profile;
    for (uint32_t m = 0; m < profile->metric_count && status == SQLITE_OK; m++)
        if (!is_taken(query, profile->metrics[m].name))
            status = add(query, profile->metrics[m].name, -1, ASPECT_TOTAL, m, cost);
    return status;
}
