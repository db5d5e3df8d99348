/* SPDX-License-Identifier: MIT
 *
 * Common parts of making a span store from a file (span_store.c, store_details.c) or from a trace
 * (store_trace.c). Ensures, whatever the file contained, sorted moves and no cycles of parents.
 */
#include <stddef.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "spans/store_opening.h"

bool crn_store_find_section(crn_store_opening *opening, crn_section_kind kind, uint32_t number,
                            uint64_t item, crn_parts *found)
{
    uint64_t size = crn_reader_size(opening->reader, kind, number, 0);
    if (size > opening->left)
        return crn_error_set(opening->error, CAIRN_E_FORMAT, "damaged: its lanes overlap");
    opening->left -= size;
    return crn_mapping_section(opening->mapping, opening->reader, kind, number, item, found,
                               opening->error);
}

bool crn_store_section(crn_store_opening *opening, crn_section_kind kind, uint32_t lane,
                       uint64_t item, crn_parts **found)
{
    crn_span_store *store = opening->store;
    *found = &store->parts[store->parts_count++];
    return crn_store_find_section(opening, kind, store->lane_numbers[lane], item, *found);
}

/* Ends the piece before the first unused record. */
uint32_t crn_store_add_piece(crn_store_opening *opening, const cairn_priv_span *spans,
                             uint64_t most, uint32_t lane)
{
    crn_span_store *store = opening->store;
    crn_span_piece piece = {.spans = spans,
                            .first = store->count,
                            .lane = lane,
                            .lane_first = store->lane_first[lane],
                            .earliest = UINT64_MAX};
    uint64_t last = opening->last;
    for (; piece.count < most && spans[piece.count].start; piece.count++) {
        const cairn_priv_span *span = &spans[piece.count];
        uint64_t start = span->start, end = span->end;
        piece.earliest = start < piece.earliest ? start : piece.earliest;
        piece.latest = start > piece.latest ? start : piece.latest;
        piece.blocks |= UINT64_C(1) << (span->block & 63);
        last = end > last ? end : last;
        store->open += end == 0;
    }
    opening->last = piece.latest > last ? piece.latest : last;
    if (!piece.count)
        return 0;
    CRN_GROW(store->pieces, store->piece_count, opening->piece_room);
    store->pieces[store->piece_count++] = piece;
    store->count += piece.count;
    return piece.count;
}

void crn_store_index_pieces(crn_span_store *store)
{
    uint32_t size = (store->count >> CRN_PIECE_BITS) + 2, piece = 0;
    store->piece_at = crn_calloc(size, sizeof *store->piece_at);
    for (uint32_t i = 0; i < size; i++) {
        uint64_t span = (uint64_t)i << CRN_PIECE_BITS;
        while (piece + 1 < store->piece_count && store->pieces[piece + 1].first <= span)
            piece++;
        store->piece_at[i] = piece;
    }
}

/* ---- invariants ---- */

static int compare_edges(const void *left, const void *right)
{
    const crn_span_edge *a = left, *b = right;
    return CRN_ORDER(a->from, b->from) ?: CRN_ORDER(a->to, b->to);
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
    CRN_GROW(store->moves, *moves, opening->move_room);
    store->moves[(*moves)++] = without;
    store->dangling++;
}

/* Returns true if a span's parent may come after it. Only moves can name such a parent, and a cycle
 * has at least one. */
static bool can_have_circles(const crn_span_store *store)
{
    for (uint32_t m = 0; m < store->move_count; m++)
        if (store->moves[m].parent != CRN_SPAN_NONE &&
            store->moves[m].parent >= store->moves[m].span)
            return true;
    return false;
}

/* Cuts cycles of parents, which a damaged file can contain across lanes. Walks upwards from each
 * span to the first visited one. If this walk itself visited that span, removes the parent that
 * closes the cycle. trace.c does the same for traces. */
static void cut_circles(crn_store_opening *opening)
{
    crn_span_store *store = opening->store;
    uint32_t *walk = crn_calloc(store->count, sizeof *walk); /* by span: number of the walk that
                                                                visited it, + 1 */
    uint32_t moves = store->move_count;
    for (uint32_t s = 0; s < store->count; s++) {
        crn_store_touch(store, sizeof(cairn_priv_span));
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
        if (!opening->remote_count && /* otherwise a trace is made, which cuts the cycles when all
                                         parents are known */
            can_have_circles(store))
            cut_circles(opening);
    }
    if (store->edge_count)
        qsort(store->edges, store->edge_count, sizeof *store->edges, compare_edges);
    crn_order_by_span(store->counters, store->counter_count, sizeof *store->counters);
    crn_order_by_span(store->events, store->event_count, sizeof *store->events);
}
