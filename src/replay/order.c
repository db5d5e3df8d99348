/* SPDX-License-Identifier: MIT
 *
 * The order in which spans are processed: by lane and begin.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

typedef struct place {
    uint64_t start;
    uint32_t lane, span;
} place;

static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    return CRN_ORDER(a->lane, b->lane)
               ?: CRN_ORDER(a->start, b->start)
               ?: CRN_ORDER(a->span, b->span);
}

/* Returns true if the spans are already sorted. */
static bool are_in_order(const crn_trace *trace)
{
    for (uint32_t s = 1; s < trace->span_count; s++) {
        const crn_span *before = &trace->spans[s - 1], *now = &trace->spans[s];
        if (before->lane > now->lane || (before->lane == now->lane && before->start > now->start))
            return false;
    }
    return true;
}

static void sort(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    place *places = crn_calloc(trace->span_count, sizeof *places);
    replay->order = crn_calloc(trace->span_count, sizeof *replay->order);
    for (uint32_t s = 0; s < trace->span_count; s++)
        places[s] = (place){trace->spans[s].start, trace->spans[s].lane, s};
    qsort(places, trace->span_count, sizeof *places, compare_places);
    for (uint32_t s = 0; s < trace->span_count; s++)
        replay->order[s] = places[s].span;
    crn_free(places);
}

void crn_plan_order(crn_replay *replay)
{
    const crn_trace *trace = replay->trace;
    replay->lane_first = crn_calloc(trace->lane_count + (size_t)2, sizeof(uint32_t));
    if (!are_in_order(trace))
        sort(replay);
    for (uint32_t s = 0; s < trace->span_count; s++)
        replay->lane_first[trace->spans[s].lane + 1]++;
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        replay->lane_first[lane + 1] += replay->lane_first[lane];
    replay->origin = trace->span_count ? UINT64_MAX : 0;
    for (uint32_t s = 0; s < trace->span_count; s++) {
        if (trace->spans[s].start < replay->origin)
            replay->origin = trace->spans[s].start;
        if (trace->spans[s].end > replay->last)
            replay->last = trace->spans[s].end;
    }
}
