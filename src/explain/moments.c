/* SPDX-License-Identifier: MIT */
#include "explain/moments.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "explain/moment_requests.h"

#define NONE CRN_SPAN_NONE

/* A link from a moment to the begin of `other`, or from the end of `other` to a moment. */
typedef struct half_link {
    uint32_t moment, other;
    bool to_begin;
    crn_path_via via;
} half_link;

typedef enum state { TO_COME, OPEN, ENDED } state;

typedef struct building {
    const crn_spans *spans;
    const crn_span *all;
    crn_moments made;
    uint32_t room;
    uint64_t *since;  /* by moment, for arrivals: hand-off time of the work */
    uint32_t *order;  /* spans sorted by lane, start and number */
    uint32_t *by_end; /* the spans of the current lane, sorted by end */
    uint32_t by_end_room;
    uint32_t *begins, *last_own;         /* by span: its begin moment; its last moment so far */
    uint32_t *pending;                   /* by span: its first pending request + 1 */
    uint8_t *state;                      /* by span */
    uint32_t *stack, height, stack_room; /* open spans of the current lane */
    crn_moment_requests requests;
    half_link *halves;
    uint32_t half_count, half_room;
} building;

/* ---- moments ---- */

static uint32_t innermost(const building *building)
{
    return building->height ? building->stack[building->height - 1] : NONE;
}

static uint32_t add_moment(building *building, uint64_t time, crn_moment_kind kind)
{
    crn_moments *made = &building->made;
    if (made->count == building->room) {
        building->room = building->room ? building->room * 2 : 1024;
        made->moments = crn_realloc(made->moments, building->room, sizeof *made->moments);
        building->since = crn_realloc(building->since, building->room, sizeof *building->since);
    }
    made->moments[made->count] =
        (crn_moment){.time = time, .span = innermost(building), .kind = (uint8_t)kind};
    building->since[made->count] = UINT64_MAX;
    return made->count++;
}

static void add_half(building *building, uint32_t moment, uint32_t other, bool to_begin,
                     crn_path_via via)
{
    CRN_GROW(building->halves, building->half_count, building->half_room);
    building->halves[building->half_count++] = (half_link){moment, other, to_begin, via};
}

/* Links a span's pending requests to `moment`, at which the span continues. */
static void serve_pending(building *building, uint32_t span, uint32_t moment)
{
    uint64_t time = building->made.moments[moment].time;
    for (uint32_t r = building->pending[span]; r; r = building->requests.all[r - 1].next) {
        const crn_moment_request *request = &building->requests.all[r - 1];
        if (request->explicitly || request->time == time)
            add_half(building, moment, request->other, false, CRN_VIA_WAIT);
    }
    building->pending[span] = 0;
}

static void begin_span(building *building, uint32_t span)
{
    uint64_t start = building->all[span].start;
    uint32_t outer = innermost(building);
    CRN_GROW(building->stack, building->height, building->stack_room);
    building->stack[building->height++] = span;
    building->state[span] = OPEN;
    uint32_t moment = add_moment(building, start, CRN_MOMENT_BEGIN);
    building->begins[span] = building->last_own[span] = moment;
    if (outer != NONE)
        building->last_own[outer] = moment;
    serve_pending(building, span, moment);
}

/* Ends a span. Spans of a lane's different strands can end in any order. */
static void end_span(building *building, uint32_t span)
{
    building->state[span] = ENDED;
    while (building->height && building->state[innermost(building)] == ENDED)
        building->height--;
    uint32_t moment = add_moment(building, building->all[span].end, CRN_MOMENT_END);
    building->made.ends[span] = building->last_own[span] = moment;
    if (innermost(building) != NONE)
        serve_pending(building, innermost(building), moment);
}

/* Makes the moment and the link of a request. If its span is not the innermost one, or waits beyond
 * `next`, the lane's next begin or end, an arrival is left pending until the span continues. */
static void serve(building *building, crn_moment_request *request, uint64_t next)
{
    uint32_t span = request->span;
    bool own = innermost(building) == span;
    if (request->kind == CRN_REQUEST_LEAVES) {
        if (building->state[span] == TO_COME) {
            building->made.ignored++;
            return;
        }
        uint32_t moment = own ? add_moment(building, request->time, CRN_MOMENT_HANDOFF)
                              : building->last_own[span];
        add_half(building, moment, request->other, true, CRN_VIA_HANDOFF);
    } else if (own && request->over <= next) {
        uint32_t moment = add_moment(building, request->time, CRN_MOMENT_ARRIVAL);
        building->since[moment] = request->since;
        add_half(building, moment, request->other, false, CRN_VIA_WAIT);
    } else if (building->state[span] != ENDED) {
        request->next = building->pending[span];
        building->pending[span] = (uint32_t)(request - building->requests.all) + 1;
    }
}

