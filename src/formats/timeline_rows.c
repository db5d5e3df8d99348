/* SPDX-License-Identifier: MIT */
#include "formats/timeline.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

/* ---- order ---- */

static int compare_starts(const void *left, const void *right, void *data)
{
    const crn_span *spans = data;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return CRN_ORDER(spans[a].start, spans[b].start) ?: CRN_ORDER(a, b);
}

/* Sorts the spans of a lane, which begins at index `first` of `order`, by begin. Returns the lane's
 * end. Spans are nearly always sorted already. */
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

/* State while the rows of a lane are assigned. */
typedef struct row_assignment {
    crn_timeline *timeline;
    uint32_t *below;   /* by span: the open span around it on its row */
    uint32_t *top;     /* by row: the innermost open span, CRN_SPAN_NONE if there is none */
    uint64_t *until;   /* by row: end of its outermost span */
    uint32_t row_room; /* capacity of the arrays by row */
    uint32_t first_row;
    uint32_t *idle, idle_count; /* rows of the lane without an open span, last used on top */
    uint32_t *busy, busy_count; /* the other rows: a heap, the first to become idle on top */
} row_assignment;

static void make_room(row_assignment *row_assignment, uint32_t room)
{
    crn_timeline *timeline = row_assignment->timeline;
    timeline->rows = crn_realloc(timeline->rows, room, sizeof *timeline->rows);
    row_assignment->top = crn_realloc(row_assignment->top, room, sizeof *row_assignment->top);
    row_assignment->until = crn_realloc(row_assignment->until, room, sizeof *row_assignment->until);
    row_assignment->idle = crn_realloc(row_assignment->idle, room, sizeof *row_assignment->idle);
    row_assignment->busy = crn_realloc(row_assignment->busy, room, sizeof *row_assignment->busy);
    row_assignment->row_room = room;
}

static uint32_t add_row(row_assignment *row_assignment, uint32_t lane)
{
    crn_timeline *timeline = row_assignment->timeline;
    uint32_t row = timeline->row_count++;
    if (row == row_assignment->row_room)
        make_room(row_assignment, row_assignment->row_room * 2);
    timeline->rows[row] = (crn_row){lane, row - row_assignment->first_row};
    row_assignment->top[row] = CRN_SPAN_NONE;
    return row;
}

static void swap(uint32_t *heap, uint32_t a, uint32_t b)
{
    uint32_t kept = heap[a];
    heap[a] = heap[b];
    heap[b] = kept;
}

static void push_busy(row_assignment *row_assignment, uint32_t row)
{
    uint32_t at = row_assignment->busy_count++;
    row_assignment->busy[at] = row;
    for (; at &&
           row_assignment->until[row_assignment->busy[(at - 1) / 2]] > row_assignment->until[row];
         at = (at - 1) / 2)
        swap(row_assignment->busy, at, (at - 1) / 2);
}

static void pop_busy(row_assignment *row_assignment)
{
    uint32_t *heap = row_assignment->busy, count = --row_assignment->busy_count, at = 0;
    heap[0] = heap[count];
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (row_assignment->until[heap[child]] < row_assignment->until[heap[least]])
                least = child;
        if (least == at)
            return;
        swap(heap, at, least);
        at = least;
    }
}

/* Closes the spans of a row that have ended by `now`. */
static void close_ended(row_assignment *row_assignment, uint32_t row, uint64_t now)
{
    const crn_span *spans = row_assignment->timeline->trace->spans;
    while (row_assignment->top[row] != CRN_SPAN_NONE && spans[row_assignment->top[row]].end <= now)
        row_assignment->top[row] = row_assignment->below[row_assignment->top[row]];
}

/* Returns true if the span nests in the open spans of the row. */
static bool fits(const row_assignment *row_assignment, uint32_t row, uint32_t span)
{
    const crn_span *spans = row_assignment->timeline->trace->spans;
    return row_assignment->top[row] != CRN_SPAN_NONE &&
           spans[row_assignment->top[row]].end >= spans[span].end;
}

