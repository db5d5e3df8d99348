/* SPDX-License-Identifier: MIT
 *
 * database.h - a ClickHouse server's HTTP interface: insert rows, ask queries.
 *
 * The server's answers are bounded and checked, as it may be hostile. No redirect is followed.
 */
#ifndef CRN_FLEET_DATABASE_H
#define CRN_FLEET_DATABASE_H

#include <errno.h>

#include "base/error.h"
#include "fleet/rows.h"

typedef struct crn_database crn_database;

typedef struct crn_database_options {
    const char *url;           /* clickhouse://[USER@]HOST[:PORT]/DATABASE; clickhouses: with TLS.
                                  http and https are the same */
    const char *password_file; /* NULL: the environment's CAIRN_FLEET_PASSWORD, or none */
    unsigned retry_s;          /* repeat what failed for a reason that passes, for so long */
} crn_database_options;

/* Parses the options; does not connect. Returns NULL and sets `*error` if they are bad. */
crn_database *crn_database_open(const crn_database_options *options, crn_error *error);
void crn_database_close(crn_database *database);

/* Returns the database's name: letters, digits and _, so that SQL can contain it as it is. */
const char *crn_database_name(const crn_database *database);

/* The number of an error: the server refused the rows or the query themselves, and would again. */
enum { CRN_DATABASE_REFUSED = EBADMSG };

/* Inserts the rows: INSERT INTO table (columns). `into` is "table (columns)". Without rows it does
 * nothing. Retries with growing pauses while the server is away, overloaded or full. */
bool crn_database_insert(crn_database *database, const char *into, const crn_rows *rows,
                         crn_error *error);

/* Runs a query. Its answer is in ClickHouse's RowBinary format; free it with crn_answer_free, also
 * after an error. `answer` may be NULL. */
bool crn_database_query(crn_database *database, const char *sql, crn_answer *answer,
                        crn_error *error);

#endif
