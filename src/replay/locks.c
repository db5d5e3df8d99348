/* SPDX-License-Identifier: MIT
 *
 * Locks: spans of a noted block on several lanes exclude each other. A lane waits for the lock
 * before such a span. Simulated lanes get the lock in the order in which they ask.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "replay/program.h"

typedef struct hold {
    uint64_t start, end;
    uint32_t span, lane, block;
} hold;

static int compare_holds(const void *left, const void *right)
{
    const hold *a = left, *b = right;
    return CRN_ORDER(a->block, b->block)
               ?: CRN_ORDER(a->start, b->start)
               ?: CRN_ORDER(a->span, b->span);
}

static int compare_spans(const void *left, const void *right)
{
    const crn_hold *a = left, *b = right;
    return CRN_ORDER(a->span, b->span);
}

static uint32_t collect(const crn_replay *replay, hold *holds)
{
    const crn_trace *trace = replay->trace;
    uint32_t count = 0;
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (replay->rest[crn_replay_block(replay, s)] == CRN_REST_LOCK && !trace->spans[s].open)
            holds[count++] = (hold){trace->spans[s].start, trace->spans[s].end, s,
                                    trace->spans[s].lane, crn_replay_block(replay, s)};
    if (count)
        qsort(holds, count, sizeof *holds, compare_holds);
    return count;
}

/* Adds the spans of one lock. Leaves out spans that a lane begins while it has the lock. If more
 * than PERCENT of the spans overlap, the block is no lock: adds a doubt in place of them. */
static void add_lock(crn_replay *replay, const hold *holds, uint32_t count)
{
    enum { PERCENT = 1 };
    uint32_t first = replay->hold_count, overlaps = 0;
    hold before = {.lane = CRN_NONE};
    for (uint32_t i = 0; i < count; i++) {
        bool overlapped = before.lane != CRN_NONE && holds[i].start < before.end;
        if (overlapped && holds[i].lane == before.lane)
            continue;
        overlaps += overlapped;
        replay->holds[replay->hold_count++] = (crn_hold){holds[i].span, before.end};
        before = holds[i];
    }
    if ((uint64_t)overlaps * 100 <= (uint64_t)count * PERCENT)
        return;
    replay->hold_count = first;
    crn_replay_doubt(replay, CRN_DOUBT_OVERLAPS, holds->block, holds->block, 0);
}

void crn_plan_locks(crn_replay *replay)
{
    hold *holds = crn_calloc(replay->trace->span_count + (size_t)1, sizeof *holds);
    uint32_t count = collect(replay, holds);
    replay->holds = crn_calloc(count + (size_t)1, sizeof *replay->holds);
    for (uint32_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && holds[next].block == holds[first].block; next++)
            ;
        add_lock(replay, holds + first, next - first);
    }
    if (replay->hold_count)
        qsort(replay->holds, replay->hold_count, sizeof *replay->holds, compare_spans);
    crn_free(holds);
}

const crn_hold *crn_replay_hold(const crn_replay *replay, uint32_t span)
{
    crn_hold key = {.span = span};
    return replay->hold_count ? bsearch(&key, replay->holds, replay->hold_count,
                                        sizeof *replay->holds, compare_spans)
                              : NULL;
}
