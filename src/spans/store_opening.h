/* SPDX-License-Identifier: MIT
 *
 * store_opening.h - what the files that make a span store share. span_store.c and store_details.c
 * read a capture, store_trace.c converts a trace, store_build.c has common parts.
 */
#ifndef CRN_SPANS_STORE_OPENING_H
#define CRN_SPANS_STORE_OPENING_H

#include "capture/reader.h"
#include "capture/ring.h"
#include "spans/span_store.h"

/* The details and samples of a lane, which name spans and contexts. */
typedef struct crn_lane_details {
    uint32_t number; /* lane number */
    crn_parts parts, samples;
} crn_lane_details;

typedef struct crn_sampled_graph crn_sampled_graph;

typedef struct crn_store_opening {
    crn_span_store *store;
    crn_reader *reader;
    const crn_mapping *mapping; /* NULL: copy the sections */
    bool resting;               /* as in crn_span_store */
    uint64_t left; /* bytes that the sections of the remaining lanes can have, as no two lanes share
                      bytes of the file */
    uint64_t last; /* latest clock value so far */
    uint32_t piece_room, detail_room, move_room, edge_room, counter_room, event_room, weight_room,
        remote_room, cut_room, detail_lane_room;
    uint32_t *names;           /* by lane: its name's offset into the strings */
    crn_ring *rings;           /* by lane; empty for a lane without a ring */
    crn_lane_details *details; /* sorted by lane number. The details of a ring are in `rings` */
    uint32_t detail_lane_count;
    crn_span_remote *remotes; /* in file order */
    uint32_t remote_count;
    uint32_t *cut; /* spans handed off by a span that the capture lacks */
    uint32_t cut_count;
    uint64_t limited, late, trees_skipped; /* same as in crn_trace */
    uint32_t off_core_room, climb_room;
    crn_samples_making samples;
    crn_sampled_graph *first_graph; /* contexts of the first lane; NULL until needed */
    uint32_t *climb;                /* scratch: contexts on the way to the root */
    char line[CAIRN_TEXT_MAX + 16]; /* text of the event being read */
    crn_error *error;
} crn_store_opening;

/* Reads the spans of opening->reader into a new store. On an error returns false and sets the store
 * to NULL. */
bool crn_store_read(crn_store_opening *opening);
/* Frees all but the store. */
void crn_store_opening_end(crn_store_opening *opening);

/* Returns a lane's details; NULL for a lane that a live capture got after the details of all lanes
 * were found. */
crn_lane_details *crn_store_details_of(const crn_store_opening *opening, uint32_t lane);

/* Reads the attributes, edges, weights and remote parents of a lane. Call it after the spans of all
 * lanes are read. */
void crn_store_read_details(crn_store_opening *opening, uint32_t lane);

/* Reads when a lane's thread was off core. Returns false on an error. */
bool crn_store_read_off_core(crn_store_opening *opening, uint32_t lane);

/* Reads the samples of a lane. Returns false on an error. */
bool crn_store_read_samples(crn_store_opening *opening, uint32_t lane);
void crn_store_samples_end(crn_store_opening *opening);

/* Converts CLOCK_MONOTONIC to ns since the capture began. */
static inline uint64_t crn_store_monotonic(const crn_store_opening *opening, uint64_t ns)
{
    uint64_t first = opening->reader->header.first.monotonic_ns;
    uint64_t since = ns > first ? ns - first : 0;
    return since < UINT64_C(1) << 62 ? since : UINT64_C(1) << 62;
}

/* Finds a section of a lane, by the lane's number in the capture. Returns false on an error. */
bool crn_store_find_section(crn_store_opening *opening, crn_section_kind kind, uint32_t number,
                            uint64_t item, crn_parts *found);

/* Finds a section of a lane, by the lane's index in the store. The store owns `*found`. Returns
 * false on an error. */
bool crn_store_section(crn_store_opening *opening, crn_section_kind kind, uint32_t lane,
                       uint64_t item, crn_parts **found);

/* Adds up to `most` spans of a lane as one piece. Returns their number. */
uint32_t crn_store_add_piece(crn_store_opening *opening, const cairn_priv_span *spans,
                             uint64_t most, uint32_t lane);
/* Builds the index from spans to pieces. Call it after the last piece. */
void crn_store_index_pieces(crn_span_store *store);

/* Sorts items by the span number at their begin, stably. Fast if they are sorted already. */
void crn_order_by_span(void *items, uint32_t count, size_t size);
/* Also keeps only the last item of each span. Returns how many it keeps. */
uint32_t crn_keep_last_by_span(void *items, uint32_t count, size_t size);

/* Sorts the moves, keeps the last of each span, sets `moved`. */
void crn_store_order_moves(crn_span_store *store);
/* Sorts tables and cuts cycles of parents, whatever the file contained. */
void crn_store_finish(crn_store_opening *opening);

#endif