/* Returns a row for the span: its parent's; for work handed off from another lane, `last`, the row
 * of the previous span. If the span does not nest there, and for a strand's first span, returns a
 * row without open spans: an open span may belong to a paused strand. */
static uint32_t choose(row_assignment *row_assignment, uint32_t span, uint32_t last)
{
    const crn_span *spans = row_assignment->timeline->trace->spans, *its = &spans[span];
    bool here = its->parent != CRN_SPAN_NONE && spans[its->parent].lane == its->lane;
    uint32_t row = here              ? row_assignment->timeline->row[its->parent]
                   : its->handed_off ? last
                                     : CRN_SPAN_NONE;
    if (row != CRN_SPAN_NONE) {
        close_ended(row_assignment, row, its->start);
        if (fits(row_assignment, row, span))
            return row;
    }
    row = row_assignment->idle_count ? row_assignment->idle[--row_assignment->idle_count]
                                     : add_row(row_assignment, its->lane);
    row_assignment->until[row] = its->end;
    push_busy(row_assignment, row);
    return row;
}

static void fill_lane(row_assignment *row_assignment, uint32_t first, uint32_t end)
{
    crn_timeline *timeline = row_assignment->timeline;
    uint32_t last = CRN_SPAN_NONE;
    row_assignment->first_row = timeline->row_count;
    row_assignment->idle_count = row_assignment->busy_count = 0;
    for (uint32_t s = first; s < end; s++) /* a parent that begins later has no row yet */
        timeline->row[s] = CRN_SPAN_NONE;
    for (uint32_t i = first; i < end; i++) {
        uint32_t span = timeline->order[i];
        uint64_t now = timeline->trace->spans[span].start;
        while (row_assignment->busy_count &&
               row_assignment->until[row_assignment->busy[0]] <= now) {
            uint32_t row = row_assignment->busy[0];
            pop_busy(row_assignment);
            row_assignment->top[row] = CRN_SPAN_NONE;
            row_assignment->idle[row_assignment->idle_count++] = row;
        }
        last = timeline->row[span] = choose(row_assignment, span, last);
        row_assignment->below[span] = row_assignment->top[last];
        row_assignment->top[last] = span;
    }
}

void crn_timeline_find_rows(crn_timeline *timeline)
{
    uint32_t count = timeline->trace->span_count;
    row_assignment row_assignment = {.timeline = timeline};
    timeline->row = crn_calloc((size_t)count + 1, sizeof *timeline->row);
    timeline->order = crn_calloc((size_t)count + 1, sizeof *timeline->order);
    row_assignment.below = crn_calloc((size_t)count + 1, sizeof *row_assignment.below);
    make_room(&row_assignment, ROWS_FIRST);
    for (uint32_t first = 0, end; first < count; first = end) {
        end = order_lane(timeline, first);
        fill_lane(&row_assignment, first, end);
    }
    crn_free(row_assignment.below);
    crn_free(row_assignment.top);
    crn_free(row_assignment.until);
    crn_free(row_assignment.idle);
    crn_free(row_assignment.busy);
}

/* ---- events in the order of time ---- */

typedef struct walk {
    const crn_timeline *timeline;
    crn_timeline_event *end;
    void *data;
    uint32_t *below; /* by span: the span around it */
    uint32_t *top;   /* by row */
} walk;

/* Reports the ends of the row's spans that have ended by `now`. */
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

/* ---- number of busy lanes ---- */

typedef struct change {
    uint64_t time;
    int32_t by;
    uint32_t process;
} change;

static int compare_changes(const void *left, const void *right)
{
    const change *a = left, *b = right;
    return CRN_ORDER(a->process, b->process) ?: CRN_ORDER(a->time, b->time);
}

typedef struct changes {
    change *all;
    size_t count, room;
} changes;

static void add_change(changes *changes, uint32_t process, uint64_t time, int32_t by)
{
    CRN_GROW(changes->all, changes->count, changes->room);
    changes->all[changes->count++] = (change){time, by, process};
}

/* Finds the begins and ends of the union of each lane's spans. Open spans have no end. */
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
