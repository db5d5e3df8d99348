/* SPDX-License-Identifier: MIT
 *
 * Establishes the invariants of a span store, whatever the file contained: sorted moves, no cycles
 * of parents.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "spans/store_opening.h"

static int compare_moves(const void *left, const void *right)
{
    const crn_span_move *a = left, *b = right;
    if (a->span != b->span)
        return a->span < b->span ? -1 : 1;
    return a->parent < b->parent ? -1 : a->parent > b->parent; /* moves that were cut off sort
                                                                  last */
}

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Sorts the moves by span and keeps the last one of each span. */
void crn_store_order_moves(crn_span_store *store)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < store->move_count; i++) {
        if (kept && store->moves[kept - 1].span == store->moves[i].span)
            kept--;
        store->moves[kept++] = store->moves[i];
    }
    store->move_count = kept;
    crn_free(store->moved);
    store->moved = crn_calloc(store->count / 8 + (size_t)1, 1);
    for (uint32_t i = 0; i < kept; i++)
        store->moved[store->moves[i].span >> 3] |= (uint8_t)(1 << (store->moves[i].span & 7));
}

static void sort_moves(crn_span_store *store)
{
    bool sorted = true;
    for (uint32_t i = 1; i < store->move_count; i++)
        sorted &= store->moves[i - 1].span <= store->moves[i].span;
    if (sorted)
        return;
    uint64_t *keys = crn_calloc(store->move_count, sizeof *keys);
    uint32_t *order = crn_calloc(store->move_count, sizeof *order);
    crn_span_move *moves = crn_calloc(store->move_count, sizeof *moves);
    for (uint32_t i = 0; i < store->move_count; i++) {
        keys[i] = store->moves[i].span;
        order[i] = i;
    }
    crn_store_sort(order, store->move_count, keys);
    for (uint32_t i = 0; i < store->move_count; i++)
        moves[i] = store->moves[order[i]];
    crn_free(store->moves);
    crn_free(keys);
    crn_free(order);
    store->moves = moves;
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
    opening->move_room = moves; /* crn_store_order_moves has allocated a new array */
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
    qsort(store->moves, moves, sizeof *store->moves, compare_moves);
    crn_store_order_moves(store);
}

void crn_store_finish(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    const crn_disk_header *header = &opening->reader->header;
    uint64_t last = header->last[header->moments & 1].clock;
    store->length = crn_store_moment(store, last > opening->last ? last : opening->last);
    if (store->move_count) {
        sort_moves(store);
        crn_store_order_moves(store);
        cut_circles(opening);
    }
    if (store->edge_count)
        qsort(store->edges, store->edge_count, sizeof *store->edges, compare_edges);
}
