/* SPDX-License-Identifier: MIT
 *
 * Threads whose allocations are charged to the contexts of a strand of the program's own profile
 * (cairn_alloc_follow).
 */
#include <errno.h>

#include "alloc.h"

static void end_following(crn_lane *lane)
{
    crn_record_collect(lane);
    crn_peak_flush(lane);
    crn_peak_settle(lane);
    crn_alloc_lane_rest(lane);
    crn_peak_lanes(-1);
    crn_here.lane = crn_here.native;
    crn_here.left = crn_here.native && !crn_sampled ? 0 : crn_here.left;
}

/* Tells readers whether the allocations of the profile are sampled. */
static void note_mean(cairn_profile *profile, const cairn_priv_alloc_calls *calls)
{
    static cairn_profile *noted; /* atomic */
    char mean[32];
    if (__atomic_exchange_n(&noted, profile, __ATOMIC_RELAXED) == profile)
        return;
    crn_sample_mean_text(mean);
    calls->profile_note(profile, "alloc", mean);
}

static crn_lane *first_lane(cairn_lane *of, const cairn_priv_alloc_calls *calls)
{
    cairn_profile *profile = calls->lane_profile(of);
    cairn_metric metrics[CRN_METRICS];
    for (int i = 0; i < CRN_METRICS; i++) {
        metrics[i] = calls->metric_add(profile, crn_metric_names[i][0], crn_metric_names[i][1]);
        if (metrics[i] == CAIRN_METRIC_MAX)
            return NULL;
    }
    note_mean(profile, calls);
    calls->memory_begin(profile);
    crn_lane *lane = crn_alloc_lane_new(of, calls, metrics);
    if (lane)
        crn_alloc_lane_attend(lane);
    return lane;
}

static bool begin_following(cairn_strand *strand, const cairn_priv_alloc_calls *calls)
{
    cairn_lane *of = calls->strand_lane(strand);
    if (!crn_start_following())
        return false;
    crn_lane *lane = crn_alloc_lane_known(of, calls);
    if (!lane && !(lane = first_lane(of, calls)))
        return false;
    crn_alloc_lane_begin(lane);
    lane->strand = strand;
    crn_peak_lanes(1);
    crn_here.lane = lane;
    crn_here.left = crn_sample_gap(&lane->random);
    return true;
}

static bool follow(cairn_strand *strand, const cairn_priv_alloc_calls *calls)
{
    crn_lane *lane = crn_here.lane && crn_here.lane->strand ? crn_here.lane : NULL;
    if (lane && strand && calls->strand_lane(strand) == lane->lane) {
        lane->strand = strand;
        return true;
    }
    if (lane)
        end_following(lane);
    return !strand || begin_following(strand, calls);
}

__attribute__((visibility("default"))) bool cairn_priv_alloc_follow(
    cairn_strand *strand, const cairn_priv_alloc_calls *calls)
{
    if (!calls || calls->size < sizeof *calls)
        return false;
    int saved = errno;
    uintptr_t busy = crn_here.busy;
    crn_here.busy = (uintptr_t)__builtin_frame_address(0);
    bool done = follow(strand, calls);
    crn_here.busy = busy;
    errno = saved;
    return done;
}
