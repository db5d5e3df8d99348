/* SPDX-License-Identifier: MIT
 *
 * off_core.h - the off-core thread of a profile: it records when other threads have no core (option
 * off_core).
 */
#ifndef CRN_RUNTIME_OFF_CORE_H
#define CRN_RUNTIME_OFF_CORE_H

#include "runtime/runtime.h"

/* Starts the thread. Returns false if that is not possible. Stop the thread with
 * crn_helper_stop(&profile->off_core), before lanes are closed. */
bool crn_off_core_start(cairn_profile *profile);

/* Drops the entries of a lane, and what is known of its thread: the next period begins without
 * them. Call it while the off-core thread does not run. */
void crn_off_core_rewind(cairn_lane *lane);

/* Frees the thread's data about a lane, after the thread has ended. */
void crn_off_core_free(cairn_lane *lane);

/* Divides the ready time `*owed` (ns) among the entries with `waiting` and no `ready`, whose
 * wake-up is not known. The parts are equal, but no part is longer than its wait. Leaves the rest
 * in `*owed`. */
void crn_off_core_share(crn_disk_off_core *entries, uint32_t count, int64_t *owed);

/* Drops the data about a lane in a child of fork, where the data are the parent's. */
void crn_off_core_forget(cairn_lane *lane);

#endif
