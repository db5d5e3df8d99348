/* SPDX-License-Identifier: MIT
 *
 * off_core.h - a thread of the profile that records when other threads have no core (option
 * off_core).
 */
#ifndef CRN_RUNTIME_OFF_CORE_H
#define CRN_RUNTIME_OFF_CORE_H

#include "runtime/runtime.h"

/* Starts it. Stop it with crn_helper_stop(&profile->off_core), before lanes are closed. */
bool crn_off_core_start(cairn_profile *profile);

/* Frees what it has for a lane. */
void crn_off_core_free(cairn_lane *lane);

/* Divides the ready time `*owed` (ns) among the waits whose wake-up is not known (waiting, not
 * ready): in equal parts, but no part is longer than the wait. Leaves in `*owed` what does not fit.
 */
void crn_off_core_share(crn_disk_off_core *entries, uint32_t count, int64_t *owed);

/* In a child of fork: the lane's record is the parent's. */
void crn_off_core_forget(cairn_lane *lane);

#endif
