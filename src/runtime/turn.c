/* SPDX-License-Identifier: MIT
 *
 * Switches recording on and off, and resets figures: announces the change to the profile's lanes.
 */
#include <errno.h>

#include "runtime/span.h"

/* Switches ticks and spans, which do not test the stack limits. Ticks test tick_mode; on lanes that
 * still have the parent's graph, tick_mode sends them to the slow path. Sends spans to their slow
 * path, which reads the profile's mode. */
static void turn_others(cairn_profile *profile)
{
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next) {
        bool waits = profile->child.waiting && profile->child.mode != CRN_MODE_OFF;
        __atomic_store_n(&lane->graph.hot.tick_mode,
                         waits ? CAIRN_PRIV_TICKS_SAMPLED : crn_ticks_mode(profile),
                         __ATOMIC_RELAXED);
        crn_spans_slow(lane);
    }
}

/* Stores the clocks' readings at the switch, for lanes that notice it later. */
static void note_turn(cairn_profile *profile, bool on)
{
    __atomic_store_n(&profile->turned_at[on], crn_clock_now(profile->tsc), __ATOMIC_RELAXED);
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        __atomic_store_n(&lane->turned_cpu[on], crn_lane_cpu_now(lane), __ATOMIC_RELAXED);
}

static void turn(cairn_profile *profile, bool on)
{
    crn_threads_lock();
    crn_profile_lock(profile);
    crn_mode *mode = profile->child.waiting ? &profile->child.mode : &profile->mode;
    bool lost = profile->capture.detached && !profile->child.waiting;
    if ((__atomic_load_n(mode, __ATOMIC_RELAXED) != CRN_MODE_OFF) != on && !lost) {
        note_turn(profile, on);
        __atomic_store_n(mode, on ? profile->mode_on : CRN_MODE_OFF, __ATOMIC_RELEASE);
        __atomic_store_n(&profile->turned, profile->turned + 1, __ATOMIC_RELEASE);
        crn_profile_announce_change(profile);
        turn_others(profile);
        crn_sampler_wake(profile);
    }
    crn_profile_unlock(profile);
    crn_threads_unlock();
}

void cairn_profile_enable(cairn_profile *profile)
{
    if (profile)
        turn(profile, true);
}

void cairn_profile_disable(cairn_profile *profile)
{
    if (profile)
        turn(profile, false);
}

/* Sends exact ticks to the slow path by their mode, because ticks test no stack limit. */
static void ask_ticks(cairn_profile *profile)
{
    if (crn_ticks_mode(profile) != CAIRN_PRIV_TICKS_EXACT)
        return;
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        __atomic_store_n(&lane->graph.hot.tick_mode, CAIRN_PRIV_TICKS_SAMPLED, __ATOMIC_RELAXED);
}

/* Requires the threads' lock and the profile's lock. */
static void begin_generation(cairn_profile *profile)
{
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        __atomic_store_n(&lane->reset_cpu, crn_lane_cpu_now(lane), __ATOMIC_RELAXED);
    __atomic_store_n(&profile->reset_at, crn_clock_now(profile->tsc), __ATOMIC_RELAXED);
    uint64_t generation = profile->generation + 1;
    __atomic_store_n(&profile->capture.header->generation, generation, __ATOMIC_RELEASE);
    __atomic_store_n(&profile->generation, generation, __ATOMIC_RELEASE);
    crn_profile_announce_change(profile);
    ask_ticks(profile);
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        if (!lane->open)
            crn_lane_catch_up(lane);
}

static void catch_up_own(cairn_profile *profile)
{
    cairn_lane *lane = __atomic_load_n(&profile->lanes, __ATOMIC_ACQUIRE);
    for (; lane; lane = lane->next)
        if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) == crn_thread_self())
            crn_lane_listen(lane);
}

void cairn_profile_reset(cairn_profile *profile)
{
    if (!profile)
        return;
    int saved = errno;
    crn_threads_lock();
    crn_profile_lock(profile);
    bool begun = !profile->capture.detached; /* a child without a capture has no figures yet */
    if (begun)
        begin_generation(profile);
    crn_profile_unlock(profile);
    crn_threads_unlock();
    if (begun)
        catch_up_own(profile);
    errno = saved;
}
