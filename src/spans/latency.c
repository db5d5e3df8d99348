/* SPDX-License-Identifier: MIT */
#include "spans/latency.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

/* States in search.input, besides span numbers. */
#define UNKNOWN ((uint32_t)UINT32_MAX - 1)
#define VISITED ((uint32_t)UINT32_MAX - 2) /* on the stack: an edge to it closes a cycle */

typedef struct search {
    const crn_trace *trace;
    const uint8_t *from;
    uint32_t *edges;  /* by span: its first edge; one entry more */
    uint32_t *input;  /* by span: its newest input, CRN_SPAN_NONE if it has none, or a state */
    uint32_t *before; /* by span */
    struct visit {
        uint32_t span, next; /* next: 0 for the parent, then 1 + index of its edge */
    } * stack;
    uint32_t depth, room;
} search;

static uint32_t *index_edges(const crn_trace *trace)
{
    uint32_t *first = crn_calloc(trace->span_count + (size_t)1, sizeof *first), at = 0;
    for (uint32_t s = 0; s <= trace->span_count; s++) {
        while (at < trace->edge_count && trace->edges[at].from < s)
            at++;
        first[s] = at;
    }
    return first;
}

static void push(search *search, uint32_t span)
{
    if (search->depth == search->room) {
        search->room = search->room ? 2 * search->room : 64;
        search->stack = crn_realloc(search->stack, search->room, sizeof *search->stack);
    }
    search->stack[search->depth++] = (struct visit){span, 0};
    search->input[span] = VISITED;
}

/* Returns the next span that leads to the visited one, CRN_SPAN_NONE at the end. */
static uint32_t next_before(search *search, struct visit *visit)
{
    const crn_trace *trace = search->trace;
    if (visit->next == 0) {
        visit->next = 1;
        if (trace->spans[visit->span].parent < trace->span_count)
            return trace->spans[visit->span].parent;
    }
    uint32_t last = search->edges[visit->span + 1];
    for (uint32_t edge; (edge = search->edges[visit->span] + visit->next - 1) < last;) {
        visit->next++;
        if (trace->edges[edge].kind == CRN_EDGE_FOLLOWS &&
            trace->edges[edge].to < trace->span_count)
            return trace->edges[edge].to;
    }
    return CRN_SPAN_NONE;
}

static bool is_newer(const crn_trace *trace, uint32_t input, uint32_t than)
{
    if (than == CRN_SPAN_NONE)
        return true;
    uint64_t start = trace->spans[input].start, other = trace->spans[than].start;
    return start != other ? start > other : input < than;
}

typedef struct found {
    uint32_t input, before;
} found;

/* Offers the input of `before` to `best`. Returns true if `before` must be searched first. */
static bool step(search *search, uint32_t before, found *best)
{
    if (search->from[before]) {
        if (is_newer(search->trace, before, best->input))
            *best = (found){before, before};
        return false;
    }
    uint32_t input = search->input[before];
    if (input == UNKNOWN)
        return true;
    if (input != VISITED && input != CRN_SPAN_NONE && is_newer(search->trace, input, best->input))
        *best = (found){input, before};
    return false;
}

/* Finds the newest input that leads to a span: first searches the spans that lead to the span, then
 * takes the newest of their inputs. */
static void find(search *search, uint32_t span)
{
    push(search, span);
    while (search->depth) {
        struct visit *top = &search->stack[search->depth - 1];
        found best = {CRN_SPAN_NONE, CRN_SPAN_NONE}, unused = best;
        uint32_t before = next_before(search, top), at = top->span;
        if (before != CRN_SPAN_NONE) {
            if (step(search, before, &unused))
                push(search, before);
            continue;
        }
        struct visit again = {at, 0};
        while ((before = next_before(search, &again)) != CRN_SPAN_NONE)
            step(search, before, &best);
        search->input[at] = best.input;
        search->before[at] = best.before;
        search->depth--;
    }
}

/* ---- rows ---- */

static uint64_t since(uint64_t earlier, uint64_t later)
{
    return later > earlier ? later - earlier : 0;
}

static int compare_ends(const void *left, const void *right, void *data)
{
    const crn_trace *trace = data;
    const crn_latency_row *a = left, *b = right;
    uint64_t one = trace->spans[a->to].end, other = trace->spans[b->to].end;
    return CRN_ORDER(one, other) ?: CRN_ORDER(a->to, b->to);
}

static crn_latency_row row_of(const crn_trace *trace, uint32_t from, uint32_t to)
{
    uint64_t start = trace->spans[from].start;
    return (crn_latency_row){from, to, since(start, trace->spans[to].end),
                             since(start, trace->spans[to].start)};
}

crn_latencies crn_latencies_make(const crn_trace *trace, const uint8_t *from, const uint8_t *to)
{
    size_t count = trace->span_count;
    crn_latencies found = {.before = crn_calloc(count + 1, sizeof *found.before)};
    search search = {.trace = trace, .from = from, .before = found.before};
    search.edges = index_edges(trace);
    search.input = crn_calloc(count + 1, sizeof *search.input);
    for (uint32_t s = 0; s < count; s++) {
        search.input[s] = UNKNOWN;
        found.before[s] = CRN_SPAN_NONE;
    }
    found.rows = crn_calloc(count + 1, sizeof *found.rows);
    for (uint32_t s = 0; s < count; s++) {
        if (!to[s])
            continue;
        if (trace->spans[s].open) {
            found.open++;
            continue;
        }
        if (search.input[s] == UNKNOWN)
            find(&search, s);
        if (search.input[s] == CRN_SPAN_NONE)
            found.unlinked++;
        else
            found.rows[found.count++] = row_of(trace, search.input[s], s);
    }
    qsort_r(found.rows, found.count, sizeof *found.rows, compare_ends, (void *)(uintptr_t)trace);
    crn_free(search.edges);
    crn_free(search.input);
    crn_free(search.stack);
    return found;
}

void crn_latencies_free(crn_latencies *latencies)
{
    crn_free(latencies->rows);
    crn_free(latencies->before);
    *latencies = (crn_latencies){0};
}

/* ---- stages ---- */

crn_latency_stage *crn_latency_stages(const crn_trace *trace, const crn_latencies *latencies,
                                      const crn_latency_row *row, uint32_t *count)
{
    uint32_t length = 1;
    for (uint32_t s = row->to; s != row->from; s = latencies->before[s])
        length++;
    crn_latency_stage *stages = crn_calloc(length, sizeof *stages);
    uint32_t at = length, s = row->to;
    for (stages[--at].span = s; at; stages[--at].span = s)
        s = latencies->before[s];
    /* Clocks of machines can disagree: no stage begins before the previous stage. */
    uint64_t start = trace->spans[row->from].start, end = start + row->length;
    for (uint32_t i = 0; i < length; i++) {
        uint64_t next = i + 1 < length ? trace->spans[stages[i + 1].span].start : end;
        next = next < start ? start : next > end ? end : next;
        stages[i].length = next - start;
        start = next;
    }
    *count = length;
    return stages;
}

double crn_latency_jitter(const crn_latencies *latencies)
{
    double sum = 0;
    for (uint32_t i = 1; i < latencies->count; i++) {
        uint64_t a = latencies->rows[i - 1].length, b = latencies->rows[i].length;
        sum += (double)(a < b ? b - a : a - b);
    }
    return latencies->count > 1 ? sum / (latencies->count - 1) : 0;
}
