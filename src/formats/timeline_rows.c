/* SPDX-License-Identifier: MIT */
#include "formats/timeline_rows.h"

#include <stdlib.h>

#include "base/memory.h"

/* ---- order ---- */

static int compare_starts(const void *left, const void *right, void *data)
{
    const crn_span *spans = data;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (spans[a].start != spans[b].start)
        return spans[a].start < spans[b].start ? -1 : 1;
    return (a > b) - (a < b);
}

/* The end of the lane that begins at this place of the order, which becomes one by time. Spans
 * nearly always are in it. */
static uint32_t order_lane(crn_timeline *timeline, uint32_t first)
{
    const crn_span *spans = timeline->trace->spans;
    uint32_t end = first;
    bool in_order = true;
    for (; end < timeline->trace->span_count && spans[end].lane == spans[first].lane; end++) {
        timeline->order[end] = end;
        in_order = in_order && (end == first || spans[end - 1].start <= spans[end].start);
    }
    if (!in_order)
        qsort_r(timeline->order + first, end - first, sizeof *timeline->order, compare_starts,
                timeline->trace->spans);
    return end;
}

/* ---- rows ---- */

enum { ROWS_FIRST = 64 };

/* The lane that rows are being found for. */
typedef struct filling {
    crn_timeline *timeline;
    uint32_t *below;   /* by span: what is open below it on its row */
    uint32_t *top;     /* by row: the innermost span that is open, CRN_SPAN_NONE if none is */
    uint64_t *until;   /* by row: the end of its outermost span */
    uint32_t row_room; /* of the three arrays by row */
    uint32_t first_row;
    uint32_t *idle, idle_count; /* rows of the lane without an open span, the last used on top */
    uint32_t *busy, busy_count; /* the others: a heap, the first to be idle again on top */
} filling;

static void make_room(filling *filling, uint32_t room)
{
    crn_timeline *timeline = filling->timeline;
    timeline->rows = crn_realloc(timeline->rows, room, sizeof *timeline->rows);
    filling->top = crn_realloc(filling->top, room, sizeof *filling->top);
    filling->until = crn_realloc(filling->until, room, sizeof *filling->until);
    filling->idle = crn_realloc(filling->idle, room, sizeof *filling->idle);
    filling->busy = crn_realloc(filling->busy, room, sizeof *filling->busy);
    filling->row_room = room;
}

static uint32_t add_row(filling *filling, uint32_t lane)
{
    crn_timeline *timeline = filling->timeline;
    uint32_t row = timeline->row_count++;
    if (row == filling->row_room)
        make_room(filling, filling->row_room * 2);
    timeline->rows[row] = (crn_row){lane, row - filling->first_row};
    filling->top[row] = CRN_SPAN_NONE;
    return row;
}

static void swap(uint32_t *heap, uint32_t a, uint32_t b)
{
    uint32_t kept = heap[a];
    heap[a] = heap[b];
    heap[b] = kept;
}

static void push_busy(filling *filling, uint32_t row)
{
    uint32_t at = filling->busy_count++;
    filling->busy[at] = row;
    for (; at && filling->until[filling->busy[(at - 1) / 2]] > filling->until[row];
         at = (at - 1) / 2)
        swap(filling->busy, at, (at - 1) / 2);
}

static void pop_busy(filling *filling)
{
    uint32_t *heap = filling->busy, count = --filling->busy_count, at = 0;
    heap[0] = heap[count];
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (filling->until[heap[child]] < filling->until[heap[least]])
                least = child;
        if (least == at)
            return;
        swap(heap, at, least);
        at = least;
    }
}

/* What has ended by then is not open any more. */
static void settle(filling *filling, uint32_t row, uint64_t now)
{
    const crn_span *spans = filling->timeline->trace->spans;
    while (filling->top[row] != CRN_SPAN_NONE && spans[filling->top[row]].end <= now)
        filling->top[row] = filling->below[filling->top[row]];
}

/* Whether the span fits inside of what is open on the row. */
static bool fits(const filling *filling, uint32_t row, uint32_t span)
{
    const crn_span *spans = filling->timeline->trace->spans;
    return filling->top[row] != CRN_SPAN_NONE && spans[filling->top[row]].end >= spans[span].end;
}

/* Below its parent where that is. Work that was asked for from elsewhere goes into what runs
 * here (`last` is the row of the span before); a strand's first span does not: it may be another
 * strand's that pauses. */
static uint32_t choose(filling *filling, uint32_t span, uint32_t last)
{
    const crn_span *spans = filling->timeline->trace->spans, *its = &spans[span];
    bool here = its->parent != CRN_SPAN_NONE && spans[its->parent].lane == its->lane;
    uint32_t row = here              ? filling->timeline->row[its->parent]
                   : its->handed_off ? last
                                     : CRN_SPAN_NONE;
    if (row != CRN_SPAN_NONE) {
        settle(filling, row, its->start);
        if (fits(filling, row, span))
            return row;
    }
    row = filling->idle_count ? filling->idle[--filling->idle_count] : add_row(filling, its->lane);
    filling->until[row] = its->end;
    push_busy(filling, row);
    return row;
}

