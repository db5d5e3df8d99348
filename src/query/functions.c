/* SPDX-License-Identifier: MIT
 *
 * SQL functions about contexts, spans and times, and percentiles.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "query/captures.h"

enum { NAMES_MAX = 1000 /* limit on names in a path: hostile captures can have very long paths */ };

void crn_result_attribute(sqlite3_context *context, crn_attribute attribute)
{
    switch (attribute.kind) {
    case CRN_ATTRIBUTE_INTEGER:
        sqlite3_result_int64(context, attribute.value.integer);
        break;
    case CRN_ATTRIBUTE_NUMBER:
        sqlite3_result_double(context, attribute.value.number);
        break;
    case CRN_ATTRIBUTE_TEXT:
        sqlite3_result_text(context, attribute.value.text, -1, SQLITE_TRANSIENT);
        break;
    default:
        break;
    }
}

/* Reads an id below `limit`. Returns false if the value is no such id. */
static bool id_of(sqlite3_value *value, uint32_t limit, uint32_t *id)
{
    if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
        return false;
    sqlite3_int64 number = sqlite3_value_int64(value);
    *id = (uint32_t)number;
    return number >= 0 && number < limit;
}

static void finish(sqlite3_context *context, sqlite3_str *text)
{
    int size = sqlite3_str_length(text);
    char *made = sqlite3_str_finish(text);
    if (made)
        sqlite3_result_text(context, made, size, sqlite3_free);
    else if (size)
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
}

/* path(context): such as "main > load > parse", without the root. */
static void path(sqlite3_context *context, int count, sqlite3_value **values)
{
    const crn_query *query = sqlite3_user_data(context);
    uint32_t id, chain[NAMES_MAX], length = 0;
    (void)count;
    if (!id_of(values[0], query->captures[query->count].context, &id))
        return;
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, context, id);
    const crn_profile *profile = capture->profile;
    uint32_t at = id - capture->context;
    for (; at && length < NAMES_MAX; at = profile->parent[at])
        chain[length++] = profile->block[at];
    sqlite3_str *text = sqlite3_str_new(query->database);
    if (at)
        sqlite3_str_appendall(text, "... > ");
    while (length--)
        sqlite3_str_appendf(text, "%s%s", profile->blocks[chain[length]].name, length ? " > " : "");
    finish(context, text);
}

static void append_span(sqlite3_str *text, const crn_query_capture *capture, crn_span span)
{
    sqlite3_str_appendall(text,
                          capture->profile->blocks[crn_captures_block(capture, span.block)].name);
    if (span.iteration != CAIRN_ITERATION_NONE)
        sqlite3_str_appendf(text, " #%lld", (long long)span.iteration);
}

/* ancestry(span): such as "main > foo > pool >* convert #0"; >* marks a hand-off. */
static void ancestry(sqlite3_context *context, int count, sqlite3_value **values)
{
    const crn_query *query = sqlite3_user_data(context);
    uint32_t id, chain[NAMES_MAX], length = 0;
    (void)count;
    if (!id_of(values[0], query->spans, &id))
        return;
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, span, id);
    uint32_t at = id - capture->span;
    for (; at != CRN_SPAN_NONE && length < NAMES_MAX;
         at = crn_store_span(capture->store, at).parent)
        chain[length++] = at;
    sqlite3_str *text = sqlite3_str_new(query->database);
    if (at != CRN_SPAN_NONE)
        sqlite3_str_appendall(text, "...");
    for (uint32_t i = length; i-- > 0;) {
        crn_span span = crn_store_span(capture->store, chain[i]);
        if (i + 1 < length || at != CRN_SPAN_NONE)
            sqlite3_str_appendall(text, span.handed_off ? " >* " : " > ");
        append_span(text, capture, span);
    }
    finish(context, text);
}

/* attribute(span, key): the span's last value for the key. */
static void attribute(sqlite3_context *context, int count, sqlite3_value **values)
{
    const crn_query *query = sqlite3_user_data(context);
    uint32_t id, attributes;
    const char *key = (const char *)sqlite3_value_text(values[1]);
    char text[CAIRN_TEXT_MAX + 1];
    (void)count;
    if (!key || !id_of(values[0], query->spans, &id))
        return;
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, span, id);
    crn_store_attributes(capture->store);
    uint32_t at = crn_store_attributes_of(capture->store, id - capture->span, &attributes);
    for (uint32_t i = at + attributes; i-- > at;)
        if (strcmp(capture->store->keys[crn_store_key(capture->store, i)], key) == 0) {
            crn_result_attribute(context, crn_store_attribute(capture->store, i, text));
            return;
        }
}

