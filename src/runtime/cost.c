/* SPDX-License-Identifier: MIT
 *
 * What profiling costs, so that the report can say it: a call and its return, measured on
 * a lane of its own that is in no capture, in the mode that the profile is in.
 */
#include <stdio.h>

#include "base/memory.h"
#include "runtime/runtime.h"

enum { BATCHES = 8, PAIRS = 128 };

static uint64_t time_batch(cairn_strand *strand)
{
    uint64_t before = crn_clock_monotonic();
    for (int i = 0; i < PAIRS; i++) {
        cairn_enter(strand, 1);
        cairn_leave(strand);
    }
    return crn_clock_monotonic() - before;
}

double crn_cost_of_call(cairn_profile *profile)
{
    crn_disk_lane disk = {0};
    cairn_lane lane = {.profile = profile, .disk = &disk, .turned = profile->turned};
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
        uint64_t took = time_batch(strand);
        least = took < least ? took : least;
    }
    cairn_strand *made = strand ? strand : lane.spare; /* spare: it got no stack */
    if (made) {
        crn_free(made->stack);
        crn_free(made);
    }
    crn_graph_free_memory(&lane.graph);
    return strand ? (double)least / PAIRS : 0;
}
