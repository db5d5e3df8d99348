/* SPDX-License-Identifier: MIT
 *
 * merge_unsent.h - makes room where captures that cannot be sent fill the disk.
 */
#ifndef CRN_CLI_FLEET_MERGE_UNSENT_H
#define CRN_CLI_FLEET_MERGE_UNSENT_H

#include "watch.h"

/* Merges the oldest captures that could not be sent while all together have more than `bytes`:
 * their figures are added up, spans are left out and counted. Prints that. */
void crn_watch_merge(crn_watch *watch, uint64_t bytes);

/* Ends, or takes back, a merge that was interrupted: to be called when a folder was opened. */
void crn_watch_recover(const crn_watch *watch);

#endif
