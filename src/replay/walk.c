/* SPDX-License-Identifier: MIT
 *
 * A lane's spans as events in the order of time. Spans of one strand nest; those of several
 * strands of a lane need not.
 */
#include "base/memory.h"
#include "replay/program.h"

enum { TO_COME, OPEN, OVER };

crn_walk crn_walk_new(const crn_replay *replay)
{
    uint32_t count = replay->trace->span_count;
    return (crn_walk){.replay = replay,
                      .heap = crn_calloc(count + (size_t)1, sizeof(uint32_t)),
                      .stack = crn_calloc(count + (size_t)1, sizeof(uint32_t)),
                      .state = crn_calloc(count + (size_t)1, 1)};
}

void crn_walk_free(crn_walk *walk)
{
    crn_free(walk->heap);
    crn_free(walk->stack);
    crn_free(walk->state);
}

void crn_walk_lane(crn_walk *walk, uint32_t lane)
{
    const crn_replay *replay = walk->replay;
    walk->next = replay->lane_first[lane];
    walk->last = replay->lane_first[lane + 1];
    walk->next_point = replay->point_first ? replay->point_first[lane] : 0;
    walk->last_point = replay->point_first ? replay->point_first[lane + 1] : 0;
    walk->heap_count = walk->stack_count = 0;
}

/* Of those that end together the one that began last. */
static bool ends_before(const crn_walk *walk, uint32_t left, uint32_t right)
{
    const crn_span *spans = walk->replay->trace->spans;
    if (spans[left].end != spans[right].end)
        return spans[left].end < spans[right].end;
    return spans[left].start != spans[right].start ? spans[left].start > spans[right].start
                                                   : left > right;
}

static void push(crn_walk *walk, uint32_t span)
{
    uint32_t at = walk->heap_count++;
    while (at && ends_before(walk, span, walk->heap[(at - 1) / 2])) {
        walk->heap[at] = walk->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    walk->heap[at] = span;
}

static uint32_t pop(crn_walk *walk)
{
    uint32_t top = walk->heap[0], last = walk->heap[--walk->heap_count];
    uint64_t at = 0, count = walk->heap_count;
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && ends_before(walk, walk->heap[child + 1], walk->heap[child]))
            child++;
        if (!ends_before(walk, walk->heap[child], last))
            break;
        walk->heap[at] = walk->heap[child];
        at = child;
    }
    walk->heap[at] = last;
    return top;
}

static uint32_t innermost(crn_walk *walk)
{
    while (walk->stack_count && walk->state[walk->stack[walk->stack_count - 1]] == OVER)
        walk->stack_count--;
    return walk->stack_count ? walk->stack[walk->stack_count - 1] : CRN_NONE;
}

/* Points lie within their spans: behind the begin, before the end. */
static bool is_point_next(const crn_walk *walk, uint64_t begin, uint64_t end)
{
    if (walk->next_point == walk->last_point)
        return false;
    const crn_point *point = &walk->replay->points[walk->next_point];
    if (point->time > begin || point->time > end)
        return false;
    return (point->time < begin && point->time < end) || walk->state[point->span] != TO_COME;
}

/* What begins in a span that ends at that moment comes first. */
static bool begins_inside(const crn_walk *walk, uint32_t span)
{
    const crn_span *its = &walk->replay->trace->spans[span];
    return its->parent != CRN_SPAN_NONE && !its->handed_off &&
           walk->replay->trace->spans[its->parent].lane == its->lane &&
           walk->state[its->parent] == OPEN;
}

bool crn_walk_next(crn_walk *walk, crn_event *event)
{
    const crn_replay *replay = walk->replay;
    const crn_span *spans = replay->trace->spans;
    bool begins = walk->next<walk->last, ends = walk->heap_count> 0;
    uint64_t begin = begins ? spans[replay->order[walk->next]].start : UINT64_MAX;
    uint64_t end = ends ? spans[walk->heap[0]].end : UINT64_MAX;
    event->owner = innermost(walk);
    if (is_point_next(walk, begin, end)) {
        event->kind = CRN_EVENT_POINT;
        event->time = replay->points[walk->next_point].time;
        event->which = walk->next_point++;
        return true;
    }
    if (ends && (end < begin ||
                 (end == begin && !(begins && begins_inside(walk, replay->order[walk->next]))))) {
        event->kind = CRN_EVENT_END;
        event->time = end;
        event->which = pop(walk);
        walk->state[event->which] = OVER;
        return true;
    }
    if (!begins)
        return false;
    event->kind = CRN_EVENT_BEGIN;
    event->time = begin;
    event->which = replay->order[walk->next++];
    walk->state[event->which] = OPEN;
    walk->stack[walk->stack_count++] = event->which;
    push(walk, event->which);
    return true;
}