/* Returns true if the lane waits from moment `m` to the next. `since`: earliest hand-off of the
 * work that arrives before the span's next begin or end. */
static bool is_waiting(const building *building, uint32_t m, uint64_t since)
{
    const crn_moment *here = &building->made.moments[m], *next = here + 1;
    if (here->span == NONE)
        return true;
    if (next->kind == CRN_MOMENT_ARRIVAL)
        return true;
    if (next->kind == CRN_MOMENT_HANDOFF)
        return false;
    if (next->kind == CRN_MOMENT_BEGIN) { /* the begin of a job that another lane handed off */
        uint32_t parent = building->all[next->span].parent;
        if (parent != NONE && building->all[parent].lane != building->all[next->span].lane)
            return true;
        if (building->requests.follows[next->span] > here->time)
            return true;
    }
    return since <= here->time;
}

static void find_waiting(building *building, uint32_t first, uint32_t last)
{
    uint64_t since = UINT64_MAX;
    crn_moment *moments = building->made.moments;
    for (uint32_t m = last; m-- > first;) {
        if (m + 1 < last) {
            if (moments[m + 1].kind == CRN_MOMENT_ARRIVAL && building->since[m + 1] < since)
                since = building->since[m + 1];
            if (moments[m + 1].kind == CRN_MOMENT_BEGIN || moments[m + 1].kind == CRN_MOMENT_END)
                since = UINT64_MAX;
            moments[m].waits = is_waiting(building, m, since);
        }
    }
}

/* ---- one lane ---- */

static int compare_starts(const void *left, const void *right, void *spans)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const crn_span *one = (const crn_span *)spans + a, *other = (const crn_span *)spans + b;
    return CRN_ORDER(one->lane, other->lane)
               ?: CRN_ORDER(one->start, other->start)
               ?: CRN_ORDER(a, b);
}

/* Orders spans by end. Of spans that end together, the last to begin ends first. */
static int compare_ends(const void *left, const void *right, void *spans)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const crn_span *one = (const crn_span *)spans + a, *other = (const crn_span *)spans + b;
    return CRN_ORDER(one->end, other->end)
               ?: CRN_ORDER(other->start, one->start)
               ?: CRN_ORDER(b, a);
}

static void order_spans(building *building)
{
    uint32_t count = building->spans->trace->span_count;
    crn_span *all = building->spans->trace->spans;
    bool ordered = true;
    building->order = crn_calloc(count + (size_t)1, sizeof *building->order);
    for (uint32_t s = 0; s < count; s++) {
        building->order[s] = s;
        ordered = ordered && (!s || compare_starts(&(uint32_t){s - 1}, &s, all) < 0);
    }
    if (!ordered)
        qsort_r(building->order, count, sizeof *building->order, compare_starts, all);
}

/* Sorts a lane's spans by end. A stack suffices for nested spans. */
static void order_ends(building *building, const uint32_t *starts, uint32_t count)
{
    const crn_span *all = building->all;
    uint32_t height = 0, ended = 0;
    bool nested = true;
    if (count > building->by_end_room) {
        building->by_end_room = count;
        building->by_end = crn_realloc(building->by_end, count, sizeof *building->by_end);
    }
    uint32_t *stack = crn_calloc(count + (size_t)1, sizeof *stack);
    for (uint32_t i = 0; nested && i < count; i++) {
        const crn_span *span = &all[starts[i]];
        uint64_t upto = span->start + (span->end > span->start); /* a span without duration nests */
        while (height && all[stack[height - 1]].end < upto)
            building->by_end[ended++] = stack[--height];
        nested = !height || span->end <= all[stack[height - 1]].end;
        stack[height++] = starts[i];
    }
    while (height)
        building->by_end[ended++] = stack[--height];
    crn_free(stack);
    if (nested)
        return;
    memcpy(building->by_end, starts, count * sizeof *starts);
    qsort_r(building->by_end, count, sizeof *starts, compare_ends, building->spans->trace->spans);
}

/* Walks a lane's events by time. The order at equal times: arrivals, hand-offs of the innermost
 * span, ends, begins, other hand-offs; but no span ends before it begins. */
