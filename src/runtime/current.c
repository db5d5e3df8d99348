/* SPDX-License-Identifier: MIT
 *
 * Which strand of a lane and its stand-ins is current. A stand-in is a lane of another profile, for
 * strands that are redirected to that profile (redirect.c).
 */
#include "runtime/exact.h"
#include "runtime/siblings.h"

cairn_strand *crn_strand_innermost(cairn_strand *strand)
{
    while (strand->away)
        strand = strand->away;
    return strand;
}

/* Arms the strand that is no longer current if its limits say that events only charge exact time to
 * it. */
static void stop_charging(cairn_strand *strand)
{
    if (crn_exact_only_charges(strand))
        crn_strand_arm(strand);
}

void crn_lane_run(cairn_lane *lane, cairn_strand *strand)
{
    if (lane->running)
        stop_charging(lane->running);
    __atomic_store_n(&lane->running, strand, __ATOMIC_RELEASE);
    crn_sampler_wake(lane->profile);
}

cairn_strand *crn_redirect_running(cairn_lane *home)
{
    cairn_strand *running = home->silent;
    crn_siblings_lock();
    for (cairn_lane *lane = home; !running && lane;
         lane = lane == home ? home->stand_ins : lane->next_stand_in)
        running = lane->running;
    crn_siblings_unlock();
    return running;
}

bool crn_redirect_someone_runs(cairn_lane *lane)
{
    if (!lane->home && !lane->silent && !__atomic_load_n(&lane->stand_ins, __ATOMIC_RELAXED))
        return lane->running != NULL;
    return crn_redirect_running(crn_lane_home(lane)) != NULL;
}

cairn_lane *crn_redirect_stop(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (strand->paused) {
        crn_lane_home(lane)->silent = NULL;
        return NULL;
    }
    crn_lane_charge_rest(lane);
    stop_charging(strand);
    __atomic_store_n(&lane->running, NULL, __ATOMIC_RELEASE);
    return lane;
}

/* `before` is the lane that had the current strand until now, or NULL. Starts charging `lane` at
 * the moment up to which `before` was charged; now, if `before` is NULL, does not record or has
 * another clock. */
static void begin_time(cairn_lane *lane, const cairn_lane *before)
{
    const cairn_profile *profile = lane->profile, *other = before ? before->profile : NULL;
    bool charged = other && crn_profile_mode(other) != CRN_MODE_OFF;
    crn_lane_listen(lane);
    crn_lane_own(lane);
    crn_lane_begin_time(lane, crn_clock_now(profile->tsc));
    if (charged && other->wall != CAIRN_WALL_OFF && other->tsc == profile->tsc)
        __atomic_store_n(&lane->disk->stamp, before->disk->stamp, __ATOMIC_RELAXED);
    if (charged && other->cpu != CAIRN_CPU_OFF && profile->cpu != CAIRN_CPU_OFF)
        __atomic_store_n(&lane->disk->cpu_stamp, before->disk->cpu_stamp, __ATOMIC_RELAXED);
}

void crn_redirect_start(cairn_strand *strand, const cairn_lane *before)
{
    cairn_lane *lane = crn_lane_of(strand);
    if (strand->paused) {
        crn_lane_home(lane)->silent = strand;
        return;
    }
    begin_time(lane, before);
    crn_lane_run(lane, strand);
    crn_strand_disarm(strand);
}

void crn_redirect_switch(cairn_strand *strand)
{
    cairn_strand *running = crn_redirect_running(crn_lane_home(crn_lane_of(strand)));
    strand = crn_strand_innermost(strand);
    if (running == strand)
        return;
    cairn_lane *before = running ? crn_redirect_stop(running) : NULL;
    crn_redirect_start(strand, before);
}

void crn_redirect_end(cairn_strand *strand)
{
    cairn_lane *home = crn_lane_home(crn_lane_of(strand));
    if (home->silent == strand)
        home->silent = NULL;
    if (strand->origin) { /* the strand's origin records nothing until the redirection ends */
        if (crn_lane_of(strand)->running == strand)
            home->silent = strand->origin;
        strand->origin->away = NULL;
        strand->origin->paused++;
    }
    strand->origin = NULL;
    strand->paused = 0;
}

cairn_lane *crn_redirect_end_lane(cairn_lane *lane)
{
    if (!lane->home && !__atomic_load_n(&lane->stand_ins, __ATOMIC_RELAXED))
        return NULL;
    crn_siblings_lock();
    cairn_lane *stand_ins = lane->stand_ins;
    __atomic_store_n(&lane->stand_ins, NULL, __ATOMIC_RELAXED);
    for (cairn_lane *each = stand_ins; each; each = each->next_stand_in)
        each->home = NULL;
    if (lane->home) {
        cairn_lane **place = &lane->home->stand_ins;
        while (*place && *place != lane)
            place = &(*place)->next_stand_in;
        if (*place)
            __atomic_store_n(place, lane->next_stand_in, __ATOMIC_RELAXED);
        lane->home = NULL;
    }
    crn_siblings_unlock();
    return stand_ins;
}
