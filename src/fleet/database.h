/* SPDX-License-Identifier: MIT
 *
 * database.h - inserts rows and runs queries through a ClickHouse server's HTTP interface.
 *
 * The server may be hostile: its answers are bounded and checked, and redirects are not followed.
 */
#ifndef CRN_FLEET_DATABASE_H
#define CRN_FLEET_DATABASE_H

#include <errno.h>

#include "base/error.h"
#include "fleet/rows.h"

typedef struct crn_database crn_database;

typedef struct crn_database_options {
    const char *url; /* clickhouse://[USER@]HOST[:PORT]/DATABASE, or clickhouses:// with TLS;
                        http:// and https:// mean the same */
    const char *password_file; /* NULL: the password is in the environment, CAIRN_FLEET_PASSWORD;
                                  without that it is empty */
    unsigned retry_s;          /* seconds to repeat requests that fail for a passing reason */
} crn_database_options;

/* Parses the options; does not connect. Returns NULL and sets `*error` if they are bad. */
crn_database *crn_database_open(const crn_database_options *options, crn_error *error);
void crn_database_close(crn_database *database);

/* Returns the database's name. It has only letters, digits and _, so SQL can contain it as it
 * is. */
const char *crn_database_name(const crn_database *database);

/* Error code: the server refused the rows or the query, and would refuse them again. */
enum { CRN_DATABASE_REFUSED = EBADMSG };

/* Inserts the rows into `into`, "table (columns)". Does nothing without rows. Retries with growing
 * pauses while the server is away, overloaded or full. */
bool crn_database_insert(crn_database *database, const char *into, const crn_rows *rows,
                         crn_error *error);

/* Runs a query. `*answer` is in ClickHouse's RowBinary format; free it with crn_answer_free, also
 * after an error. `answer` is NULL for statements without an answer, such as CREATE. */
bool crn_database_query(crn_database *database, const char *sql, crn_answer *answer,
                        crn_error *error);

#endif
