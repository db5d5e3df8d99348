/* SPDX-License-Identifier: MIT
 *
 * What a lane learns at its next event: that recording was switched on or off, that its
 * figures are to be 0, that its process forked.
 */
#include "runtime/runtime.h"

/* It is the parent's lane until there is a capture to begin it in. */
static void hear_fork(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    if (profile->child.mode != CRN_MODE_OFF)
        crn_child_begin(profile);
    if (!profile->capture.detached)
        crn_child_begin_lane(lane);
    else
        __atomic_store_n(&lane->graph.hot.tick_mode, CAIRN_PRIV_TICKS_OFF, __ATOMIC_RELAXED);
}

void crn_lane_hear(cairn_lane *lane)
{
    do {
        lane->heard = __atomic_load_n(&lane->profile->news, __ATOMIC_ACQUIRE);
        __atomic_store_n(&lane->graph.hot.host_counters_end, 0, __ATOMIC_RELAXED);
        if (lane->forked)
            hear_fork(lane);
        crn_lane_catch_up(lane);
        crn_lane_settle_turn(lane);
        if (!lane->forked)
            __atomic_store_n(&lane->graph.hot.tick_mode, crn_ticks_mode(lane->profile),
                             __ATOMIC_RELAXED);
    } while (__atomic_load_n(&lane->profile->news, __ATOMIC_ACQUIRE) != lane->heard);
}
