/* SPDX-License-Identifier: MIT
 *
 * spool.h - a folder of captures that could not be sent, each with its labels beside it.
 */
#ifndef CRN_CLI_FLEET_SPOOL_H
#define CRN_CLI_FLEET_SPOOL_H

#include "fleet.h"

/* Copies a capture into the folder, which it makes if missing. The copy appears complete and
 * synced, or not at all. Prints its path. On an error prints a message and returns false. */
bool crn_spool_put(const char *folder, const char *capture, const crn_fleet_labels *labels);

/* Sends the folder's captures and deletes each that was sent. Does nothing if another process has
 * the folder. Sets `*takes` to false if the server takes nothing, otherwise to true. */
void crn_spool_send(const char *folder, crn_database *database, bool *takes);

/* Merges the oldest captures if all together have more than `keep` bytes. Does nothing if another
 * process has the folder. */
void crn_spool_limit(const char *folder, uint64_t keep);

#endif
