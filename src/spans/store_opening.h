/* SPDX-License-Identifier: MIT
 *
 * store_opening.h - state shared by the files that make a span store: span_store.c and
 * store_details.c read a file, store_trace.c takes a trace, store_build.c has the parts.
 */
#ifndef CRN_SPANS_STORE_OPENING_H
#define CRN_SPANS_STORE_OPENING_H

#include "capture/reader.h"
#include "capture/ring.h"
#include "spans/span_store.h"

/* The details and samples of a lane, which name spans and contexts. */
typedef struct crn_lane_details {
    uint32_t number; /* the lane's */
    crn_parts parts, samples;
} crn_lane_details;

typedef struct crn_sampled_graph crn_sampled_graph;

typedef struct crn_store_opening {
    crn_span_store *store;
    crn_reader *reader;
    const crn_mapping *mapping; /* NULL: copy the sections */
    bool resting;               /* as in the store */
    uint64_t left;              /* bytes of sections that lanes may still claim: no two lanes
                                   share bytes */
    uint64_t last;              /* latest clock value seen */
    uint32_t piece_room, detail_room, move_room, edge_room, counter_room, event_room, weight_room,
        remote_room, cut_room, detail_lane_room;
    crn_ring *rings;           /* by lane; without parts if the lane keeps its first spans */
    crn_lane_details *details; /* by lane number; not of lanes that keep their last spans: `rings`
                                  has those */
    uint32_t detail_lane_count;
    crn_span_remote *remotes; /* in file order */
    uint32_t remote_count;
    uint32_t *cut; /* spans with a hand-off from a span that is not in the capture */
    uint32_t cut_count;
    uint64_t limited, late, trees_skipped; /* same as in crn_trace */
    uint32_t off_core_room, climb_room;
    crn_samples_making samples;
    crn_sampled_graph *first_graph; /* contexts of the first lane; NULL before they are needed */
    uint32_t *climb;                /* contexts on the way to the root */
    char line[CAIRN_TEXT_MAX + 16]; /* text of the event that is being read */
    crn_error *error;
} crn_store_opening;

/* Reads the spans of opening->reader into a new store. On an error the store is NULL. */
bool crn_store_read(crn_store_opening *opening);
/* Frees all but the store. */
void crn_store_opening_end(crn_store_opening *opening);

/* Returns what was found of a lane; NULL if it is newer. */
crn_lane_details *crn_store_details_of(const crn_store_opening *opening, uint32_t lane);

/* Reads the attributes, edges, weights and remote parents of a lane. The spans of all lanes must
 * be read before. */
void crn_store_read_details(crn_store_opening *opening, uint32_t lane);

/* Reads when a lane's thread had no core. Returns false on an error. */
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

/* Finds a section of the lane with this number. */
bool crn_store_find_section(crn_store_opening *opening, crn_section_kind kind, uint32_t number,
                            uint64_t item, crn_parts *found);

/* Finds a section of a lane of the store, which owns `*found`. */
bool crn_store_section(crn_store_opening *opening, crn_section_kind kind, uint32_t lane,
                       uint64_t item, crn_parts **found);

/* Returns the array, grown if needed to hold one item more than `count`, which is less than 2^32 -
 * 1. */
void *crn_store_grow(void *array, uint32_t count, uint32_t *room, size_t size);

/* Adds at most `most` spans of a lane. Returns how many were added. */
uint32_t crn_store_add_piece(crn_store_opening *opening, const cairn_priv_span *spans,
                             uint64_t most, uint32_t lane);
/* Builds the index from spans to pieces, when all pieces are there. */
void crn_store_index_pieces(crn_span_store *store);

/* Sorts items by the span number at their begin, stably. They are nearly always sorted already. */
void crn_order_by_span(void *items, uint32_t count, size_t size);
/* Also keeps only the last item of each span. Returns how many. */
uint32_t crn_keep_last_by_span(void *items, uint32_t count, size_t size);

/* Sorts the moves, keeps the last of each span, and sets the `moved` bitmap. */
void crn_store_order_moves(crn_span_store *store);
/* Establishes the invariants of the store, whatever the file contained. */
void crn_store_finish(crn_store_opening *opening);

#endif
