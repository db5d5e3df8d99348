/* SPDX-License-Identifier: MIT
 *
 * filter.h - conditions that select runs: "version=1.2", "host=a", "since=7d".
 */
#ifndef CRN_FLEET_FILTER_H
#define CRN_FLEET_FILTER_H

#include "base/error.h"
#include "fleet/sql.h"

enum { CRN_FILTER_TERMS = 32 };

typedef struct crn_fleet_filter {
    const char *service; /* NULL: all */
    const char *terms[CRN_FILTER_TERMS];
    size_t count;
} crn_fleet_filter;

/* Adds "KEY=VALUE". KEY is service, version, host, run (32 hexadecimal digits), since or until (a
 * time as 2026-11-23 or 2026-11-23T10:00:00, or an age as 7d, 12h, 30m), or the name of a label.
 * `text` must outlive the filter. */
bool crn_fleet_filter_add(crn_fleet_filter *filter, const char *text, crn_error *error);

/* Adds the filter to `sql` as a condition on the columns of `runs`. */
void crn_fleet_filter_sql(const crn_fleet_filter *filter, crn_sql *sql);
/* Adds the filter to `sql` as a condition for other tables: "run IN (...)". */
void crn_fleet_filter_runs(const crn_fleet_filter *filter, crn_sql *sql);

/* Parses 32 hexadecimal digits. Returns false for any other text. */
bool crn_fleet_id_parse(crn_fleet_id *id, const char *text);
/* Writes 32 hexadecimal digits and a NUL. Returns `text`. */
char *crn_fleet_id_text(char text[33], const crn_fleet_id *id);

#endif
