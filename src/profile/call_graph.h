/* SPDX-License-Identifier: MIT
 *
 * call_graph.h - the call graph of blocks, with calls and cost for each arrow.
 *
 * An arrow from a to b has the calls and the inclusive cost of the sequence a, b (sequence.h). The
 * functions here compute all arrows at once.
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

/* Makes the graph of the kept contexts; `kept` NULL: all. Linear in contexts and edges, except for
 * sorting. */
crn_call_graph crn_call_graph_make(const crn_profile *profile, uint32_t metric,
                                   const uint8_t *kept);
/* Does the same with only the arrows between shown blocks; uses memory only for those. */
crn_call_graph crn_call_graph_between(const crn_profile *profile, uint32_t metric,
                                      const uint8_t *kept, const uint8_t *shown);
/* Does the same, given `totals`: crn_totals(profile, metric, kept). */
crn_call_graph crn_call_graph_of(const crn_profile *profile, const uint8_t *kept,
                                 const uint8_t *shown, const uint64_t *totals);
void crn_call_graph_free(crn_call_graph *graph);

/* ---- callers and callees of a set of blocks ---- */

/* A set is an array of `blocks` bytes, by block. No returned set contains the root. */

/* Returns the direct callers (or callees) of the blocks in `of`. Free it with crn_free. */
uint8_t *crn_block_neighbours(const crn_call_graph *graph, uint32_t blocks, const uint8_t *of,
                              bool callers);
/* Adds all transitive callers (or callees) to `set`. Linear in blocks and arrows. */
void crn_block_reach(const crn_call_graph *graph, uint32_t blocks, uint8_t *set, bool callers);

#endif
