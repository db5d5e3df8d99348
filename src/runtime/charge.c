/* SPDX-License-Identifier: MIT
 *
 * Charges time to contexts. The thread that owns a lane charges the lane's time.
 *
 * While the owner has no events, the sampler writes a *promise* to the file (sampler.c): which
 * context will be charged, and up to when. Readers of a live file add promised time to charged
 * time. They miss no time and count none twice, because
 * - `settled` is odd while the owner charges time and clears promises: readers that see it odd, or
 *   changed, read again;
 * - the owner charges promised time to the promise's context, whatever ran afterwards.
 *
 * The sampler and the owner change promises only under the lane's lock (crn_lane_lock). If the
 * owner holds the lock, the sampler skips the lane in this round. If the sampler holds it, the
 * owner takes the requested sample at its next event.
 */
#include <sched.h>
#include <unistd.h>

#include "plat/thread.h"
#include "runtime/runtime.h"
#include "runtime/sample_moments.h"

/* Stores a word that other threads or processes read. */
#define PUT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

/* ---- the lock ---- */

bool crn_lane_try_lock(cairn_lane *lane)
{
    return !__atomic_exchange_n(&lane->locked, true, __ATOMIC_ACQUIRE);
}

void crn_lane_unlock(cairn_lane *lane)
{
    __atomic_store_n(&lane->locked, false, __ATOMIC_RELEASE);
}

void crn_lane_lock(cairn_lane *lane)
{
    while (!crn_lane_try_lock(lane))
        sched_yield();
}

/* ---- charging ---- */

static void add_wall(cairn_lane *lane, uint32_t record, uint64_t amount)
{
    CAIRN_PRIV_ADD(lane->graph.links[record].wall, amount);
}

/* Charges `record` with the ready time that the sampler has seen since the last call. Drops the
 * time if `record` is 0. */
static void charge_ready(cairn_lane *lane, uint32_t record)
{
    uint64_t ready = __atomic_load_n(&lane->ready, __ATOMIC_RELAXED);
    if (ready == lane->ready_charged)
        return;
    cairn_metric metric = __atomic_load_n(&lane->profile->ready, __ATOMIC_ACQUIRE);
    if (record && metric)
        crn_lane_charge(lane, record, metric, ready - lane->ready_charged);
    lane->ready_charged = ready;
}

/* Charges `record` with wall time up to `clock` and CPU time up to `cpu`, if these have advanced.
 * Drops the time if `record` is 0.
 */
static void charge_until(cairn_lane *lane, uint32_t record, uint64_t clock, uint64_t cpu)
{
    crn_disk_lane *disk = lane->disk;
    if (clock > disk->stamp) {
        if (record && lane->profile->wall != CAIRN_WALL_OFF)
            add_wall(lane, record, clock - disk->stamp);
        PUT(disk->stamp, clock);
    }
    if (cpu > disk->cpu_stamp) {
        if (record)
            crn_lane_charge(lane, record, CAIRN_METRIC_CPU, cpu - disk->cpu_stamp);
        PUT(disk->cpu_stamp, cpu);
    }
}

/* Charges the promised time, and clears the promises. */
static void keep_promises(cairn_lane *lane)
{
    for (int i = 0; i < 2; i++) {
        crn_disk_promise *promise = &lane->disk->promises[i];
        if (promise->clock)
            charge_until(lane, (uint32_t)promise->record, promise->clock, promise->cpu);
        PUT(promise->clock, 0);
    }
    PUT(lane->promises, false);
}

void crn_lane_charge_promises(cairn_lane *lane)
{
    crn_disk_lane *disk = lane->disk;
    if (!lane->promises)
        return;
    __atomic_exchange_n(&disk->settled, disk->settled + 1, __ATOMIC_ACQ_REL);
    keep_promises(lane);
    __atomic_store_n(&disk->settled, disk->settled + 1, __ATOMIC_RELEASE);
}

void crn_lane_settle_until(cairn_lane *lane, uint64_t clock, uint64_t cpu)
{
    cairn_strand *running = lane->running;
    crn_disk_lane *disk = lane->disk;
    const cairn_profile *profile = lane->profile;
    /* Without a clock nothing is charged, so the context of a stack of blocks need not be looked
     * up. */
    bool timed = profile->wall != CAIRN_WALL_OFF || profile->cpu != CAIRN_CPU_OFF;
    uint32_t record = running && timed ? crn_strand_record(running) : 0;
    __atomic_exchange_n(&disk->settled, disk->settled + 1, __ATOMIC_ACQ_REL);
    if (lane->promises)
        keep_promises(lane);
    charge_until(lane, record, clock, cpu);
    charge_ready(lane, record);
    PUT(disk->current, record);
    __atomic_store_n(&disk->settled, disk->settled + 1, __ATOMIC_RELEASE);
}

