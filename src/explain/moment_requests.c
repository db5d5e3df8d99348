/* SPDX-License-Identifier: MIT */
#include "explain/moment_requests.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

#define NONE CRN_SPAN_NONE

typedef struct request_builder {
    const crn_spans *spans;
    const crn_span *all;
    const uint32_t *order;
    crn_moment_requests made;
} request_builder;

static void ask(request_builder *request_builder, crn_moment_request request)
{
    crn_moment_requests *made = &request_builder->made;
    CRN_GROW(made->all, made->count, made->room);
    made->all[made->count++] = request;
}

/* Returns when the lane of the span at `place` was last active before it: the end of an earlier
 * span, or the begin of an open one. Used only without recorded hand-off times, so a few steps up
 * suffice. */
static uint64_t lane_before(const request_builder *request_builder, uint32_t place)
{
    enum { STEPS = 64 };
    if (!place)
        return 0;
    const crn_span *all = request_builder->all, *span = &all[request_builder->order[place]];
    uint32_t before = request_builder->order[place - 1];
    if (all[before].lane != span->lane)
        return 0;
    uint64_t last = all[before].start;
    for (int i = 0; i < STEPS && before != NONE; i++) {
        if (all[before].lane != span->lane || all[before].end > span->start)
            break;
        last = last < all[before].end ? all[before].end : last;
        before = all[before].parent;
    }
    return last;
}

/* Estimates unrecorded hand-off times of a parent's children: normally the child's begin. If the
 * child's lane was active since the parent's last known activity, the child may have waited for the
 * lane: the estimate then is this activity of the parent. */
static void estimate_handoffs(const request_builder *request_builder, uint32_t parent,
                              const uint64_t *before, uint64_t *taken)
{
    const crn_spans *spans = request_builder->spans;
    const crn_span *all = request_builder->all;
    uint64_t from = all[parent].start, upto = from, own = from;
    const uint32_t *children;
    uint32_t count = crn_span_children(spans, parent, &children);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t child = children[i];
        uint64_t start = all[child].start;
        if (start > upto)
            from = start;
        uint64_t known = from > own ? from : own;
        if (all[child].lane != all[parent].lane && !taken[child])
            taken[child] = before[child] > known && known < start ? known : start;
        if (all[child].lane == all[parent].lane && all[child].end > own)
            own = all[child].end < start ? start : all[child].end;
        upto = upto < all[child].end ? all[child].end : upto;
    }
}

/* Returns hand-off times by span; 0: not handed off. */
static uint64_t *find_handoffs(const request_builder *request_builder)
{
    const crn_trace *trace = request_builder->spans->trace;
    uint32_t count = trace->span_count;
    uint64_t *taken = crn_calloc(count + (size_t)1, sizeof *taken);
    uint64_t *before = crn_calloc(count + (size_t)1, sizeof *before);
    for (uint32_t h = 0; h < trace->handoff_count; h++)
        if (trace->handoffs[h].span < count)
            taken[trace->handoffs[h].span] = trace->handoffs[h].taken;
    for (uint32_t place = 0; place < count; place++)
        if (request_builder->all[request_builder->order[place]].parent != NONE)
            before[request_builder->order[place]] = lane_before(request_builder, place);
    for (uint32_t s = 0; s < count; s++)
        estimate_handoffs(request_builder, s, before, taken);
    crn_free(before);
    return taken;
}

enum { WAITS = 1, WAITED_FOR = 2 }; /* bits: a wait edge is recorded from the span; to the span */

/* Makes requests from recorded wait edges; sets `follows` from follow edges. */
static void request_waits(request_builder *request_builder, uint8_t *explicitly,
                          const uint64_t *taken)
{
    const crn_trace *trace = request_builder->spans->trace;
    for (uint32_t e = 0; e < trace->edge_count; e++) {
        const crn_span_edge *edge = &trace->edges[e];
        if (edge->from >= trace->span_count || edge->to >= trace->span_count)
            continue;
        const crn_span *other = &request_builder->all[edge->to];
        if (edge->kind == CRN_EDGE_FOLLOWS &&
            other->end > request_builder->made.follows[edge->from])
            request_builder->made.follows[edge->from] = other->end;
        if (edge->kind != CRN_EDGE_WAITS)
            continue;
        explicitly[edge->from] |= WAITS;
        explicitly[edge->to] |= WAITED_FOR;
        bool asked = other->parent == edge->from && taken[edge->to];
        ask(request_builder, (crn_moment_request){.time = other->end,
                                                  .since = asked ? taken[edge->to] : other->start,
                                                  .lane = request_builder->all[edge->from].lane,
                                                  .span = edge->from,
                                                  .other = edge->to,
                                                  .over = edge->at,
                                                  .kind = asked && other->end == taken[edge->to]
                                                              ? CRN_REQUEST_ARRIVES_AT_ONCE
                                                              : CRN_REQUEST_ARRIVES,
                                                  .explicitly = true});
    }
}

/* Makes requests from hand-offs. A span without recorded wait edges is assumed to wait for the
 * spans that it handed off, except those for which another span waits. */
static void request_children(request_builder *request_builder, const uint8_t *explicitly,
                             const uint64_t *taken)
{
    const crn_span *all = request_builder->all;
    for (uint32_t s = 0; s < request_builder->spans->trace->span_count; s++) {
        uint32_t parent = all[s].parent;
        if (parent == NONE || all[parent].lane == all[s].lane)
            continue;
        uint64_t leaves = taken[s] < all[s].start ? taken[s] : all[s].start;
        ask(request_builder, (crn_moment_request){.time = leaves,
                                                  .lane = all[parent].lane,
                                                  .span = parent,
                                                  .other = s,
                                                  .kind = CRN_REQUEST_LEAVES});
        if (!(explicitly[parent] & WAITS) && !(explicitly[s] & WAITED_FOR))
            ask(request_builder,
                (crn_moment_request){.time = all[s].end,
                                     .since = leaves,
                                     .lane = all[parent].lane,
                                     .span = parent,
                                     .other = s,
                                     .kind = all[s].end == leaves ? CRN_REQUEST_ARRIVES_AT_ONCE
                                                                  : CRN_REQUEST_ARRIVES});
    }
}

static int compare_requests(const void *left, const void *right)
{
    const crn_moment_request *a = left, *b = right;
    return CRN_ORDER(a->lane, b->lane)
               ?: CRN_ORDER(a->time, b->time)
               ?: CRN_ORDER(a->kind, b->kind)
               ?: CRN_ORDER(a->span, b->span)
               ?: CRN_ORDER(a->other, b->other);
}

crn_moment_requests crn_moment_requests_make(const crn_spans *spans, const uint32_t *order)
{
    uint32_t count = spans->trace->span_count;
    request_builder request_builder = {.spans = spans, .all = spans->trace->spans, .order = order};
    uint8_t *explicitly = crn_calloc(count + (size_t)1, 1);
    uint64_t *taken = find_handoffs(&request_builder);
    request_builder.made.follows =
        crn_calloc(count + (size_t)1, sizeof *request_builder.made.follows);
    request_waits(&request_builder, explicitly, taken);
    request_children(&request_builder, explicitly, taken);
    if (request_builder.made.count)
        qsort(request_builder.made.all, request_builder.made.count,
              sizeof *request_builder.made.all, compare_requests);
    crn_free(taken);
    crn_free(explicitly);
    return request_builder.made;
}

void crn_moment_requests_free(crn_moment_requests *requests)
{
    crn_free(requests->all);
    crn_free(requests->follows);
    *requests = (crn_moment_requests){0};
}
