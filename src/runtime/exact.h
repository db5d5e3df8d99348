/* SPDX-License-Identifier: MIT
 *
 * exact.h - exact wall time: each enter and leave charges the time since the event before.
 */
#ifndef CRN_RUNTIME_EXACT_H
#define CRN_RUNTIME_EXACT_H

#include "runtime/runtime.h"

/* Returns true if wall time is exact and nothing else is pending. */
static inline bool crn_exact_only_charges(const cairn_strand *strand, const cairn_lane *lane)
{
    return crn_profile_mode(lane->profile) == CRN_MODE_EXACT && lane->running == strand &&
           !strand->records && !strand->lost && __atomic_load_n(&lane->owner, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&lane->promises, __ATOMIC_RELAXED) &&
           __atomic_load_n(&lane->profile->changes, __ATOMIC_RELAXED) == lane->changes_seen;
}

#endif