static void fill_lane(filling *filling, uint32_t first, uint32_t end)
{
    crn_timeline *timeline = filling->timeline;
    uint32_t last = CRN_SPAN_NONE;
    filling->first_row = timeline->row_count;
    filling->idle_count = filling->busy_count = 0;
    for (uint32_t s = first; s < end; s++) /* a parent that begins later has no row yet */
        timeline->row[s] = CRN_SPAN_NONE;
    for (uint32_t i = first; i < end; i++) {
        uint32_t span = timeline->order[i];
        uint64_t now = timeline->trace->spans[span].start;
        while (filling->busy_count && filling->until[filling->busy[0]] <= now) {
            uint32_t row = filling->busy[0];
            pop_busy(filling);
            filling->top[row] = CRN_SPAN_NONE;
            filling->idle[filling->idle_count++] = row;
        }
        last = timeline->row[span] = choose(filling, span, last);
        filling->below[span] = filling->top[last];
        filling->top[last] = span;
    }
}

void crn_timeline_find_rows(crn_timeline *timeline)
{
    uint32_t count = timeline->trace->span_count;
    filling filling = {.timeline = timeline};
    timeline->row = crn_calloc((size_t)count + 1, sizeof *timeline->row);
    timeline->order = crn_calloc((size_t)count + 1, sizeof *timeline->order);
    filling.below = crn_calloc((size_t)count + 1, sizeof *filling.below);
    make_room(&filling, ROWS_FIRST);
    for (uint32_t first = 0, end; first < count; first = end) {
        end = order_lane(timeline, first);
        fill_lane(&filling, first, end);
    }
    crn_free(filling.below);
    crn_free(filling.top);
    crn_free(filling.until);
    crn_free(filling.idle);
    crn_free(filling.busy);
}

/* ---- in the order of time ---- */

typedef struct walk {
    const crn_timeline *timeline;
    crn_timeline_event *end;
    void *data;
    uint32_t *below; /* by span, as while filling */
    uint32_t *top;   /* by row */
} walk;

/* Ends what has ended on the row by `now`. */
static void end_until(walk *walk, uint32_t row, uint64_t now)
{
    const crn_span *spans = walk->timeline->trace->spans;
    uint32_t span = walk->top[row];
    for (; span != CRN_SPAN_NONE && spans[span].end <= now; span = walk->below[span])
        if (!spans[span].open)
            walk->end(walk->data, span);
    walk->top[row] = span;
}

void crn_timeline_walk(const crn_timeline *timeline, crn_timeline_event *begin,
                       crn_timeline_event *end, void *data)
{
    const crn_trace *trace = timeline->trace;
    walk walk = {.timeline = timeline, .end = end, .data = data};
    walk.below = crn_calloc((size_t)trace->span_count + 1, sizeof *walk.below);
    walk.top = crn_calloc((size_t)timeline->row_count + 1, sizeof *walk.top);
    for (uint32_t r = 0; r < timeline->row_count; r++)
        walk.top[r] = CRN_SPAN_NONE;
    for (uint32_t i = 0; i < trace->span_count; i++) {
        uint32_t span = timeline->order[i], row = timeline->row[span];
        end_until(&walk, row, trace->spans[span].start);
        begin(data, span);
        walk.below[span] = walk.top[row];
        walk.top[row] = span;
    }
    for (uint32_t r = 0; r < timeline->row_count; r++)
        end_until(&walk, r, UINT64_MAX);
    crn_free(walk.below);
    crn_free(walk.top);
}

/* ---- how many lanes are busy ---- */

typedef struct change {
    uint64_t time;
    int32_t by;
    uint32_t process;
} change;

static int compare_changes(const void *left, const void *right)
{
    const change *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->time > b->time) - (a->time < b->time);
}

typedef struct changes {
    change *all;
    size_t count, room;
} changes;

static void add_change(changes *changes, uint32_t process, uint64_t time, int32_t by)
{
    if (changes->count == changes->room) {
        changes->room = changes->room ? changes->room * 2 : 1024;
        changes->all = crn_realloc(changes->all, changes->room, sizeof *changes->all);
    }
    changes->all[changes->count++] = (change){time, by, process};
}

/* The union of each lane's spans, as moments at which it begins and ends. What is open goes on. */
static void find_changes(const crn_timeline *timeline, changes *changes)
{
    const crn_span *spans = timeline->trace->spans;
    uint32_t count = timeline->trace->span_count;
    for (uint32_t i = 0; i < count;) {
        const crn_span *span = &spans[timeline->order[i]];
        uint32_t lane = span->lane, process = timeline->process[lane];
        uint64_t end = span->end;
        bool open = span->open;
        add_change(changes, process, span->start, 1);
        for (i++; i < count; i++) {
            span = &spans[timeline->order[i]];
            if (span->lane != lane || (!open && span->start > end))
                break;
            open = open || span->open;
            if (span->end > end)
                end = span->end;
        }
        if (!open)
            add_change(changes, process, end, -1);
    }
}

void crn_timeline_levels(const crn_timeline *timeline, crn_timeline_level *level, void *data)
{
    changes changes = {0};
    find_changes(timeline, &changes);
    if (changes.count)
        qsort(changes.all, changes.count, sizeof *changes.all, compare_changes);
    int64_t now = 0;
    for (size_t i = 0; i < changes.count; i++) {
        const change *at = &changes.all[i];
        now += at->by;
        bool last = i + 1 == changes.count || at[1].process != at->process;
        if (last || at[1].time != at->time)
            level(data, at->process, at->time, (uint32_t)now);
        if (last)
            now = 0;
    }
    crn_free(changes.all);
}
