/* SPDX-License-Identifier: MIT
 *
 * Charges exact wall time for hosts that have not saved vector and x87 registers. The file is
 * compiled for general registers alone, and calls no function.
 */
#include "runtime/exact.h"

#include <cairn/host.h>

/* Returns true if this file can charge the time: only the time stamp counter can be read without a
 * call of libc. */
static inline bool can_charge(const cairn_strand *strand, const cairn_lane *lane)
{
    return crn_exact_only_charges(strand, lane) && lane->profile->tsc;
}

/* Returns the node offset of the callee for `block`; 0 if it is not cached. */
static inline uint64_t recall(const cairn_priv_lane *lane, uint64_t from, cairn_block block)
{
    uint64_t callee = cairn_priv_callee(lane->base, from, block);
    return cairn_priv_record_at(lane, callee)->block == block ? callee
                                                              : crn_graph_recall(lane, from, block);
}

uint64_t cairn_priv_exact_step(cairn_priv_strand *priv, cairn_block block, size_t frames)
{
    cairn_strand *strand = (cairn_strand *)priv;
    cairn_lane *lane = crn_lane_of(strand);
    if (!can_charge(strand, lane) || priv->top + frames > strand->end)
        return 0;
    uint64_t from = priv->current;
    uint64_t callee = recall(&lane->graph.hot, from, block);
    if (!callee)
        return 0;
    crn_lane_charge_exact(lane, crn_record_at(from));
    CAIRN_PRIV_PUT(priv->current, callee);
    CAIRN_PRIV_ADD(cairn_priv_record_at(&lane->graph.hot, callee)->calls, 1);
    return callee;
}

bool cairn_priv_exact_charge(cairn_priv_strand *priv)
{
    const cairn_strand *strand = (const cairn_strand *)priv;
    cairn_lane *lane = crn_lane_of(strand);
    if (!can_charge(strand, lane))
        return false;
    crn_lane_charge_exact(lane, crn_record_at(priv->current));
    return true;
}
