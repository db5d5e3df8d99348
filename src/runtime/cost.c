/* SPDX-License-Identifier: MIT
 *
 * Measures the cost of a call with its return, and of a sample, so that reports can show both costs
 * and the sampler can increase its period. Measures in the profile's mode, on a separate lane that
 * is in no capture.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/memory.h"
#include "runtime/span.h"

/* As few as give the same least times: a short process measures, too. A sample takes as long as
 * some 50 calls, and each needs two readings of the clock. */
enum {
    BATCHES = 8,
    PAIRS = 128, /* calls with their returns in a batch */
    SAMPLES = 4  /* samples in a batch */
};

static uint64_t time_batch(cairn_strand *strand)
{
    uint64_t before = crn_clock_monotonic();
    for (int i = 0; i < PAIRS; i++) {
        cairn_enter(strand, CAIRN_BLOCK_ROOT);
        cairn_leave(strand);
    }
    return crn_clock_monotonic() - before;
}

/* Returns the ns of a batch of enters that take a sample each. The request for a sample is newer
 * than `stamp`, the moment up to which the lane is charged. */
static uint64_t time_batch_of_samples(cairn_strand *strand)
{
    cairn_lane *lane = crn_lane_of(strand);
    uint64_t took = 0;
    for (int i = 0; i < SAMPLES; i++) {
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

/* Returns the ns of one iteration in the fastest batch; 0 if `strand` is NULL. A batch has `count`
 * iterations. */
static double least_time(cairn_strand *strand, uint64_t (*batch)(cairn_strand *), int count)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; strand && i < BATCHES; i++) {
        uint64_t took = batch(strand);
        least = took < least ? took : least;
    }
    return strand ? (double)least / count : 0;
}

/* Notes hundredths of ns. Formats them as integers: the C library's code for a double touches three
 * pages more. */
static void note_cost(cairn_profile *profile, const char *key, double ns)
{
    char text[32];
    uint64_t hundredths = (uint64_t)(ns * 100 + 0.5);
    snprintf(text, sizeof text, "%" PRIu64 ".%02u", hundredths / 100, (unsigned)(hundredths % 100));
    crn_profile_add_note(profile, key, text);
}

/* Measures the costs on the strand and adds them as notes: 0 if `strand` is NULL. Measures a sample
 * only if time is sampled. */
static void measure(cairn_profile *profile, cairn_strand *strand)
{
    note_cost(profile, "call_ns", least_time(strand, time_batch, PAIRS));
    if (profile->wall != CAIRN_WALL_SAMPLED && profile->cpu == CAIRN_CPU_OFF)
        return;
    profile->sampler.sample_ns = least_time(strand, time_batch_of_samples, SAMPLES);
    note_cost(profile, "sample_ns", profile->sampler.sample_ns);
}

void crn_profile_put_costs(cairn_profile *profile)
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
    cairn_strand *strand = crn_graph_open(&lane.graph) ? cairn_strand_open(&lane) : NULL;
    measure(profile, strand);
    /* A strand for whose stack there was no memory is in `spare`. */
    cairn_strand *made = strand ? strand : lane.spare;
    if (made) {
        crn_free(made->stack);
        crn_strand_spans_free(made);
        crn_free(made);
    }
    crn_graph_free_memory(&lane.graph);
}
