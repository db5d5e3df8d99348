/* SPDX-License-Identifier: MIT
 *
 * Answers in SQL: one statement over one file, with limits on time and rows; and the schema.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "cli/common/cli.h"
#include "cli/common/json.h"
#include "cli/query/query.h"
#include "view.h"

enum { ROWS_DEFAULT = 500, ROWS_MAX = 10000, SECONDS_DEFAULT = 5, SECONDS_MAX = 60 };

/* Stops a query after some seconds, from a thread. `lock` guards `over` (the query has ended by
 * itself) and `rang` (the thread stopped it). */
typedef struct alarm_clock {
    crn_query *query;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    struct timespec until;
    bool over, rang;
} alarm_clock;

static void *wait_until(void *data)
{
    alarm_clock *clock = data;
    pthread_mutex_lock(&clock->lock);
    int status = 0;
    while (!clock->over && status != ETIMEDOUT)
        status = pthread_cond_timedwait(&clock->ended, &clock->lock, &clock->until);
    clock->rang = !clock->over;
    if (clock->rang)
        crn_query_stop(clock->query);
    pthread_mutex_unlock(&clock->lock);
    return NULL;
}

/* Starts the clock. On an error prints why, returns false. */
static bool clock_begin(alarm_clock *clock, crn_query *query, uint64_t seconds)
{
    *clock = (alarm_clock){
        .query = query, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    clock_gettime(CLOCK_REALTIME, &clock->until);
    clock->until.tv_sec += (time_t)seconds;
    int problem = pthread_create(&clock->thread, NULL, wait_until, clock);
    if (problem)
        crn_cli_fail("cannot start a thread: %s", strerror(problem));
    return !problem;
}

/* Ends the thread. Returns true if it stopped the query. */
static bool clock_end(alarm_clock *clock)
{
    pthread_mutex_lock(&clock->lock);
    clock->over = true;
    pthread_cond_signal(&clock->ended);
    pthread_mutex_unlock(&clock->lock);
    pthread_join(clock->thread, NULL);
    return clock->rang;
}

/* Returns the text's only statement. On an error prints a message and returns NULL. */
static crn_statement *statement_of(crn_query *query, const char *sql)
{
    crn_error error = {0};
    const char *rest = sql;
    crn_statement *statement = crn_statement_new(query, sql, &rest, &error);
    if (!statement) {
        crn_cli_fail("%s", error.code ? error.message : "the query is empty; write a SELECT");
        return NULL;
    }
    if (rest[strspn(rest, " \t\r\n;")]) {
        crn_cli_fail("one statement at a time");
        crn_statement_free(statement);
        return NULL;
    }
    return statement;
}

static bool answer(FILE *out, crn_query *query, const char *path, const char *sql, uint32_t rows,
                   uint64_t seconds)
{
    alarm_clock clock;
    crn_error error = {0};
    crn_statement *statement = statement_of(query, sql);
    if (!statement)
        return false;
    bool good = clock_begin(&clock, query, seconds);
    if (good) {
        good = crn_query_print_json(out, statement, &path, 1, rows, &error);
        if (clock_end(&clock) && !good)
            crn_cli_fail("the query was stopped after %llu second%s; cairn query has no limit",
                         (unsigned long long)seconds, seconds == 1 ? "" : "s");
        else if (!good)
            crn_cli_fail("%s", error.message);
    }
    crn_statement_free(statement);
    return good;
}

bool crn_view_sql(FILE *out, crn_view *view, const crn_view_query *query)
{
    crn_view_file *file = crn_view_file_of(view, query);
    const char *sql = crn_view_text(query, "q");
    uint64_t rows, seconds;
    if (!file || !crn_view_number(query, "top", ROWS_DEFAULT, ROWS_MAX, &rows) ||
        !crn_view_number(query, "seconds", SECONDS_DEFAULT, SECONDS_MAX, &seconds))
        return false;
    while (!file->looked_at)
        pthread_cond_wait(&view->looked, &view->lock);
    crn_error error = {0};
    const crn_trace none = {.spans = NULL}; /* another tool's file has no spans */
    crn_query_file source = {.path = file->path,
                             .profile = file->profile,
                             .recorded = file->plain,
                             .trace = file->foreign ? &none : file->trace};
    crn_query *asked = crn_query_open(&source, 1, &error);
    if (!asked) {
        crn_cli_fail("%s", error.message);
        return false;
    }
    bool good = answer(out, asked, file->path, sql ? sql : "", (uint32_t)rows, seconds);
    crn_query_close(asked);
    return good;
}

bool crn_view_schema(FILE *out, crn_view *view, const crn_view_query *query)
{
    (void)view;
    (void)query;
    json_t *tables = json_array();
    for (const crn_schema_table *table = crn_schema; table->name; table++) {
        json_t *json = json_object(), *columns = json_array();
        json_object_set_new(json, "name", crn_json_text(table->name));
        json_object_set_new(json, "kind", crn_json_text(table->kind));
        json_object_set_new(json, "says", crn_json_text(table->says));
        for (const crn_schema_column *column = table->columns; column && column->name; column++) {
            json_t *its = json_object();
            json_object_set_new(its, "name", crn_json_text(column->name));
            json_object_set_new(its, "type", crn_json_text(column->type ? column->type : ""));
            json_object_set_new(its, "says", crn_json_text(column->says ? column->says : ""));
            json_array_append_new(columns, its);
        }
        json_object_set_new(json, "columns", columns);
        json_array_append_new(tables, json);
    }
    crn_json_write(out, tables);
    return true;
}
