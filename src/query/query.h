/* SPDX-License-Identifier: MIT
 *
 * query.h - questions in SQL to captures, where they are: SQLite's virtual tables over what is
 * in the files. Nothing is imported, and nothing can be written.
 *
 * What is asked may be hostile, as may the captures: statements that would write, attach files,
 * load code or change settings are refused, and sizes are limited. Not for several threads at once.
 */
#ifndef CRN_QUERY_QUERY_H
#define CRN_QUERY_QUERY_H

#include "spans/spans.h"

typedef struct crn_query crn_query;

/* A capture to ask. */
typedef struct crn_query_file {
    const char *path;
    const crn_profile *profile;  /* what is shown of it, stays the caller's; NULL: as it is there */
    const crn_profile *recorded; /* as it is there, if `profile` is made of that: spans name its
                                    blocks; NULL: the same */
    const crn_trace *trace;      /* its spans, which stay the caller's; NULL: those in the file */
} crn_query_file;

/* Opens captures; ids of the second go on where those of the first end. NULL on an error. */
crn_query *crn_query_open(const crn_query_file *files, uint32_t count, crn_error *error);
void crn_query_close(crn_query *query);

/* From a signal handler or another thread: what runs ends soon, with an error. */
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
    const char *text; /* of a text or a blob, until the next row */
    size_t size;      /* of those, bytes */
} crn_value;

typedef struct crn_statement crn_statement;

/* Prepares the first statement of `sql`; `*rest` is what follows it. NULL with an error, whose
 * message points at the place; NULL without (code 0) if there was none. */
crn_statement *crn_statement_new(crn_query *query, const char *sql, const char **rest,
                                 crn_error *error);
void crn_statement_free(crn_statement *statement);

uint32_t crn_statement_columns(const crn_statement *statement);
const char *crn_statement_column(const crn_statement *statement, uint32_t column);

/* The next row: 1, 0 if there is none, -1 with an error. */
int crn_statement_step(crn_statement *statement, crn_error *error);
crn_value crn_statement_value(crn_statement *statement, uint32_t column);

/* The spans for which an expression over the columns of the table `spans` is true: a byte for
 * each, to be freed with crn_free. NULL on an error. */
uint8_t *crn_query_select(const crn_profile *profile, const crn_trace *trace,
                          const char *expression, crn_error *error);

/* ---- what there is ---- */

typedef struct crn_schema_column {
    const char *name, *type, *says;
} crn_schema_column;

typedef struct crn_schema_table {
    const char *name;
    const char *kind; /* "table", "view" or "function" */
    const char *says;
    const crn_schema_column *columns; /* ends at one without a name */
    const char *sql;                  /* of a view */
} crn_schema_table;

/* All tables, views and functions, for those who ask; ends at one without a name. */
extern const crn_schema_table crn_schema[];

/* All of it as text; to be freed with crn_free. */
char *crn_schema_text(void);

#endif