void crn_lane_charge_now(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    if (crn_profile_mode(profile) == CRN_MODE_OFF ||
        (profile->wall == CAIRN_WALL_OFF && profile->cpu == CAIRN_CPU_OFF))
        return;
    crn_lane_lock(lane);
    uint64_t cpu = crn_lane_cpu_now(lane);
    __atomic_store_n(&lane->pending.clock, 0, __ATOMIC_RELAXED);
    crn_lane_settle_until(lane, crn_clock_now(profile->tsc), cpu);
    crn_lane_unlock(lane);
}

/* Charges time up to the last request for a sample. The request holds the CPU time of the previous
 * owner. */
void crn_lane_settle_moved(cairn_lane *lane)
{
    crn_lane_lock(lane);
    uint64_t clock = __atomic_exchange_n(&lane->pending.clock, 0, __ATOMIC_ACQUIRE);
    uint64_t cpu = __atomic_load_n(&lane->pending.cpu, __ATOMIC_RELAXED);
    if (clock)
        crn_sampler_catch_up(lane, false, &clock, &cpu);
    crn_lane_settle_until(lane, clock, cpu);
    crn_lane_unlock(lane);
}

/* Charges time up to the moment when recording was switched off, and drops the time from then to
 * the moment when it was last switched on. If the owner's CPU time at the second moment is unknown,
 * drops its CPU time up to now. */
void crn_lane_settle_turn(cairn_lane *lane)
{
    cairn_profile *profile = lane->profile;
    uint64_t turned = __atomic_load_n(&profile->turned, __ATOMIC_ACQUIRE);
    if (turned == lane->turned)
        return;
    crn_lane_lock(lane);
    bool was_on = lane->turned % 2 == 0;
    if (was_on && lane->owner) /* time without an owner is not charged */
        crn_lane_settle_until(lane, __atomic_load_n(&profile->turned_at[0], __ATOMIC_RELAXED),
                              __atomic_load_n(&lane->turned_cpu[0], __ATOMIC_RELAXED));
    uint64_t clock = __atomic_load_n(&profile->turned_at[1], __ATOMIC_RELAXED);
    if (clock > lane->disk->stamp) /* a thread may have taken the lane after that moment */
        PUT(lane->disk->stamp, clock);
    uint64_t cpu = __atomic_load_n(&lane->turned_cpu[1], __ATOMIC_RELAXED);
    if (!cpu)
        cpu = crn_lane_cpu_now(lane);
    if (cpu > lane->disk->cpu_stamp)
        PUT(lane->disk->cpu_stamp, cpu);
    __atomic_store_n(&lane->turned, turned, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->pending.clock, 0, __ATOMIC_RELAXED);
    crn_lane_unlock(lane);
    if (turned % 2 == 0)
        crn_sampler_wake(profile);
}

/* ---- beginning ---- */

/* Tells readers of the file which thread the lane describes from now on. `first`: also for its time
 * until now. */
static void show_thread(cairn_lane *lane, uint32_t thread, bool first)
{
    if (first)
        __atomic_store_n(&lane->disk->thread, thread, __ATOMIC_RELAXED);
    else if (lane->shown_thread != thread)
        crn_sample_moments_change(lane, crn_clock_monotonic(), thread);
    lane->shown_thread = thread;
}

void cairn_lane_set_thread(cairn_lane *lane, int32_t thread)
{
    if (!lane)
        return;
    show_thread(lane, (uint32_t)thread, !lane->thread_set);
    lane->thread_set = true;
}

void crn_lane_begin_time(cairn_lane *lane, uint64_t clock)
{
    if (!crn_this_thread.id)
        crn_this_thread.id = gettid();
    if (lane->forked) /* the graph is still the parent's, so the sampler must not look at the
                         lane */
        return;
    uint64_t cpu = lane->profile->cpu != CAIRN_CPU_OFF ? crn_thread_own_time() : 0;
    crn_lane_lock(lane);
    /* The sampler may have made promises since the last owner released the lane. */
    crn_lane_charge_promises(lane);
    __atomic_store_n(&lane->pending.clock, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->pending.cpu, 0, __ATOMIC_RELAXED);
    if (clock > lane->disk->stamp)
        __atomic_store_n(&lane->disk->stamp, clock, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->disk->cpu_stamp, cpu, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->thread_id, crn_this_thread.id, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->thread_clock, crn_thread_clock(crn_this_thread.id), __ATOMIC_RELEASE);
    crn_lane_unlock(lane);
    if (!lane->thread_set)
        show_thread(lane, (uint32_t)crn_this_thread.id, !lane->shown_thread);
    crn_sampler_wake(lane->profile);
    crn_helper_wake(&lane->profile->off_core);
}

void crn_lane_begin_child(cairn_lane *lane, uint64_t clock)
{
    lane->shown_thread = 0; /* it is a thread of the parent */
    crn_lane_begin_time(lane, clock);
    __atomic_store_n(&lane->disk->cpu_stamp, 0, __ATOMIC_RELAXED);
    if (lane->owner)
        crn_timer_start(lane);
}
