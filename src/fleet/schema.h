/* SPDX-License-Identifier: MIT
 *
 * schema.h - creates the tables of a fleet's database. docs/FLEET.md describes them.
 *
 * Tables are ReplacingMergeTree, `hours` is AggregatingMergeTree: a row that is sent twice counts
 * once if it is read with FINAL, or with maxMerge.
 */
#ifndef CRN_FLEET_SCHEMA_H
#define CRN_FLEET_SCHEMA_H

#include "fleet/database.h"

/* Features that the server's version lacks are left out of the statements. */
typedef struct crn_schema_options {
    unsigned server;     /* major version of the server: 18, 23, ... */
    unsigned keep_days;  /* 0: for ever. Before version 20 nothing is deleted by itself */
    const char *cluster; /* name in the server's configuration; NULL: this server alone. The shard
                            of a row depends on its run or id: rows of one key are on one shard */
} crn_schema_options;

/* Gets each statement, in order. Returns false to stop. */
typedef bool crn_schema_statement(void *data, const char *sql, crn_error *error);

/* Makes the statements that create the database and its tables, and passes each to `statement`.
 * Returns false if `statement` did, or if the cluster's name is invalid. */
bool crn_schema_each(const char *database, const crn_schema_options *options,
                     crn_schema_statement *statement, void *data, crn_error *error);

/* Creates the database and its tables if they are missing. Asks the server for options.server. For
 * a cluster, call it for each server. */
bool crn_schema_create(crn_database *database, crn_schema_options options, crn_error *error);

#endif
