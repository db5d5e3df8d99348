/* SPDX-License-Identifier: MIT
 *
 * Ends a profile at the end of its process. Frees and unmaps nothing, because other threads may
 * still use the profile; their later events are not recorded.
 */
#include <errno.h>
#include <time.h>

#include "plat/thread.h"
#include "runtime/process.h"
#include "runtime/span.h"

bool crn_profile_locks_are_free(cairn_profile *profile)
{
    return crn_threads_lock_is_obtainable() && crn_lock_is_obtainable(&profile->lock) &&
           crn_lock_is_obtainable(&profile->capture.lock);
}

/* Returns true unless the process ends in a signal handler that interrupted a change of the stack
 * of open spans. */
static bool is_whole(const cairn_strand *strand)
{
    const cairn_lane *lane = crn_lane_of(strand);
    const cairn_priv_open *open = strand->open_spans;
    uint64_t taken = lane->spans.taken;
    uint64_t chunks = taken < CRN_STREAM_CHUNKS ? taken : CRN_STREAM_CHUNKS;
    if (!open)
        return true;
    if (strand->hot.open <= open || strand->hot.open > strand->hot.open_end)
        return false;
    for (; open < strand->hot.open; open++)
        if (crn_open_is_recorded(open->span) && (open->span - 1) / CAIRN_PRIV_SPAN_CHUNK >= chunks)
            return false;
    return true;
}

/* Ends a lane of the calling thread or without an owner. A lane that a handler interrupted in the
 * middle of a change stays as it is. */
static void end_lane(cairn_lane *lane)
{
    if (!crn_lane_is_unlocked(lane))
        return;
    crn_ticks_finish(lane);
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        if (is_whole(strand))
            crn_spans_unwind(strand, 0);
    crn_lane_let_go(lane);
    lane->disk->open = 0;
}

/* Truncates the file. Other threads may still write to its chunks, but not behind the last one. So
 * only a chunk that can be cut off takes a look into /proc, which costs some microseconds.
 * `helpers`: number of threads that write no more, beside this one. */
static void shorten(cairn_profile *profile, unsigned helpers)
{
    uint64_t before = profile->capture.end;
    uint64_t end = crn_spans_trim(profile);
    if (crn_profile_pack(profile))
        return;
    /* A thread may have taken a chunk meanwhile, and have ended before the look. */
    if (end < before && (!crn_thread_is_alone(helpers) || profile->capture.end != before))
        end = UINT64_MAX;
    crn_capture_shorten(&profile->capture, end);
}

void crn_profile_end(cairn_profile *profile)
{
    if (profile->capture.detached || __atomic_load_n(&profile->child.waiting, __ATOMIC_ACQUIRE) ||
        !crn_profile_locks_are_free(profile))
        return;
    int saved = errno, cancelling;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    unsigned helpers = crn_helper_halt(&profile->sampler.helper) +
                       crn_helper_halt(&profile->preparer) + crn_helper_halt(&profile->off_core);
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next) {
        const crn_thread *owner = __atomic_load_n(&lane->owner, __ATOMIC_ACQUIRE);
        if (!owner || owner == crn_thread_self())
            end_lane(lane);
    }
    cairn_profile_disable(profile);
    crn_profile_moment(profile);
    shorten(profile, helpers);
    bool whole = __atomic_load_n(&profile->stopped, __ATOMIC_RELAXED) == CAIRN_OK;
    __atomic_store_n(&profile->capture.header->state, whole ? CRN_STATE_CLOSED : CRN_STATE_STOPPED,
                     __ATOMIC_RELEASE);
    crn_helper_let_end(&profile->sampler.helper);
    crn_helper_let_end(&profile->preparer);
    crn_helper_let_end(&profile->off_core);
    pthread_setcancelstate(cancelling, NULL);
    errno = saved;
}
