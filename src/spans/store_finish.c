/* SPDX-License-Identifier: MIT
 *
 * Establishes the invariants of a span store, whatever the file contained: sorted moves, no cycles
 * of parents.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/memory.h"
#include "spans/store_opening.h"

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* crn_order_by_span reads the span number at offset 0. */
_Static_assert(offsetof(crn_span_move, span) == 0 && offsetof(crn_attribute_place, span) == 0 &&
                   offsetof(crn_span_weight, span) == 0 && offsetof(crn_span_remote, span) == 0,
               "by span");

void crn_store_order_moves(crn_span_store *store)
{
    store->move_count =
        crn_keep_last_by_span(store->moves, store->move_count, sizeof *store->moves);
    crn_free(store->moved);
    store->moved = crn_calloc(store->count / 8 + (size_t)1, 1);
    for (uint32_t i = 0; i < store->move_count; i++)
        store->moved[store->moves[i].span >> 3] |= (uint8_t)(1 << (store->moves[i].span & 7));
}

/* Adds a move that removes the parent of a span. */
static void cut_parent(crn_store_opening *opening, uint32_t *moves, uint32_t span)
{
    crn_span_store *store = opening->store;
    const crn_span_move *move = crn_store_move(store, span);
    crn_span_move without = move ? *move : (crn_span_move){.span = span};
    without.parent = CRN_SPAN_NONE;
    store->moves = crn_store_grow(store->moves, *moves, &opening->move_room, sizeof *store->moves);
    store->moves[(*moves)++] = without;
    store->dangling++;
}

/* Cuts cycles of parents, which a damaged file can contain across lanes. Each span is visited by
 * one walk upwards; a parent that the same walk has visited is cut off. trace_order.c does the same
 * for traces. */
static void cut_circles(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    uint32_t *walk = crn_calloc(store->count, sizeof *walk); /* by span: number of the walk that
                                                                visited it, + 1 */
    uint32_t moves = store->move_count;
    for (uint32_t s = 0; s < store->count; s++) {
        for (uint32_t at = s; !walk[at];) {
            walk[at] = s + 1;
            uint32_t parent = crn_store_parent(store, crn_store_piece(store, at), at);
            if (parent == CRN_SPAN_NONE)
                break;
            if (walk[parent] == s + 1) {
                cut_parent(opening, &moves, at);
                break;
            }
            at = parent;
        }
    }
    crn_free(walk);
    if (moves == store->move_count)
        return;
    store->move_count = moves;
    crn_store_order_moves(store);
}

void crn_store_finish(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    const crn_disk_header *header = &opening->reader->header;
    uint64_t last = header->last[header->moments & 1].clock;
    store->length = crn_store_moment(store, last > opening->last ? last : opening->last);
    if (store->move_count) {
        crn_store_order_moves(store);
        if (!opening->remote_count) /* otherwise the trace cuts them, with all parents known */
            cut_circles(opening);
    }
    if (store->edge_count)
        qsort(store->edges, store->edge_count, sizeof *store->edges, compare_edges);
}
