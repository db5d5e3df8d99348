/* SPDX-License-Identifier: MIT
 *
 * shown_graph.h - the call graph of selected blocks, with direct and indirect arrows.
 *
 * An arrow is *indirect* if the nearest shown caller on the path is not the direct caller. Paths
 * come from contexts, so the program took each of them; a search in the call graph would find
 * others. (MLton's mlprof draws indirect arrows dashed.)
 */
#ifndef CRN_PROFILE_SHOWN_GRAPH_H
#define CRN_PROFILE_SHOWN_GRAPH_H

#include "profile/model.h"

typedef struct crn_shown_arrow {
    uint32_t caller, callee; /* blocks */
    uint64_t calls;          /* calls of the callee over this arrow */
    bool indirect;
} crn_shown_arrow;

typedef struct crn_shown_graph {
    uint32_t count;
    crn_shown_arrow *arrows; /* sorted by caller, then by callee; between the same two blocks the
                                direct arrow is first */
} crn_shown_graph;

/* Makes the graph; if crn_calls_static, by a search in the call graph. `shown` is by block. If
 * `kept` is not NULL, only contexts with kept[c] count. */
crn_shown_graph crn_shown_graph_make(const crn_profile *profile, const uint8_t *shown,
                                     const uint8_t *kept);
void crn_shown_graph_free(crn_shown_graph *graph);

#endif
