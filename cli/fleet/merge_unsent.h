/* SPDX-License-Identifier: MIT
 *
 * merge_unsent.h - merges captures that cannot be sent, before they fill the disk.
 */
#ifndef CRN_CLI_FLEET_MERGE_UNSENT_H
#define CRN_CLI_FLEET_MERGE_UNSENT_H

#include "watch.h"

/* If all captures together have more than `bytes`, merges those that could not be sent, the first
 * ones first, down to three quarters of `bytes`: adds up their figures; counts spans, and leaves
 * them out. Prints what it merges. crn_watch_delete, called before, sorts captures by age. */
void crn_watch_merge(crn_watch *watch, uint64_t bytes);

/* Completes or undoes an interrupted merge. Call it after opening a folder. */
void crn_watch_recover(const crn_watch *watch);

#endif
