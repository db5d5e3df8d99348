/* SPDX-License-Identifier: MIT
 *
 * Makes a span store from a trace.
 */
#include <string.h>

#include "base/memory.h"
#include "spans/store_opening.h"

static void take_span(crn_span_store *store, crn_store_opening *opening, uint32_t number)
{
    const crn_span *span = &store->trace->spans[number];
    uint32_t first = store->lane_first[span->lane];
    bool within = span->parent >= first && span->parent < number && !span->handed_off;
    store->made[number] = (cairn_priv_span){.start = span->start + 1,
                                            .end = span->open ? 0 : span->end + 1,
                                            .iteration = span->iteration,
                                            .block = span->block,
                                            .parent = within ? span->parent - first + 1 : 0};
    if (within || (span->parent == CRN_SPAN_NONE && !span->handed_off))
        return;
    store->moves =
        crn_store_grow(store->moves, store->move_count, &opening->move_room, sizeof *store->moves);
    store->moves[store->move_count++] =
        (crn_span_move){.span = number, .parent = span->parent, .handed_off = span->handed_off};
}

/* Copies the ends of open spans: merged processes end at different times. */
static void take_open_ends(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    uint32_t first = 0;
    while (first < trace->span_count &&
           (!trace->spans[first].open || trace->spans[first].end == trace->length))
        first++;
    if (first == trace->span_count)
        return;
    store->made_ends = crn_calloc(trace->span_count, sizeof *store->made_ends);
    for (uint32_t s = 0; s < trace->span_count; s++)
        store->made_ends[s] = trace->spans[s].end;
}

static void take_lanes(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    store->lane_count = trace->lane_count;
    store->lanes = crn_calloc(trace->lane_count, sizeof *store->lanes);
    store->lane_first = crn_calloc(trace->lane_count + (size_t)1, sizeof *store->lane_first);
    for (uint32_t lane = 0, span = 0; lane < trace->lane_count; lane++) {
        store->lanes[lane] = trace->lanes[lane];
        while (span < trace->span_count && trace->spans[span].lane <= lane)
            span++;
        store->lane_first[lane + 1] = span;
    }
}

static void *copy_of(const void *items, size_t count, size_t size)
{
    void *copy = crn_calloc(count, size);
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

static void take_pieces(crn_span_store *store, crn_store_opening *opening)
{
    for (uint32_t lane = 0; lane < store->lane_count; lane++)
        while (store->count < store->lane_first[lane + 1]) {
            uint32_t left = store->lane_first[lane + 1] - store->count;
            uint32_t most = left < 1 << CRN_PIECE_BITS ? left : 1 << CRN_PIECE_BITS;
            crn_store_add_piece(opening, store->made + store->count, most, lane);
        }
    crn_store_index_pieces(store);
}

static void take_handoffs(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    if (store->move_count)
        crn_store_order_moves(store);
    for (uint32_t h = 0, m = 0; h < trace->handoff_count; h++) {
        while (m < store->move_count && store->moves[m].span < trace->handoffs[h].span)
            m++;
        if (m < store->move_count && store->moves[m].span == trace->handoffs[h].span)
            store->moves[m].taken = trace->handoffs[h].taken;
    }
}

static void take_tables(crn_span_store *store)
{
    const crn_trace *trace = store->trace;
    store->edge_count = trace->edge_count;
    store->edges = copy_of(trace->edges, trace->edge_count, sizeof *store->edges);
    store->key_count = trace->key_count;
    store->keys = copy_of((const void *)trace->keys, trace->key_count, sizeof *store->keys);
    store->weight_count = trace->weight_count;
    store->weights = copy_of(trace->weights, trace->weight_count, sizeof *store->weights);
    store->cpu_known = trace->cpu != NULL;
    if (trace->cpu)
        store->cpu = copy_of(trace->cpu, trace->span_count, sizeof *store->cpu);
    store->attribute_count = trace->attribute_count;
}

crn_span_store *crn_store_of(const crn_trace *trace)
{
    crn_span_store *store = crn_calloc(1, sizeof *store);
    crn_store_opening opening = {.store = store};
    store->trace = trace;
    store->scale = 1;
    store->clock_first = 1; /* so that no start and no end is 0, which means "unused" and "open" */
    take_lanes(store);
    store->made = crn_calloc(trace->span_count, sizeof *store->made);
    for (uint32_t s = 0; s < trace->span_count; s++)
        take_span(store, &opening, s);
    take_open_ends(store);
    take_pieces(store, &opening);
    take_handoffs(store);
    take_tables(store);
    store->length = trace->length;
    store->dropped = trace->dropped;
    store->details_dropped = trace->details_dropped;
    store->recycled = trace->recycled;
    store->skipped = trace->skipped;
    store->dangling = trace->dangling;
    return store;
}
