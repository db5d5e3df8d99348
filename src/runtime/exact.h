/* SPDX-License-Identifier: MIT
 *
 * exact.h - exact wall time: each enter and leave charges the time since the event before.
 *
 * The functions call no others, not even to read the clock, so that callers save no registers.
 */
#ifndef CRN_RUNTIME_EXACT_H
#define CRN_RUNTIME_EXACT_H

#include "runtime/runtime.h"

/* Returns true if wall time is exact, and an event of the strand has nothing else to do than to
 * charge it: nothing was pending when its limits were set, nothing has armed it since
 * (limits.c), and it is current. */
static inline bool crn_exact_only_charges(const cairn_strand *strand, const cairn_lane *lane)
{
    return CAIRN_PRIV_LIKELY(CAIRN_PRIV_READ(strand->hot.high) == CRN_HIGH_EXACT &&
                             lane->running == strand);
}

/* Charges the current context up to now. Does nothing and returns false if there is more to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_charge(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (!crn_exact_only_charges(strand, lane))
        return false;
    crn_lane_charge_exact(lane, crn_record_at(strand->hot.current), crn_clock_now(true));
    return true;
}

/* Charges the current context, makes its callee current and counts the call. The caller pushes
 * `frames` frames, for which the stack has space. Returns false, with the same context current, if
 * the callee is not cached, the stack lacks space, or there is more to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_step(cairn_strand *strand, cairn_block block, size_t frames)
{
    cairn_priv_strand *hot = &strand->hot;
    uint64_t from = hot->current;
    if (!crn_exact_charge(strand) || hot->top + frames > strand->end)
        return false;
    if (cairn_priv_step(hot, from, block))
        return true;
    uint64_t callee = crn_graph_recall(hot->lane, from, block);
    if (!callee)
        return false;
    crn_strand_call(hot, callee);
    return true;
}

#endif
