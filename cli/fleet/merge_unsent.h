/* SPDX-License-Identifier: MIT
 *
 * merge_unsent.h - merges captures that cannot be sent, before they fill the disk.
 */
#ifndef CRN_CLI_FLEET_MERGE_UNSENT_H
#define CRN_CLI_FLEET_MERGE_UNSENT_H

#include "watch.h"

/* Merges the oldest captures that could not be sent if all captures have more than `bytes`: adds up
 * their figures; counts spans, and leaves them out. Prints what it merges. */
void crn_watch_merge(crn_watch *watch, uint64_t bytes);

/* Completes or undoes an interrupted merge. Call it after opening a folder. */
void crn_watch_recover(const crn_watch *watch);

#endif
