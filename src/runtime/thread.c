/* SPDX-License-Identifier: MIT
 *
 * The threads that own lanes, and their lock.
 */
#include "plat/thread.h"
#include "runtime/runtime.h"

/* Protects the threads' lists of lanes, and changes of owners. Take it before the locks of profiles
 * and captures. */
static crn_futex_lock lock;

__thread crn_thread crn_this_thread __attribute__((tls_model("initial-exec")));

void crn_thread_remove(cairn_lane *lane)
{
    cairn_lane **place = &lane->owner->lanes;
    while (*place != lane)
        place = &(*place)->next_owned;
    *place = lane->next_owned;
}

/* Waits for the lock rather than trying now and then: threads that begin and end in bursts take it
 * again and again, and tries could always find it taken. */
bool crn_lock_is_obtainable(crn_futex_lock *wanted)
{
    const uint64_t second = 1000000000;
    if (!crn_futex_lock_take_until(wanted, crn_clock_monotonic() + second))
        return false;
    crn_futex_lock_give(wanted);
    return true;
}

uint64_t crn_lane_cpu_now(const cairn_lane *lane)
{
    uint64_t cpu = 0;
    if (lane->profile->cpu == CAIRN_CPU_OFF || !lane->owner)
        return 0;
    if (lane->owner == crn_thread_self())
        return crn_thread_own_time();
    /* thread_clock is 0 in a child of fork until the lane's first event. */
    clockid_t thread = __atomic_load_n(&lane->thread_clock, __ATOMIC_ACQUIRE);
    return thread && crn_thread_time(thread, &cpu) ? cpu : 0;
}

void crn_threads_lock(void)
{
    crn_futex_lock_take(&lock);
}

void crn_threads_unlock(void)
{
    crn_futex_lock_give(&lock);
}

bool crn_threads_lock_is_obtainable(void)
{
    return crn_lock_is_obtainable(&lock);
}

/* Releases the lock in a child of fork, and forgets the thread's id, which is another in the
 * child. */
void crn_threads_begin_child(void)
{
    crn_this_thread.id = 0;
    crn_futex_lock_give(&lock);
}

void crn_threads_begin_unseen(void)
{
    crn_this_thread.id = 0;
    lock = (crn_futex_lock){0};
}
