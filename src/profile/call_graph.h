/* SPDX-License-Identifier: MIT
 *
 * call_graph.h - the call graph of blocks, with calls and cost for each arrow.
 *
 * An arrow from a to b has the calls and the inclusive cost that crn_sequence_measure returns for
 * the sequence a, b (sequence.h), computed for all pairs at once.
 */
#ifndef CRN_PROFILE_CALL_GRAPH_H
#define CRN_PROFILE_CALL_GRAPH_H

#include "profile/model.h"

typedef struct crn_call_arrow {
    uint32_t caller, callee; /* blocks */
    uint64_t calls, inclusive;
} crn_call_arrow;

typedef struct crn_call_graph {
    uint32_t count;
    crn_call_arrow *arrows; /* most inclusive cost first, then most calls */
} crn_call_graph;

/* Makes the graph of the kept contexts (NULL: all). Linear in contexts and edges, except for
 * sorting. */
crn_call_graph crn_call_graph_make(const crn_profile *profile, uint32_t metric,
                                   const uint8_t *kept);
/* Makes the graph of the shown blocks alone, in memory for these few. */
crn_call_graph crn_call_graph_between(const crn_profile *profile, uint32_t metric,
                                      const uint8_t *kept, const uint8_t *shown);
/* The same for known totals of the kept contexts, as crn_totals returns them. */
crn_call_graph crn_call_graph_of(const crn_profile *profile, const uint8_t *kept,
                                 const uint8_t *shown, const uint64_t *totals);
void crn_call_graph_free(crn_call_graph *graph);

/* ---- callers and callees of a set of blocks ---- */

/* Sets are arrays of bytes by block, `blocks` long. The root is never in a returned set. */

/* Returns the direct callers (or callees) of the blocks in `of`. Free it with crn_free. */
uint8_t *crn_block_neighbours(const crn_call_graph *graph, uint32_t blocks, const uint8_t *of,
                              bool callers);
/* Adds to `set` all transitive callers (or callees). Linear in blocks and arrows. */
void crn_block_reach(const crn_call_graph *graph, uint32_t blocks, uint8_t *set, bool callers);

#endif
