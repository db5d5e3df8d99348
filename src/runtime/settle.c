/* SPDX-License-Identifier: MIT
 *
 * Handles what is pending on a lane: requested samples, promises, exact time.
 */
#include "runtime/runtime.h"

/* Stores a word that other threads or processes read. */
#define PUT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)

/* Returns what a sample adds to the variance, in µs² (docs/SAMPLING.md): the square of the time
 * from the last sample to the first request after it. Only in that time could the context
 * change. */
static uint64_t square(double ns)
{
    return (uint64_t)(ns * ns * 1e-6 + 0.5);
}

static void count_sample(cairn_lane *lane, uint64_t clock, uint64_t cpu)
{
    crn_disk_lane *disk = lane->disk;
    /* Atomic, because the sampler may already be writing the next request. */
    crn_sample_time first = {.clock = __atomic_load_n(&lane->first_pending.clock, __ATOMIC_RELAXED),
                             .cpu = __atomic_load_n(&lane->first_pending.cpu, __ATOMIC_RELAXED)};
    uint64_t until = first.clock < clock ? first.clock : clock;
    if (clock > disk->stamp) {
        double gap = until > disk->stamp ? (double)(until - disk->stamp) : 0;
        if (lane->profile->wall == CAIRN_WALL_SAMPLED)
            PUT(disk->wall_squares, disk->wall_squares + square(gap / lane->profile->clock_per_ns));
        PUT(disk->samples, disk->samples + 1);
    }
    if (cpu > disk->cpu_stamp) {
        uint64_t cpu_until = first.cpu > disk->cpu_stamp && first.cpu < cpu ? first.cpu : cpu;
        PUT(disk->cpu_squares, disk->cpu_squares + square((double)(cpu_until - disk->cpu_stamp)));
        PUT(disk->cpu_samples, disk->cpu_samples + 1);
    }
}

__attribute__((noinline)) static void settle_pending(cairn_lane *lane, crn_mode mode)
{
    if (__atomic_load_n(&lane->owner, __ATOMIC_RELAXED) != crn_thread_self()) {
        crn_lane_own(lane);
        return;
    }
    if (!crn_lane_try_lock(lane))
        return;
    uint64_t clock = __atomic_exchange_n(&lane->pending.clock, 0, __ATOMIC_ACQUIRE);
    uint64_t cpu = __atomic_load_n(&lane->pending.cpu, __ATOMIC_RELAXED);
    if (clock) {
        crn_sampler_catch_up(lane, true, &clock, &cpu);
        count_sample(lane, clock, cpu);
    }
    if (mode == CRN_MODE_EXACT)
        clock = crn_clock_now(lane->profile->tsc);
    crn_lane_settle_until(lane, clock, cpu);
    crn_lane_unlock(lane);
}

/* Charges the current context with exact time up to `now`; drops the time if no strand runs. */
static void charge_running(cairn_lane *lane, uint64_t now)
{
    if (lane->running) {
        crn_lane_charge_exact(lane, crn_strand_record(lane->running), now);
    } else if (now > lane->disk->stamp) {
        PUT(lane->disk->stamp, now);
        PUT(lane->disk->current, 0);
    }
}

void crn_lane_settle(cairn_lane *lane)
{
    crn_lane_listen(lane);
    if (__builtin_expect(!__atomic_load_n(&lane->owner, __ATOMIC_RELAXED), 0))
        crn_lane_own(lane);
    crn_mode mode = crn_profile_mode(lane->profile);
    if (mode == CRN_MODE_OFF)
        return;
    bool pending = __atomic_load_n(&lane->pending.clock, __ATOMIC_RELAXED) ||
                   __atomic_load_n(&lane->promises, __ATOMIC_RELAXED);
    if (__builtin_expect(pending, 0))
        settle_pending(lane, mode);
    else if (mode == CRN_MODE_EXACT)
        charge_running(lane, crn_clock_now(lane->profile->tsc));
}
