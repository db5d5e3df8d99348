/* SPDX-License-Identifier: MIT
 *
 * schema.h - the tables of a fleet's database: docs/FLEET.md describes them.
 *
 * Every table is a ReplacingMergeTree: rows that are sent twice count once, if read with FINAL.
 */
#ifndef CRN_FLEET_SCHEMA_H
#define CRN_FLEET_SCHEMA_H

#include "fleet/database.h"

/* Statements that need a server of a later version are left out for older ones. */
typedef struct crn_schema_options {
    unsigned server;     /* major version of the server: 18, 23, ... */
    unsigned keep_days;  /* 0: for ever. Before version 19 nothing is deleted by itself */
    const char *cluster; /* of the server's configuration: rows are distributed over its shards by
                            run, so that equal rows meet; NULL: this server alone */
} crn_schema_options;

/* Called with each statement, in order. Returns false to stop. */
typedef bool crn_schema_statement(void *data, const char *sql, crn_error *error);

bool crn_schema_each(const char *database, const crn_schema_options *options,
                     crn_schema_statement *statement, void *data, crn_error *error);

/* Creates the database and its tables where they are missing. `options->server` is asked for. Of a
 * cluster, each server needs its own call. */
bool crn_schema_create(crn_database *database, crn_schema_options options, crn_error *error);

#endif
