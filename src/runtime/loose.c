/* SPDX-License-Identifier: MIT
 *
 * Loose spans: hosts record them on a thread's lane, but not on the strand's stack of spans. So
 * loose spans need not nest, and they count no call.
 */
#include <cairn/host.h>

#include "runtime/span.h"

uint64_t cairn_priv_loose_now(const cairn_strand *strand)
{
    return crn_spans_stamp(crn_lane_of(strand));
}

/* Returns the number of the parent: the innermost open span, if that is recorded. Otherwise returns
 * 0 for a root span, or CRN_OPEN_SKIPPED if trees are sampled: then loose spans are recorded only
 * in recorded trees. */
static uint32_t parent_of(const cairn_strand *strand)
{
    const cairn_profile *profile = crn_lane_of(strand)->profile;
    uint32_t above = strand->open_spans ? strand->hot.open[-1].span : 0;
    if (crn_open_is_recorded(above))
        return above;
    return profile->span_threshold ? CRN_OPEN_SKIPPED : 0;
}

uint32_t cairn_priv_loose_begin(cairn_strand *strand, cairn_block block, uint64_t begin)
{
    cairn_lane *lane = crn_lane_of(strand);
    crn_lane_listen(lane);
    uint32_t number, parent = parent_of(strand);
    if (!lane->spans.chunks || lane->spans.ring || parent == CRN_OPEN_SKIPPED || lane->forked ||
        crn_profile_mode(lane->profile) == CRN_MODE_OFF)
        return 0;
    const cairn_priv_span *chunk_end = lane->spans_end;
    cairn_priv_span *span = crn_spans_take(lane, &number);
    if (lane->spans_end != chunk_end)
        crn_spans_slow(lane); /* so that the next span on the stack sets the limit to the new
                                 chunk's end */
    if (!span)
        return 0;
    span->iteration = CAIRN_ITERATION_NONE;
    span->block = block;
    span->parent = parent;
    __atomic_store_n(&span->start, begin, __ATOMIC_RELEASE);
    return number;
}

void cairn_priv_loose_end(cairn_strand *strand, uint32_t number, uint64_t end)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (number && lane->spans.chunks && number <= lane->graph.hot.spans.used)
        __atomic_store_n(&crn_spans_at(lane, number)->end, end, __ATOMIC_RELAXED);
}

void cairn_priv_loose_waits_for(cairn_strand *strand, uint32_t number, cairn_span other)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (number && other && lane->spans.chunks)
        crn_spans_put_detail(lane, (crn_disk_detail){.span = number,
                                                     .kind = CRN_DETAIL_WAITS,
                                                     .value = other,
                                                     .more = crn_spans_stamp(lane)});
}

cairn_span cairn_priv_loose_name(const cairn_strand *strand, uint32_t number)
{
    const cairn_lane *lane = crn_lane_of(strand);
    return number && lane->spans.chunks ? crn_spans_name(lane, number) : 0;
}
