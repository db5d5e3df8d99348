/* SPDX-License-Identifier: MIT
 *
 * Returns the lane of a strand, the profile of a lane, and columns of a lane for hosts that add to
 * them directly.
 */
#include "runtime/runtime.h"

cairn_lane *cairn_strand_lane(const cairn_strand *strand)
{
    return strand ? crn_lane_of(strand) : NULL;
}

cairn_profile *cairn_lane_profile(const cairn_lane *lane)
{
    return lane ? lane->profile : NULL;
}

uint64_t *cairn_context_counters(cairn_lane *lane, cairn_metric metric, cairn_context context)
{
    if (!lane || metric < CAIRN_METRIC_USER || metric >= CAIRN_METRIC_MAX ||
        context < CAIRN_CONTEXT_ROOT)
        return NULL;
    crn_lane_listen(lane);
    if (crn_profile_mode(lane->profile) == CRN_MODE_OFF ||
        metric >= __atomic_load_n(&lane->profile->metric_count, __ATOMIC_RELAXED))
        return NULL;
    crn_lane_charge(lane, context, metric, 0); /* charges nothing, but allocates the column */
    const crn_section *column = lane->columns[metric];
    if (!column || column->mapped / sizeof(uint64_t) <= context)
        return NULL;
    return (uint64_t *)column->base;
}
