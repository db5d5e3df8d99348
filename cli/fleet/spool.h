/* SPDX-License-Identifier: MIT
 *
 * spool.h - a folder of captures that could not be sent, each with its labels beside it.
 */
#ifndef CRN_CLI_FLEET_SPOOL_H
#define CRN_CLI_FLEET_SPOOL_H

#include "fleet.h"

/* Copies a capture into the folder, which is made if it is missing. It appears there complete and
 * synced, or not at all. Prints that, or an error; returns false on an error. */
bool crn_spool_put(const char *folder, const char *capture, const crn_fleet_labels *labels);

/* Sends what is in the folder, and deletes what was sent; nothing if another process does the same.
 * `*takes` becomes false if the server takes nothing. */
void crn_spool_send(const char *folder, crn_database *database, bool *takes);

/* Merges captures while all have more than `keep` bytes. */
void crn_spool_limit(const char *folder, uint64_t keep);

#endif
