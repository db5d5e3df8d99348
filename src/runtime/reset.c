/* SPDX-License-Identifier: MIT
 *
 * Resets all figures. A lane is written by its owner alone, so the profile's generation is
 * incremented and each lane follows at its next event. Until then readers treat its figures as 0:
 * whatever they see is of one generation.
 */
#include <errno.h>
#include <string.h>

#include <cairn/alloc.h>

#include "runtime/span.h"

static void clear_records(cairn_lane *lane)
{
    for (uint32_t r = CRN_RECORD_ROOT; r < lane->graph.used; r++) {
        CAIRN_PRIV_PUT(crn_graph_record(&lane->graph, r)->calls, 0);
        CAIRN_PRIV_PUT(crn_graph_record(&lane->graph, r)->ticks, 0);
        CAIRN_PRIV_PUT(lane->graph.links[r].wall, 0);
    }
    for (int m = 0; m < (int)CAIRN_METRIC_MAX; m++)
        if (lane->columns[m])
            memset(lane->columns[m]->base, 0, lane->columns[m]->mapped);
    if (lane->histograms)
        crn_histograms_clear(lane->histograms);
    crn_counted_clear(lane->counted);
}

/* Call it with the lane's time locked. */
static void clear_statistics(cairn_lane *lane)
{
    crn_disk_lane *disk = lane->disk;
    uint64_t strands = 0;
    for (cairn_strand *strand = lane->strands; strand; strand = strand->next)
        strands++;
    disk->strands = strands;
    CAIRN_PRIV_PUT(crn_graph_record(&lane->graph, CRN_RECORD_ROOT)->calls, strands);
    disk->misuses = disk->dropped = disk->tick_samples = 0;
    __atomic_store_n(&disk->samples, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&disk->cpu_samples, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&disk->wall_squares, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&disk->cpu_squares, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        __atomic_store_n(&disk->waits[i].clock, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->waits, false, __ATOMIC_RELAXED);
}

static void begin_time(cairn_lane *lane)
{
    crn_disk_lane *disk = lane->disk;
    uint64_t clock = __atomic_load_n(&lane->profile->reset_at, __ATOMIC_RELAXED);
    uint64_t cpu = __atomic_load_n(&lane->reset_cpu, __ATOMIC_RELAXED);
    if (clock > disk->stamp)
        __atomic_store_n(&disk->stamp, clock, __ATOMIC_RELAXED);
    if (cpu > disk->cpu_stamp)
        __atomic_store_n(&disk->cpu_stamp, cpu, __ATOMIC_RELAXED);
}

void crn_lane_catch_up(cairn_lane *lane)
{
    uint64_t generation = __atomic_load_n(&lane->profile->generation, __ATOMIC_ACQUIRE);
    if (lane->disk->generation == generation || lane->forked)
        return;
    crn_lane_lock(lane);
    clear_records(lane);
    clear_statistics(lane);
    begin_time(lane);
    crn_ticks_begin(lane);
    __atomic_store_n(&lane->disk->generation, generation, __ATOMIC_RELEASE);
    crn_lane_unlock(lane);
}

/* Exact ticks have no limit that could be lowered. */
static void ask_ticks(cairn_profile *profile)
{
    if (crn_ticks_mode(profile) != CAIRN_PRIV_TICKS_EXACT)
        return;
    for (cairn_lane *lane = profile->lanes; lane; lane = lane->next)
        __atomic_store_n(&lane->graph.hot.tick_mode, CAIRN_PRIV_TICKS_SAMPLED, __ATOMIC_RELAXED);
}

/* Under the locks of threads and of the profile. */
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

/* ---- for libcairn-alloc, which increments columns directly ---- */

const uint64_t *cairn_priv_generation(const cairn_profile *profile)
{
    return &profile->generation;
}

uint64_t cairn_priv_catch_up(cairn_lane *lane)
{
    crn_lane_catch_up(lane);
    return lane->disk->generation;
}
