/* SPDX-License-Identifier: MIT
 *
 * Processes changes that were announced to a lane, at its next event: a switch of recording on or
 * off, a reset, a fork.
 */
#include "runtime/runtime.h"

/* Begins the lane anew in the capture of a child of fork. Makes the capture first if recording is
 * on. If there is no capture, only switches ticks off. */
static void apply_fork(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    if (profile->child.mode != CRN_MODE_OFF)
        crn_child_begin(profile);
    if (!profile->capture.detached)
        crn_child_begin_lane(lane);
    else
        __atomic_store_n(&lane->graph.hot.tick_mode, CAIRN_PRIV_TICKS_OFF, __ATOMIC_RELAXED);
}

void crn_lane_apply_changes(cairn_lane *lane)
{
    do {
        lane->changes_seen = __atomic_load_n(&lane->profile->changes, __ATOMIC_ACQUIRE);
        __atomic_store_n(&lane->graph.hot.host_counters_end, 0, __ATOMIC_RELAXED);
        if (lane->forked)
            apply_fork(lane);
        crn_lane_catch_up(lane);
        crn_lane_settle_turn(lane);
        if (!lane->forked)
            __atomic_store_n(&lane->graph.hot.tick_mode, crn_ticks_mode(lane->profile),
                             __ATOMIC_RELAXED);
    } while (__atomic_load_n(&lane->profile->changes, __ATOMIC_ACQUIRE) != lane->changes_seen);
}
