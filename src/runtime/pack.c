/* SPDX-License-Identifier: MIT
 *
 * Packs the capture of a process with one lane, when recording ends.
 */
#include "runtime/runtime.h"

/* Returns true if no other thread, and no child of fork, can use the lane's memory, and the calling
 * thread is not in the middle of a change of it. Hold the capture's lock: fork takes it before it
 * counts a child. */
static bool is_at_rest(const cairn_profile *profile, cairn_lane *lane)
{
    const crn_thread *owner = __atomic_load_n(&lane->owner, __ATOMIC_ACQUIRE);
    return lane == __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE) && !lane->next &&
           !lane->follower && !profile->child.forks && (!owner || owner == crn_thread_self()) &&
           crn_lane_is_unlocked(lane);
}

bool crn_profile_pack(cairn_profile *profile)
{
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    if (!lane)
        return false;
    /* The thread may have further events, which are not recorded but look at their context. */
    uint64_t used = __atomic_load_n(&lane->disk->used, __ATOMIC_RELAXED);
    crn_futex_lock_take(&profile->capture.lock);
    bool packed = used < UINT32_MAX && is_at_rest(profile, lane) &&
                  crn_capture_pack(&profile->capture, &lane->links, &lane->records, (uint32_t)used);
    crn_futex_lock_give(&profile->capture.lock);
    return packed;
}
