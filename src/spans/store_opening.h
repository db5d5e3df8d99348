/* SPDX-License-Identifier: MIT
 *
 * store_opening.h - state shared by the files that make a span store: span_store.c reads a file,
 * store_trace.c takes a trace, store_finish.c repairs.
 */
#ifndef CRN_SPANS_STORE_OPENING_H
#define CRN_SPANS_STORE_OPENING_H

#include "capture/reader.h"
#include "spans/span_store.h"

typedef struct crn_store_opening {
    crn_span_store *store;
    const crn_reader *reader;
    const crn_mapping *mapping; /* NULL: copy the sections */
    uint64_t left;              /* bytes of sections that lanes may still claim: no two lanes
                                   share bytes */
    uint64_t last;              /* latest clock value seen */
    uint32_t piece_room, detail_room, move_room, edge_room, weight_room;
    bool unusual; /* the capture has what cannot be read in place */
    crn_error *error;
} crn_store_opening;

/* Returns the array, grown if needed to hold one item more than `count`, which is less than 2^32 -
 * 1. */
void *crn_store_grow(void *array, uint32_t count, uint32_t *room, size_t size);

/* Adds at most `most` spans of a lane. Returns how many were added. */
uint32_t crn_store_add_piece(crn_store_opening *opening, const cairn_priv_span *spans,
                             uint64_t most, uint32_t lane);
/* Builds the index from spans to pieces, when all pieces are there. */
void crn_store_index_pieces(crn_span_store *store);

/* Sorts the moves, keeps the last of each span, and sets the `moved` bitmap. */
void crn_store_order_moves(crn_span_store *store);
/* Establishes the invariants of the store, whatever the file contained. */
void crn_store_finish(crn_store_opening *opening);

#endif
