/* SPDX-License-Identifier: MIT
 *
 * call_graph.h - who calls whom: blocks, and the calls between them with what those cost.
 *
 * An arrow from a to b is the sequence a, b (sequence.h): its calls and its inclusive cost are
 * those that crn_sequence_measure gives, for all pairs at once.
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
    crn_call_arrow *arrows; /* by inclusive cost, then calls, falling */
} crn_call_graph;

/* Of the contexts that are kept (NULL: all). Linear in the number of contexts and edges, but for
 * sorting the arrows. */
crn_call_graph crn_call_graph_make(const crn_profile *profile, uint32_t metric,
                                   const uint8_t *kept);
/* Of those the arrows between the blocks that are shown, by block: in the memory that these few
 * take. */
crn_call_graph crn_call_graph_between(const crn_profile *profile, uint32_t metric,
                                      const uint8_t *kept, const uint8_t *shown);
/* The same where the totals of what is kept are known, as crn_totals has them. */
crn_call_graph crn_call_graph_of(const crn_profile *profile, const uint8_t *kept,
                                 const uint8_t *shown, const uint64_t *totals);
void crn_call_graph_free(crn_call_graph *graph);

#endif
