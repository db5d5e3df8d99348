/* SPDX-License-Identifier: MIT
 *
 * store_opening.h - what the parts that make a span store share: one finds what is in a file, one
 * puts right what could lead astray, one takes what a trace has.
 */
#ifndef CRN_SPANS_STORE_OPENING_H
#define CRN_SPANS_STORE_OPENING_H

#include "capture/reader.h"
#include "spans/span_store.h"

typedef struct crn_store_opening {
    crn_span_store *store;
    const crn_reader *reader;
    const crn_mapping *mapping; /* NULL: copy */
    uint64_t left;              /* bytes that lanes can still have: no two have the same */
    uint64_t last;              /* of the clock: the latest that was seen */
    uint32_t piece_room, detail_room, move_room, edge_room, weight_room;
    bool unusual; /* there is more than can be read in place */
    crn_error *error;
} crn_store_opening;

/* The array with room for one more than `count`, which is less than 2^32 - 1. */
void *crn_store_grow(void *array, uint32_t count, uint32_t *room, size_t size);

/* Adds spans of a lane, at most `most` of them; returns how many there are. */
uint32_t crn_store_add_piece(crn_store_opening *opening, const cairn_priv_span *spans,
                             uint64_t most, uint32_t lane);
/* When all are there: which piece a span is in. */
void crn_store_index_pieces(crn_span_store *store);

/* Moves in their order, of one span's the last, and which spans they are of. */
void crn_store_order_moves(crn_span_store *store);
/* What must hold, whatever was in the file. */
void crn_store_finish(crn_store_opening *opening);

#endif
