/* SPDX-License-Identifier: MIT
 *
 * sql.h - SQL text that grows. Foreign text becomes hexadecimal digits, so that none is read as
 * SQL.
 */
#ifndef CRN_FLEET_SQL_H
#define CRN_FLEET_SQL_H

#include <stddef.h>

#include "fleet/rows.h"

/* Set it to zeros before use, and free it with crn_sql_free. */
typedef struct crn_sql {
    char *text; /* NUL-terminated */
    size_t length, room;
} crn_sql;

/* Adds text, printf-like. Only for numbers and text of Cairn's own. */
void crn_sql_add(crn_sql *sql, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds a text as a literal, unhex('...'). It may have any bytes. */
void crn_sql_literal(crn_sql *sql, const char *text);
void crn_sql_id(crn_sql *sql, const crn_fleet_id *id);
void crn_sql_free(crn_sql *sql);

#endif
