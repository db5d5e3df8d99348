/* SPDX-License-Identifier: MIT
 *
 * Measures the cost of a call and its return, and of a sample, so that reports can show it and the
 * sampler can increase its period. Measured on a separate lane that is in no capture, in the
 * profile's mode.
 */
#include <stdio.h>

#include "base/memory.h"
#include "plat/thread.h"
#include "runtime/span.h"

enum { BATCHES = 8, PAIRS = 128 };

static uint64_t time_batch(cairn_strand *strand)
{
    uint64_t before = crn_clock_monotonic();
    for (int i = 0; i < PAIRS; i++) {
        cairn_enter(strand, CAIRN_BLOCK_ROOT);
        cairn_leave(strand);
    }
    return crn_clock_monotonic() - before;
}

static uint64_t time_batch_of_samples(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    uint64_t took = 0;
    for (int i = 0; i < PAIRS; i++) {
        lane->first_pending.clock = lane->disk->stamp + 1;
        __atomic_store_n(&lane->pending.clock, lane->disk->stamp + 1, __ATOMIC_RELEASE);
        crn_strand_arm(strand);
        uint64_t before = crn_clock_monotonic();
        cairn_enter(strand, CAIRN_BLOCK_ROOT);
        took += crn_clock_monotonic() - before;
        cairn_leave(strand);
    }
    return took;
}

/* Returns ns per iteration of the fastest batch. */
static double least_time(cairn_profile *profile, uint64_t (*batch)(cairn_strand *))
{
    crn_disk_lane disk = {0};
    cairn_lane lane = {.profile = profile,
                       .disk = &disk,
                       .owner = crn_thread_self(),
                       .turned = profile->turned,
                       .changes_seen = profile->changes};
    lane.graph = (crn_graph){.grow = crn_graph_grow_memory,
                             .path_limit = profile->path_limit,
                             .context_budget = profile->context_budget,
                             .alias_budget = profile->context_budget};
    if (!crn_graph_open(&lane.graph)) {
        crn_graph_free_memory(&lane.graph);
        return 0;
    }
    cairn_strand *strand = cairn_strand_open(&lane);
    uint64_t least = UINT64_MAX;
    for (int i = 0; strand && i < BATCHES; i++) {
        uint64_t took = batch(strand);
        least = took < least ? took : least;
    }
    cairn_strand *made = strand ? strand : lane.spare; /* spare: opening it failed for lack of a
                                                          stack */
    if (made) {
        crn_free(made->stack);
        crn_strand_spans_free(made);
        crn_free(made);
    }
    crn_graph_free_memory(&lane.graph);
    return strand ? (double)least / PAIRS : 0;
}

void crn_profile_put_costs(cairn_profile *profile, const cairn_options *options)
{
    char cost[32];
    if (options->spans) { /* facts that a replay needs */
        snprintf(cost, sizeof cost, "%u", crn_thread_cores());
        crn_profile_add_note(profile, "cores", cost);
    }
    snprintf(cost, sizeof cost, "%.2f", least_time(profile, time_batch));
    crn_profile_add_note(profile, "call_ns", cost);
    if (options->wall != CAIRN_WALL_SAMPLED && options->cpu == CAIRN_CPU_OFF)
        return;
    profile->sampler.sample_ns = least_time(profile, time_batch_of_samples);
    snprintf(cost, sizeof cost, "%.2f", profile->sampler.sample_ns);
    crn_profile_add_note(profile, "sample_ns", cost);
}
