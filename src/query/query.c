/* SPDX-License-Identifier: MIT */
#include "query/query.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <cairn/cairn.h>

#include "base/memory.h"
#include "query/captures.h"

struct crn_statement {
    crn_query *query;
    sqlite3_stmt *statement;
};

/* ---- restrictions ---- */

/* Returns true for a function that loads code or reveals addresses. */
static bool is_forbidden(const char *function)
{
    static const char *const names[] = {"load_extension", "fts3_tokenizer"};
    for (size_t i = 0; function && i < sizeof names / sizeof *names; i++)
        if (sqlite3_stricmp(function, names[i]) == 0)
            return true;
    return false;
}

/* Allows only reading: denies writes, ATTACH, PRAGMA and forbidden functions. */
static int authorize(void *query, int action, const char *first, const char *second,
                     const char *database, const char *trigger)
{
    (void)query, (void)first, (void)database, (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return is_forbidden(second) ? SQLITE_DENY : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static int look(void *data)
{
    return ((crn_query *)data)->stopped;
}

enum {
    LENGTH_MAX = 64 << 20, /* limit on a value or a row, bytes */
    SQL_MAX = 1 << 20,     /* limit on a statement, bytes */
    CACHE_KIB = 32 << 10,  /* limit on sorting in memory; beyond it, SQLite uses temporary files */
    LOOK_EACH = 100000     /* SQLite's instructions between checks for a stop request */
};

static int set_limits(sqlite3 *database)
{
    sqlite3_limit(database, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
    sqlite3_limit(database, SQLITE_LIMIT_SQL_LENGTH, SQL_MAX);
    sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(database, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    /* Double-quoted words that name no column are texts (texts.h). */
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DML, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    char pragma[64];
    /* `threads`: a second thread sorts while the first produces rows. */
    snprintf(pragma, sizeof pragma, "pragma cache_size = -%d; pragma threads = 1", CACHE_KIB);
    return sqlite3_exec(database, pragma, NULL, NULL, NULL);
}

/* Connects all virtual tables: on first use, SQLite asks the authorizer if it may create one. */
static int connect_tables(sqlite3 *database)
{
    int status = SQLITE_OK;
    for (const crn_schema_table *table = crn_schema; table->name && status == SQLITE_OK; table++) {
        if (!table->columns)
            continue;
        sqlite3_stmt *statement = NULL;
        char *sql = sqlite3_mprintf("select 1 from \"%w\"", table->name);
        status = sql ? sqlite3_prepare_v2(database, sql, -1, &statement, NULL) : SQLITE_NOMEM;
        sqlite3_finalize(statement);
        sqlite3_free(sql);
    }
    return status;
}

/* Turns off memory statistics and locks: only one thread uses a connection. */
static void configure(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
}

static int open_database(crn_query *query)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, configure);

    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY |
                SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int status = sqlite3_open_v2(":memory:", &query->database, flags, NULL);
    if (status == SQLITE_OK)
        status = set_limits(query->database);
    if (status == SQLITE_OK)
        status = crn_table_spans(query);
    if (status == SQLITE_OK)
        status = crn_tables_simple(query);
    if (status == SQLITE_OK)
        status = crn_query_functions(query);
    if (status == SQLITE_OK)
        status = crn_cost_functions(query);
    if (status == SQLITE_OK)
        status = crn_set_functions(query);
    if (status == SQLITE_OK)
        status = crn_query_views(query);
    if (status == SQLITE_OK)
        status = connect_tables(query->database);
    if (status == SQLITE_OK)
        status = sqlite3_set_authorizer(query->database, authorize, query);
    sqlite3_progress_handler(query->database, LOOK_EACH, look, query);
    return status;
}

crn_query *crn_query_open(const crn_query_file *files, uint32_t count, crn_error *error)
{
    crn_query *query = crn_calloc(1, sizeof *query);
    bool good = crn_captures_open(query, files, count, error);
    if (good && open_database(query) != SQLITE_OK)
        good = crn_error_set(error, CAIRN_E_MEMORY, "SQLite cannot be opened: %s",
                             sqlite3_errmsg(query->database));
    if (good)
        return query;
    crn_query_close(query);
    return NULL;
}

void crn_query_close(crn_query *query)
{
    if (!query)
        return;
    sqlite3_close(query->database);
    crn_captures_close(query);
    crn_free(query);
}

void crn_query_stop(crn_query *query)
{
    query->stopped = 1;
    /* Needed as well: one instruction can produce megabytes before the next check. */
    sqlite3_interrupt(query->database);
}

/* ---- statements ---- */

#define READ_ONLY "captures are read-only: use SELECT"

/* Sets an error from SQLite's message. `text` is the user's text, `spelled` the SQL derived from it
 * (NULL: `text` itself), `texts` the SQL prepared from that (NULL: the error gets no position). */
static void set_error(crn_query *query, const char *text, const crn_texts *spelled,
                      const crn_texts *texts, crn_error *error)
{
    int at = sqlite3_error_offset(query->database);
    const char *message = sqlite3_errmsg(query->database);
    if (query->stopped) {
        crn_error_set(error, CAIRN_E_ARGUMENT, "stopped");
        return;
    }
    if (sqlite3_errcode(query->database) == SQLITE_AUTH)
        message = READ_ONLY;
    if (!texts || at < 0 || (size_t)at > texts->size) {
        crn_error_set(error, CAIRN_E_ARGUMENT, "%s", message);
        return;
    }
    size_t from = texts->from[at];
    crn_texts_fail(error, text, spelled ? spelled->from[from] : from, "%s", message);
}

static crn_statement *prepare(crn_query *query, const char *text, const crn_texts *spelled,
                              const char **rest, crn_error *error)
{
    sqlite3_stmt *made = NULL;
    const char *tail, *sql = spelled ? spelled->sql : text;
    *error = (crn_error){0};
    crn_texts texts = crn_texts_make(sql, SQL_MAX);
    int status = sqlite3_prepare_v2(query->database, texts.sql, -1, &made, &tail);
    *rest = sql + texts.from[status == SQLITE_OK && tail ? (size_t)(tail - texts.sql) : texts.size];
    if (status != SQLITE_OK)
        set_error(query, text, spelled, &texts, error);
    crn_texts_free(&texts);
    if (status != SQLITE_OK)
        return NULL;
    if (made && !sqlite3_stmt_readonly(made)) { /* SQLite does not ask the authorizer about
                                                   VACUUM */
        sqlite3_finalize(made);
        crn_error_set(error, CAIRN_E_ARGUMENT, READ_ONLY);
        return NULL;
    }
    if (!made)
        return NULL;
    crn_statement *statement = crn_calloc(1, sizeof *statement);
    *statement = (crn_statement){query, made};
    return statement;
}

crn_statement *crn_statement_new(crn_query *query, const char *sql, const char **rest,
                                 crn_error *error)
{
    return prepare(query, sql, NULL, rest, error);
}

void crn_statement_free(crn_statement *statement)
{
    if (!statement)
        return;
    sqlite3_finalize(statement->statement);
    crn_free(statement);
}

uint32_t crn_statement_columns(const crn_statement *statement)
{
    return (uint32_t)sqlite3_column_count(statement->statement);
}

const char *crn_statement_column(const crn_statement *statement, uint32_t column)
{
    const char *name = sqlite3_column_name(statement->statement, (int)column);
    return name ? name : "";
}

int crn_statement_step(crn_statement *statement, crn_error *error)
{
    switch (sqlite3_step(statement->statement)) {
    case SQLITE_ROW:
        return 1;
    case SQLITE_DONE:
        return 0;
    default:
        set_error(statement->query, NULL, NULL, NULL, error);
        return -1;
    }
}

crn_value crn_statement_value(crn_statement *statement, uint32_t column)
{
    sqlite3_stmt *row = statement->statement;
    int at = (int)column;
    switch (sqlite3_column_type(row, at)) {
    case SQLITE_INTEGER:
        return (crn_value){.kind = CRN_VALUE_INTEGER, .integer = sqlite3_column_int64(row, at)};
    case SQLITE_FLOAT:
        return (crn_value){.kind = CRN_VALUE_NUMBER, .number = sqlite3_column_double(row, at)};
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(row, at);
        return (crn_value){.kind = CRN_VALUE_TEXT,
                           .text = text ? text : "",
                           .size = (size_t)sqlite3_column_bytes(row, at)};
    }
    case SQLITE_BLOB: {
        const char *bytes = sqlite3_column_blob(row, at);
        return (crn_value){.kind = CRN_VALUE_BLOB,
                           .text = bytes ? bytes : "",
                           .size = (size_t)sqlite3_column_bytes(row, at)};
    }
    default:
        return (crn_value){0};
    }
}

/* ---- expressions ---- */

crn_statement *crn_statement_of(crn_query *query, const char *text, const crn_texts *spelled,
                                crn_error *error)
{
    const char *rest;
    crn_statement *statement = prepare(query, text, spelled, &rest, error);
    if (statement && *rest) {
        crn_statement_free(statement);
        statement = NULL;
        crn_texts_fail(error, text, spelled->from[rest - spelled->sql],
                       "only one expression is allowed");
    }
    if (!statement && !error->code)
        crn_error_set(error, CAIRN_E_ARGUMENT, "the expression is empty");
    return statement;
}

bool crn_statement_collect(crn_statement *statement, uint8_t *set, uint32_t count, crn_error *error)
{
    int more;
    while ((more = crn_statement_step(statement, error)) > 0) {
        int64_t id = crn_statement_value(statement, 0).integer;
        if (id >= 0 && id < count)
            set[id] = 1;
    }
    return more == 0;
}

uint8_t *crn_query_select(const crn_profile *profile, const crn_trace *trace,
                          const char *expression, crn_error *error)
{
    crn_query_file file = {.path = "", .profile = profile, .trace = trace};
    crn_query *query = crn_query_open(&file, 1, error);
    if (!query)
        return NULL;
    crn_texts spelled = {0};
    crn_texts_insert(&spelled, "select id from spans where\n", 0);
    crn_texts_copy(&spelled, expression, 0, strlen(expression));
    crn_texts_end(&spelled, strlen(expression));
    crn_statement *statement = crn_statement_of(query, expression, &spelled, error);
    uint8_t *kept = statement ? crn_calloc(trace->span_count, 1) : NULL;
    if (statement && !crn_statement_collect(statement, kept, trace->span_count, error)) {
        crn_free(kept);
        kept = NULL;
    }
    crn_statement_free(statement);
    crn_texts_free(&spelled);
    crn_query_close(query);
    return kept;
}
