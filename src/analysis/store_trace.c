/* SPDX-License-Identifier: MIT
 *
 * A span store that is made of a trace.
 */
#include <string.h>

#include "analysis/store_opening.h"
#include "base/memory.h"

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
    store->moves[store->move_count++] = (crn_span_move){number, span->parent, 0, span->handed_off};
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

crn_span_store *crn_store_of(const crn_trace *trace)
{
    crn_span_store *store = crn_calloc(1, sizeof *store);
    crn_store_opening opening = {.store = store};
    store->trace = trace;
    store->scale = 1;
    store->clock_first = 1; /* what has a start or an end has one that is not 0 */
    take_lanes(store);
    store->made = crn_calloc(trace->span_count, sizeof *store->made);
    for (uint32_t s = 0; s < trace->span_count; s++)
        take_span(store, &opening, s);
    for (uint32_t lane = 0; lane < trace->lane_count; lane++)
        while (store->count < store->lane_first[lane + 1]) {
            uint32_t left = store->lane_first[lane + 1] - store->count;
            uint32_t most = left < 1 << CRN_PIECE_BITS ? left : 1 << CRN_PIECE_BITS;
            crn_store_add_piece(&opening, store->made + store->count, most, lane);
        }
    crn_store_index_pieces(store);
    if (store->move_count)
        crn_store_order_moves(store);
    for (uint32_t h = 0, m = 0; h < trace->handoff_count; h++) {
        while (m < store->move_count && store->moves[m].span < trace->handoffs[h].span)
            m++;
        if (m < store->move_count && store->moves[m].span == trace->handoffs[h].span)
            store->moves[m].taken = trace->handoffs[h].taken;
    }
    store->edge_count = trace->edge_count;
    store->edges = crn_calloc(trace->edge_count, sizeof *store->edges);
    for (uint32_t e = 0; e < trace->edge_count; e++)
        store->edges[e] = trace->edges[e];
    store->key_count = trace->key_count;
    store->keys = crn_calloc(trace->key_count, sizeof *store->keys);
    for (uint32_t k = 0; k < trace->key_count; k++)
        store->keys[k] = trace->keys[k];
    store->weight_count = trace->weight_count;
    store->weights = crn_calloc(trace->weight_count, sizeof *store->weights);
    for (uint32_t w = 0; w < trace->weight_count; w++)
        store->weights[w] = trace->weights[w];
    store->cpu_known = trace->cpu != NULL;
    if (trace->cpu && trace->span_count) {
        store->cpu = crn_calloc(trace->span_count, sizeof *store->cpu);
        memcpy(store->cpu, trace->cpu, trace->span_count * sizeof *store->cpu);
    }
    store->attribute_count = trace->attribute_count;
    store->length = trace->length;
    store->dropped = trace->dropped;
    store->details_dropped = trace->details_dropped;
    store->recycled = trace->recycled;
    store->skipped = trace->skipped;
    store->dangling = trace->dangling;
    return store;
}
