/* SPDX-License-Identifier: MIT
 *
 * shown_graph.h - who calls whom among some of the blocks, straight or by way of others.
 *
 * Where a shown block's nearest shown caller on the path of a context is not the next one up,
 * there is an arrow between the two that is *indirect*. Unlike a search in the call graph this
 * finds only ways that the program took. (MLton's mlprof draws such arrows dashed.)
 */
#ifndef CRN_PROFILE_SHOWN_GRAPH_H
#define CRN_PROFILE_SHOWN_GRAPH_H

#include "profile/model.h"

typedef struct crn_shown_arrow {
    uint32_t caller, callee; /* blocks */
    uint64_t calls;          /* of callee, that came this way */
    bool indirect;
} crn_shown_arrow;

typedef struct crn_shown_graph {
    uint32_t count;
    crn_shown_arrow *arrows; /* by caller, callee, straight ones first */
} crn_shown_graph;

/* `shown` is by block. Where `kept` is not NULL, of the contexts with kept[c]. */
crn_shown_graph crn_shown_graph_make(const crn_profile *profile, const uint8_t *shown,
                                     const uint8_t *kept);
void crn_shown_graph_free(crn_shown_graph *graph);

#endif
