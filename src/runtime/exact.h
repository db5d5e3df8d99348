/* SPDX-License-Identifier: MIT
 *
 * exact.h - exact wall time: each enter and leave charges the time since the event before.
 */
#ifndef CRN_RUNTIME_EXACT_H
#define CRN_RUNTIME_EXACT_H

#include "runtime/runtime.h"

/* Returns true if wall time is exact and an event of the strand has nothing else to do than to
 * charge it: nothing is pending, and the strand is current, counts and has lost no frames. */
static inline bool crn_exact_only_charges(const cairn_strand *strand, const cairn_lane *lane)
{
    return crn_profile_mode(lane->profile) == CRN_MODE_EXACT && lane->running == strand &&
           !strand->records && !strand->lost && __atomic_load_n(&lane->owner, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED) &&
           !__atomic_load_n(&lane->promises, __ATOMIC_RELAXED) &&
           __atomic_load_n(&lane->profile->changes, __ATOMIC_RELAXED) == lane->changes_seen;
}

/* Charges the current context up to now. Does nothing and returns false if there is more to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_charge(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (!crn_exact_only_charges(strand, lane))
        return false;
    crn_lane_charge_exact(lane, crn_record_at(strand->hot.current));
    return true;
}

/* Returns the node offset of the callee for `block` of the record at the node offset `from`; 0 if
 * the callee is not cached. */
static inline uint64_t crn_exact_recall(const cairn_priv_lane *lane, uint64_t from,
                                        cairn_block block)
{
    uint64_t callee = cairn_priv_callee(lane->base, from, block);
    return cairn_priv_record_at(lane, callee)->block == block ? callee
                                                              : crn_graph_recall(lane, from, block);
}

/* Charges the current context, makes its callee current and counts the call. The caller pushes
 * `frames` frames, for which the stack has space. Returns the callee's node offset. Does nothing
 * and returns 0 if the callee is not cached, the stack lacks space, or there is more to do
 * (crn_exact_only_charges). */
static inline uint64_t crn_exact_step(cairn_strand *strand, cairn_block block, size_t frames)
{
    cairn_lane *lane = crn_lane_of(strand);
    uint64_t from = strand->hot.current;
    if (!crn_exact_only_charges(strand, lane) || strand->hot.top + frames > strand->end)
        return 0;
    uint64_t callee = crn_exact_recall(&lane->graph.hot, from, block);
    if (!callee)
        return 0;
    crn_lane_charge_exact(lane, crn_record_at(from));
    CAIRN_PRIV_PUT(strand->hot.current, callee);
    CAIRN_PRIV_ADD(cairn_priv_record_at(&lane->graph.hot, callee)->calls, 1);
    return callee;
}

#endif
