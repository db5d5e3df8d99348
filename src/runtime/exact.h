/* SPDX-License-Identifier: MIT
 *
 * exact.h - exact wall time: each enter and leave charges the time since the event before.
 *
 * The functions read the clock inline.
 */
#ifndef CRN_RUNTIME_EXACT_H
#define CRN_RUNTIME_EXACT_H

#include "runtime/runtime.h"

/* Returns true if wall time is exact, and an event of the strand has nothing else to do than to
 * charge it: when its limits were set, the time stamp counter measured the time, the lane had an
 * owner, the strand was current and had lost no frames, and no sample, promise or change was
 * pending; and nothing has armed the strand since (limits.c). */
static inline bool crn_exact_only_charges(const cairn_strand *strand)
{
    return CAIRN_PRIV_LIKELY(CAIRN_PRIV_READ(strand->hot.exact_high) != NULL);
}

/* Charges the current context up to now. Does nothing and returns false if there is more to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_charge(cairn_strand *strand)
{
    if (!crn_exact_only_charges(strand))
        return false;
    cairn_priv_charge(&strand->hot, strand->hot.current);
    return true;
}

/* Charges the current context, makes its callee current and counts the call. The caller pushes
 * `frames` frames, for which the stack has space. Returns false, with the same context current, if
 * the callee is not cached, the stack lacks space, or there is more to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_step(cairn_strand *strand, cairn_block block, size_t frames)
{
    cairn_priv_strand *hot = &strand->hot;
    if (!crn_exact_only_charges(strand) || hot->top + frames > strand->end)
        return false;
    if (cairn_priv_charge_and_step(hot, hot->current, block))
        return true;
    uint64_t callee = crn_graph_recall(hot->lane, hot->current, block);
    if (!callee)
        return false;
    crn_strand_call(hot, callee);
    return true;
}

#endif
