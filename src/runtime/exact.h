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
 * charge it: the strand was current and nothing was pending when its limits were set, and nothing
 * has armed it since (limits.c). */
static inline bool crn_exact_only_charges(const cairn_strand *strand)
{
    return CAIRN_PRIV_LIKELY(CAIRN_PRIV_READ(strand->hot.high) == CRN_HIGH_EXACT);
}

/* Charges the record at a node offset up to now. The asm makes gcc compute the record's number
 * before it reads the counter: the counter is read when all that comes before is done, so a
 * multiplication in front of the reading ends while the processor prepares the reading. */
static inline void crn_exact_charge_record(cairn_strand *strand, uint64_t node_offset)
{
    uint64_t record = crn_record_at(node_offset);
    cairn_lane *lane = crn_lane_of(strand);
    __asm__ volatile("" : "+r"(record), "+r"(lane));
    crn_lane_charge_exact(lane, record, crn_clock_now(true));
}

/* Charges the current context up to now. Does nothing and returns false if there is more to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_charge(cairn_strand *strand)
{
    if (!crn_exact_only_charges(strand))
        return false;
    crn_exact_charge_record(strand, strand->hot.current);
    return true;
}

/* Charges the current context. If its record caches the callee, makes the callee current and counts
 * the call; otherwise returns false. The strand must have nothing else to do
 * (crn_exact_only_charges). */
static inline bool crn_exact_charge_and_step(cairn_strand *strand, uint64_t from, cairn_block block)
{
    const char *entry = cairn_priv_callee_entry(strand->hot.base, block);
    __asm__ volatile("" : "+r"(entry)); /* before the reading, like the record's number */
    crn_exact_charge_record(strand, from);
    return cairn_priv_step_to(&strand->hot, *(const uint32_t *)(entry + from * 8), block);
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
    if (crn_exact_charge_and_step(strand, hot->current, block))
        return true;
    uint64_t callee = crn_graph_recall(hot->lane, hot->current, block);
    if (!callee)
        return false;
    crn_strand_call(hot, callee);
    return true;
}

#endif
