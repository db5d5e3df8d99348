/* SPDX-License-Identifier: MIT
 *
 * The owners of lanes, which are threads. Another thread that uses a lane becomes its owner at the
 * next sample; if the host called cairn_lane_hand_over before, at its first event. A thread that
 * ends releases its lanes: so its time since the last sample is charged even if the host does not
 * close them.
 */
#include <errno.h>

#include "runtime/runtime.h"

static pthread_key_t key;
static bool has_key; /* under the threads' lock */

/* ---- under the threads' lock ---- */

/* Releases the lane. Its next event takes the slow path and finds that it has no owner. */
static void let_go(cairn_lane *lane)
{
    if (!crn_lane_waits(lane))
        crn_lane_charge_rest(lane);
    crn_timer_stop(lane);
    crn_thread_remove(lane);
    crn_lane_lock(lane); /* so that the sampler does not store readings of this thread's clock after
                            this */
    __atomic_store_n(&lane->thread_clock, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->pending.clock, 0, __ATOMIC_RELAXED);
    crn_lane_unlock(lane);
    __atomic_store_n(&lane->owner, NULL, __ATOMIC_RELEASE);
    if (lane->running)
        crn_strand_arm(lane->running);
}

/* Makes the calling thread the lane's owner. */
static void take(cairn_lane *lane)
{
    bool moved = lane->owner != NULL; /* the host did not call cairn_lane_hand_over */
    if (moved) {
        crn_timer_stop(lane);
        crn_thread_remove(lane);
    }
    lane->next_owned = crn_this_thread.lanes;
    crn_this_thread.lanes = lane;
    __atomic_store_n(&lane->owner, &crn_this_thread, __ATOMIC_RELEASE);
    crn_lane_begin_time(lane, moved ? lane->disk->stamp : crn_clock_now(lane->profile->tsc));
    crn_timer_start(lane);
}

/* ---- end of a thread ---- */

static void end(void *data)
{
    (void)data;
    int saved = errno;
    crn_this_thread.told = false;
    cairn_priv_strand_aside();
    crn_threads_lock();
    while (crn_this_thread.lanes)
        let_go(crn_this_thread.lanes);
    crn_threads_unlock();
    cairn_priv_strand_back();
    errno = saved;
}

/* The C library would not tell of the thread's end. */
void cairn_priv_thread_is_hidden(bool begins)
{
    crn_this_thread.told = begins;
    if (!begins)
        end(NULL);
}

/* Sets a thread-specific value, so that `end` runs at the thread's end. The caller tries again when
 * the thread takes its next lane if there is no free key or no memory now. */
static void be_told_of_end(void)
{
    crn_threads_lock();
    if (!has_key)
        has_key = pthread_key_create(&key, end) == 0;
    bool can = has_key;
    crn_threads_unlock();
    crn_this_thread.told = can && pthread_setspecific(key, &crn_this_thread) == 0;
}

/* ---- changes of ownership ---- */

void crn_lane_own(cairn_lane *lane)
{
    if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) == &crn_this_thread)
        return;
    int saved = errno;
    if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED))
        crn_lane_settle_moved(lane);
    cairn_priv_strand_aside();
    if (!crn_this_thread.told)
        be_told_of_end();
    crn_threads_lock();
    take(lane);
    crn_threads_unlock();
    cairn_priv_strand_back();
    errno = saved;
}

void crn_lane_let_go(cairn_lane *lane)
{
    cairn_priv_strand_aside();
    crn_threads_lock();
    if (lane->owner)
        let_go(lane);
    crn_threads_unlock();
    cairn_priv_strand_back();
}

void cairn_lane_hand_over(cairn_lane *lane)
{
    if (!lane || !lane->open)
        return;
    int saved = errno;
    crn_lane_let_go(lane);
    errno = saved;
}
