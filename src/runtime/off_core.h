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

/* In a child of fork: the lane's record is the parent's. */
void crn_off_core_forget(cairn_lane *lane);

#endif
