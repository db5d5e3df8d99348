/* SPDX-License-Identifier: MIT
 *
 * query.h - SQL over captures: SQLite virtual tables that read captures in place, without a copy.
 *
 * Queries and captures may be hostile: a query cannot write, attach files, load code or change
 * settings, and sizes are limited. Not thread-safe.
 */
#ifndef CRN_QUERY_QUERY_H
#define CRN_QUERY_QUERY_H

#include "spans/spans.h"

typedef struct crn_query crn_query;

/* A capture to query. */
typedef struct crn_query_file {
    const char *path;            /* NULL: only `profile`, without spans */
    const crn_profile *profile;  /* profile to show, owned by the caller; NULL: loaded from
                                    `path` */
    const crn_profile *recorded; /* profile whose blocks the spans refer to, if `profile` was
                                    derived from it; NULL: `profile` */
    const crn_trace *trace;      /* spans, owned by the caller; NULL: `store` */
    crn_span_store *store;       /* spans, owned by the caller; NULL: read from `path`. If the
                                    caller reads those of a live capture before its profile, the
                                    profile has all their blocks */
} crn_query_file;

/* Opens captures. Ids continue from one capture to the next. On an error returns NULL and sets
 * `*error`. */
crn_query *crn_query_open(const crn_query_file *files, uint32_t count, crn_error *error);
void crn_query_close(crn_query *query);

/* Makes a running statement fail soon. A signal handler or another thread may call it. */
void crn_query_stop(crn_query *query);

typedef enum crn_value_kind {
    CRN_VALUE_NULL,
    CRN_VALUE_INTEGER,
    CRN_VALUE_NUMBER,
    CRN_VALUE_TEXT,
    CRN_VALUE_BLOB
} crn_value_kind;

typedef struct crn_value {
    crn_value_kind kind;
    int64_t integer;
    double number;
    const char *text; /* of a text or blob; valid until the next row */
    size_t size;      /* of a text or blob, bytes */
} crn_value;

typedef struct crn_statement crn_statement;

/* Prepares the first statement of `sql`; sets `*rest` to the text after it. On an error returns
 * NULL and sets `*error`, with the position. If `sql` has no statement, returns NULL with error
 * code 0. */
crn_statement *crn_statement_new(crn_query *query, const char *sql, const char **rest,
                                 crn_error *error);
void crn_statement_free(crn_statement *statement);

/* Returns the number of columns. */
uint32_t crn_statement_columns(const crn_statement *statement);
/* Returns the name of a column. */
const char *crn_statement_column(const crn_statement *statement, uint32_t column);

/* Advances to the next row. Returns 1 for a row, 0 after the last, -1 on an error. */
int crn_statement_step(crn_statement *statement, crn_error *error);
/* Returns a value of the current row. */
crn_value crn_statement_value(crn_statement *statement, uint32_t column);

/* Returns, by span, 1 if an expression over the columns of `spans` is true; NULL on an error. Free
 * it with crn_free. */
uint8_t *crn_query_select(const crn_profile *profile, const crn_trace *trace,
                          const char *expression, crn_error *error);

/* ---- expressions ---- */

/* The costs that thresh(), thresh_stack() and thresh_gc() compare. */
typedef struct crn_block_set_about {
    uint32_t metric;
    const char *collector; /* name of the garbage collector's blocks */
} crn_block_set_about;

/* Returns, by block, 1 if an expression over the columns of `blocks` is true; 0 for the root.
 * Accepts MLton's words for sets, too (docs/QUERY.md). Returns NULL on an error. Free it with
 * crn_free. */
uint8_t *crn_block_set_make(const crn_profile *profile, crn_block_set_about about,
                            const char *expression, crn_error *error);

/* A figure in an assertion: its part of the text, and its value. */
typedef struct crn_assertion_figure {
    const char *start;
    size_t length;
    double value;
} crn_assertion_figure;

enum { CRN_ASSERTION_FIGURES = 64 };

typedef struct crn_assertion {
    bool holds;
    size_t count;
    crn_assertion_figure figures[CRN_ASSERTION_FIGURES]; /* the first figures, if the assertion does
                                                            not hold */
} crn_assertion;

/* Evaluates an assertion, which may have arrows, units and the other spellings of docs/QUERY.md.
 * `unknown_is_zero`: a block that the profile lacks costs 0; otherwise it is an error, as the name
 * may be misspelt. Returns false on an error. */
bool crn_assertion_check(crn_query *query, const char *text, bool unknown_is_zero,
                         crn_assertion *assertion, crn_error *error);

/* ---- schema ---- */

typedef struct crn_schema_column {
    const char *name, *type, *says; /* says: what it means; "" if its name tells */
} crn_schema_column;

typedef struct crn_schema_table {
    const char *name;
    const char *kind; /* "table", "view", "function" or "operator" */
    const char *says;
    const crn_schema_column *columns; /* ends with an entry whose name is NULL; NULL for functions
                                         and operators */
    const char *sql;                  /* a view's definition; NULL for others */
} crn_schema_table;

/* All tables, views, functions and operators; ends with an entry whose name is NULL. */
extern const crn_schema_table crn_schema[];

/* Returns the schema as text; free it with crn_free. */
char *crn_schema_text(void);

#endif