static void walk_lane(building *building, const uint32_t *starts, uint32_t count, uint32_t *request)
{
    const crn_span *all = building->all;
    uint32_t begun = 0, ended = 0, first = building->made.count, lane = all[starts[0]].lane;
    building->height = 0;
    order_ends(building, starts, count);
    for (;;) {
        const crn_moment_request *next =
            *request < building->requests.count && building->requests.all[*request].lane == lane
                ? &building->requests.all[*request]
                : NULL;
        uint32_t last = ended < count ? building->by_end[ended] : NONE;
        bool ends = last != NONE && building->state[last] == OPEN;
        uint64_t end = ends ? all[last].end : UINT64_MAX;
        uint64_t begin = begun < count ? all[starts[begun]].start : UINT64_MAX;
        uint64_t own = end < begin ? end : begin;
        if (next &&
            (next->time < own || (next->time == own && (next->kind == CRN_REQUEST_ARRIVES ||
                                                        innermost(building) == next->span))))
            serve(building, &building->requests.all[(*request)++], own);
        else if (ends && end <= begin)
            end_span(building, building->by_end[ended++]);
        else if (begun < count)
            begin_span(building, starts[begun++]);
        else
            break;
    }
    building->made.moments[first].first = true;
    find_waiting(building, first, building->made.count);
}

/* ---- links ---- */

static int compare_links(const void *left, const void *right)
{
    const crn_link_to *a = left, *b = right;
    return CRN_ORDER(a->to, b->to) ?: CRN_ORDER(a->from, b->from) ?: CRN_ORDER(a->via, b->via);
}

static void add_link(building *building, uint32_t from, uint32_t to, crn_path_via via)
{
    crn_moments *made = &building->made;
    if (made->moments[from].time > made->moments[to].time || from == to) {
        made->ignored++;
        return;
    }
    made->links[made->link_count++] = (crn_link_to){from, to, via};
}

static void make_links(building *building)
{
    const crn_trace *trace = building->spans->trace;
    crn_moments *made = &building->made;
    made->links =
        crn_calloc((size_t)building->half_count + trace->edge_count + 1, sizeof *made->links);
    for (uint32_t h = 0; h < building->half_count; h++) {
        const half_link *half = &building->halves[h];
        if (half->to_begin)
            add_link(building, half->moment, building->begins[half->other], half->via);
        else
            add_link(building, made->ends[half->other], half->moment, half->via);
    }
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        const crn_span_edge *edge = &trace->edges[e];
        if (edge->kind == CRN_EDGE_FOLLOWS && edge->from < trace->span_count &&
            edge->to < trace->span_count)
            add_link(building, made->ends[edge->to], building->begins[edge->from], CRN_VIA_FOLLOWS);
    }
    qsort(made->links, made->link_count, sizeof *made->links, compare_links);
    made->first = crn_calloc(made->count + (size_t)2, sizeof *made->first);
    for (uint32_t l = 0; l < made->link_count; l++)
        made->first[made->links[l].to + 1]++;
    for (uint32_t m = 0; m < made->count; m++)
        made->first[m + 1] += made->first[m];
}

crn_moments crn_moments_make(const crn_spans *spans)
{
    uint32_t count = spans->trace->span_count, request = 0;
    building building = {.spans = spans, .all = spans->trace->spans};
    building.begins = crn_calloc(count + (size_t)1, sizeof *building.begins);
    building.last_own = crn_calloc(count + (size_t)1, sizeof *building.last_own);
    building.pending = crn_calloc(count + (size_t)1, sizeof *building.pending);
    building.state = crn_calloc(count + (size_t)1, 1);
    building.made.ends = crn_calloc(count + (size_t)1, sizeof *building.made.ends);
    order_spans(&building);
    building.requests = crn_moment_requests_make(spans, building.order);
    for (uint32_t first = 0, last; first < count; first = last) {
        uint32_t lane = building.all[building.order[first]].lane;
        for (last = first; last < count && building.all[building.order[last]].lane == lane;)
            last++;
        walk_lane(&building, building.order + first, last - first, &request);
    }
    make_links(&building);
    crn_free(building.begins);
    crn_free(building.last_own);
    crn_free(building.pending);
    crn_free(building.state);
    crn_free(building.order);
    crn_free(building.by_end);
    crn_free(building.since);
    crn_free(building.stack);
    crn_moment_requests_free(&building.requests);
    crn_free(building.halves);
    return building.made;
}

void crn_moments_free(crn_moments *moments)
{
    crn_free(moments->moments);
    crn_free(moments->links);
    crn_free(moments->first);
    crn_free(moments->ends);
    *moments = (crn_moments){0};
}
