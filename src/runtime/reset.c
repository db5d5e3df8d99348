/* SPDX-License-Identifier: MIT
 *
 * Resets a lane's figures. Only the owner writes a lane. So a reset increments the profile's
 * generation (turn.c), and each lane carries out the reset at its next event. Until then readers
 * treat the lane's figures as 0: all that they see is of one generation.
 */
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

/* Clears the lane's statistics. Call it with the lane's time locked. */
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
        __atomic_store_n(&disk->promises[i].clock, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&lane->promises, false, __ATOMIC_RELAXED);
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

/* ---- columns that libcairn-alloc increments itself ---- */

const uint64_t *cairn_priv_generation(const cairn_profile *profile)
{
    return &profile->generation;
}

const uint64_t *cairn_priv_changes(const cairn_profile *profile)
{
    return &profile->changes;
}

cairn_priv_follower **cairn_priv_lane_follower(cairn_lane *lane)
{
    return &lane->follower;
}

uint64_t cairn_priv_catch_up(cairn_lane *lane)
{
    crn_lane_catch_up(lane);
    return lane->disk->generation;
}