/* attributes(span): such as "width=640 name=a.jpg". */
static void attributes(sqlite3_context *context, int count, sqlite3_value **values)
{
    const crn_query *query = sqlite3_user_data(context);
    uint32_t id, found;
    char value[CAIRN_TEXT_MAX + 1];
    (void)count;
    if (!id_of(values[0], query->spans, &id))
        return;
    const crn_query_capture *capture = CRN_CAPTURE_OF(query, span, id);
    crn_store_attributes(capture->store);
    uint32_t at = crn_store_attributes_of(capture->store, id - capture->span, &found);
    sqlite3_str *text = sqlite3_str_new(query->database);
    for (uint32_t i = at; i < at + found; i++) {
        crn_attribute one = crn_store_attribute(capture->store, i, value);
        sqlite3_str_appendf(text, "%s%s=", i > at ? " " : "", capture->store->keys[one.key]);
        if (one.kind == CRN_ATTRIBUTE_INTEGER)
            sqlite3_str_appendf(text, "%lld", (long long)one.value.integer);
        else if (one.kind == CRN_ATTRIBUTE_NUMBER)
            sqlite3_str_appendf(text, "%!.15g", one.value.number);
        else if (one.kind == CRN_ATTRIBUTE_TEXT)
            sqlite3_str_appendall(text, one.value.text);
    }
    finish(context, text);
}

/* ms(time): nanoseconds as milliseconds with three decimals. */
static void milliseconds(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    if (sqlite3_value_numeric_type(values[0]) == SQLITE_INTEGER ||
        sqlite3_value_numeric_type(values[0]) == SQLITE_FLOAT)
        sqlite3_result_double(context, round(sqlite3_value_double(values[0]) / 1e3) / 1e3);
}

/* ---- percentiles ---- */

/* The values of a group: integers, until a value is not an integer; then all are doubles. */
typedef struct ranking {
    double share;
    bool numbers;
    size_t count, room;
    union {
        int64_t *integers;
        double *numbers;
        uint64_t *keys;
    } values;
} ranking;

static void rank_step(sqlite3_context *context, sqlite3_value *value, double share)
{
    ranking *ranking = sqlite3_aggregate_context(context, sizeof *ranking);
    int type = sqlite3_value_numeric_type(value);
    if (!ranking || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
        return;
    if (ranking->count == ranking->room) {
        size_t room = ranking->room ? ranking->room * 2 : 64;
        void *grown = crn_try_realloc(ranking->values.integers, room, sizeof(int64_t));
        if (!grown) {
            sqlite3_result_error_nomem(context);
            return;
        }
        ranking->values.integers = grown;
        ranking->room = room;
    }
    ranking->share = share;
    if (type == SQLITE_FLOAT && !ranking->numbers) {
        for (size_t i = 0; i < ranking->count; i++)
            ranking->values.numbers[i] = (double)ranking->values.integers[i];
        ranking->numbers = true;
    }
    if (ranking->numbers)
        ranking->values.numbers[ranking->count++] = sqlite3_value_double(value);
    else
        ranking->values.integers[ranking->count++] = sqlite3_value_int64(value);
}

static void median_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    rank_step(context, values[0], 0.5);
}

static void percentile_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    double percent = sqlite3_value_double(values[1]);
    (void)count;
    if (sqlite3_value_numeric_type(values[1]) == SQLITE_TEXT || !(percent >= 0 && percent <= 100))
        sqlite3_result_error(context, "percentile(): its second argument is from 0 to 100", -1);
    else
        rank_step(context, values[0], percent / 100);
}

/* Map a value's bits to an unsigned number with the same order, and back. */
static uint64_t to_key(uint64_t bits, bool number)
{
    return number && bits >> 63 ? ~bits : bits ^ UINT64_C(1) << 63;
}

static uint64_t from_key(uint64_t key, bool number)
{
    return number && !(key >> 63) ? ~key : key ^ UINT64_C(1) << 63;
}

/* Sets the SQL result to the nearest rank, a value of the group. */
static void rank_end(sqlite3_context *context)
{
    ranking *ranking = sqlite3_aggregate_context(context, 0);
    if (!ranking || !ranking->count)
        return;
    union {
        int64_t integer;
        double number;
        uint64_t bits;
    } found;
    uint64_t *keys = ranking->values.keys;
    for (size_t i = 0; i < ranking->count; i++)
        keys[i] = to_key(keys[i], ranking->numbers);
    crn_store_ranks(keys, ranking->count, &ranking->share, &found.bits, 1);
    found.bits = from_key(found.bits, ranking->numbers);
    if (ranking->numbers)
        sqlite3_result_double(context, found.number);
    else
        sqlite3_result_int64(context, found.integer);
    crn_free(keys);
    ranking->values.keys = NULL;
    ranking->count = ranking->room = 0;
}

int crn_query_functions(crn_query *query)
{
    static const struct {
        const char *name;
        int arguments;
        void (*call)(sqlite3_context *, int, sqlite3_value **);
        void (*step)(sqlite3_context *, int, sqlite3_value **);
        void (*end)(sqlite3_context *);
    } functions[] = {
        {"path", 1, path, NULL, NULL},
        {"ancestry", 1, ancestry, NULL, NULL},
        {"attribute", 2, attribute, NULL, NULL},
        {"attributes", 1, attributes, NULL, NULL},
        {"ms", 1, milliseconds, NULL, NULL},
        {"median", 1, NULL, median_step, rank_end},
        {"percentile", 2, NULL, percentile_step, rank_end},
    };
    int status = SQLITE_OK;
    for (size_t i = 0; i < sizeof functions / sizeof *functions && status == SQLITE_OK; i++)
        status = sqlite3_create_function(query->database, functions[i].name, functions[i].arguments,
                                         SQLITE_UTF8 | SQLITE_DETERMINISTIC, query,
                                         functions[i].call, functions[i].step, functions[i].end);
    return status;
}
