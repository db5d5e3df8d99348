/* SPDX-License-Identifier: MIT
 *
 * Walks over a lane's spans as events in the order of time. Spans of one strand nest, those of
 * several strands need not. Memory is proportional to the number of open spans.
 */
#include "base/memory.h"
#include "replay/program.h"

uint8_t *crn_walk_bits(const crn_replay *replay)
{
    return crn_calloc(replay->trace->span_count / 8 + (size_t)1, 1);
}

crn_walk crn_walk_lane(const crn_replay *replay, uint32_t lane, uint8_t *over)
{
    return (crn_walk){.replay = replay,
                      .over = over,
                      .next = replay->lane_first[lane],
                      .last = replay->lane_first[lane + 1],
                      .next_point = replay->point_first ? replay->point_first[lane] : 0,
                      .last_point = replay->point_first ? replay->point_first[lane + 1] : 0};
}

void crn_walk_free(crn_walk *walk)
{
    crn_free(walk->nested);
    crn_free(walk->heap);
    crn_free(walk->stack);
    crn_free(walk->free);
}

static bool is_over(const crn_walk *walk, uint32_t span)
{
    return walk->over[span / 8] >> span % 8 & 1;
}

static bool has_begun(const crn_walk *walk, uint32_t span)
{
    return walk->next == walk->last ||
           crn_replay_is_before(walk->replay, span, crn_replay_at(walk->replay, walk->next));
}

/* ---- open spans ---- */

/* Orders ends. Of spans that end together, the last to begin ends first. */
static bool ends_before(const crn_walk *walk, const crn_open *left, const crn_open *right)
{
    if (left->end != right->end)
        return left->end < right->end;
    return crn_replay_is_before(walk->replay, right->span, left->span);
}

static uint32_t take_slot(crn_walk *walk)
{
    return walk->free_count ? walk->free[--walk->free_count] : walk->slot_count++;
}

static void give_slot(crn_walk *walk, uint32_t slot)
{
    CRN_GROW(walk->free, walk->free_count, walk->free_room);
    walk->free[walk->free_count++] = slot;
}

static void heap_add(crn_walk *walk, const crn_open *added)
{
    CRN_GROW(walk->heap, walk->heap_count, walk->heap_room);
    uint32_t at = walk->heap_count++;
    while (at && ends_before(walk, added, &walk->heap[(at - 1) / 2])) {
        walk->heap[at] = walk->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    walk->heap[at] = *added;
}

static crn_open heap_take(crn_walk *walk)
{
    crn_open top = walk->heap[0], last = walk->heap[--walk->heap_count];
    uint64_t at = 0, count = walk->heap_count;
    for (;;) {
        uint64_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && ends_before(walk, &walk->heap[child + 1], &walk->heap[child]))
            child++;
        if (!ends_before(walk, &walk->heap[child], &last))
            break;
        walk->heap[at] = walk->heap[child];
        at = child;
    }
    walk->heap[at] = last;
    return top;
}

/* Returns the span that ends next; NULL without open spans. */
static const crn_open *next_end(const crn_walk *walk)
{
    const crn_open *nested = walk->nested_count ? &walk->nested[walk->nested_count - 1] : NULL;
    if (!walk->heap_count)
        return nested;
    return nested && ends_before(walk, nested, walk->heap) ? nested : walk->heap;
}

static uint32_t push(crn_walk *walk, uint32_t span)
{
    crn_open added = {walk->replay->trace->spans[span].end, span, take_slot(walk)};
    CRN_GROW(walk->stack, walk->stack_count, walk->stack_room);
    walk->stack[walk->stack_count++] = span;
    if (walk->nested_count && !ends_before(walk, &added, &walk->nested[walk->nested_count - 1])) {
        heap_add(walk, &added);
        return added.slot;
    }
    CRN_GROW(walk->nested, walk->nested_count, walk->nested_room);
    walk->nested[walk->nested_count++] = added;
    return added.slot;
}

static crn_open pop(crn_walk *walk, const crn_open *next)
{
    crn_open top = next == walk->heap ? heap_take(walk) : walk->nested[--walk->nested_count];
    walk->over[top.span / 8] |= (uint8_t)(1 << top.span % 8);
    give_slot(walk, top.slot);
    return top;
}

static uint32_t innermost(crn_walk *walk)
{
    while (walk->stack_count && is_over(walk, walk->stack[walk->stack_count - 1]))
        walk->stack_count--;
    return walk->stack_count ? walk->stack[walk->stack_count - 1] : CRN_NONE;
}

/* ---- events ---- */

/* Returns true if a point is the next event. Points come after their span's begin and before its
 * end. */
static bool is_point_next(const crn_walk *walk, uint64_t begin, uint64_t end)
{
    if (walk->next_point == walk->last_point)
        return false;
    const crn_point *point = &walk->replay->points[walk->next_point];
    if (point->time > begin || point->time > end)
        return false;
    return (point->time < begin && point->time < end) || has_begun(walk, point->span);
}

/* Returns true if the parent of `span` is open on its lane. A begin precedes its parent's end. */
static bool begins_inside(const crn_walk *walk, uint32_t span)
{
    const crn_span *its = &walk->replay->trace->spans[span];
    return its->parent != CRN_SPAN_NONE && !its->handed_off &&
           walk->replay->trace->spans[its->parent].lane == its->lane &&
           has_begun(walk, its->parent) && !is_over(walk, its->parent);
}

bool crn_walk_next(crn_walk *walk, crn_event *event)
{
    const crn_replay *replay = walk->replay;
    const crn_open *ends = next_end(walk);
    bool begins = walk->next < walk->last;
    uint32_t next = begins ? crn_replay_at(replay, walk->next) : CRN_NONE;
    uint64_t begin = begins ? replay->trace->spans[next].start : UINT64_MAX;
    uint64_t end = ends ? ends->end : UINT64_MAX;
    event->owner = innermost(walk);
    if (is_point_next(walk, begin, end)) {
        event->kind = CRN_EVENT_POINT;
        event->time = replay->points[walk->next_point].time;
        event->which = walk->next_point++;
        return true;
    }
    if (ends && (end < begin || (end == begin && !(begins && begins_inside(walk, next))))) {
        crn_open over = pop(walk, ends);
        *event = (crn_event){CRN_EVENT_END, over.span, over.slot, event->owner, end};
        return true;
    }
    if (!begins)
        return false;
    walk->next++;
    *event = (crn_event){CRN_EVENT_BEGIN, next, push(walk, next), event->owner, begin};
    return true;
}
