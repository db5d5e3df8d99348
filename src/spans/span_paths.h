/* SPDX-License-Identifier: MIT
 *
 * span_paths.h - groups spans by path: the blocks of all their ancestors.
 *
 * Takes time linear in the number of spans, without recursion.
 */
#ifndef CRN_SPANS_SPAN_PATHS_H
#define CRN_SPANS_SPAN_PATHS_H

#include "spans/span_figures.h"

/* A node of the tree of paths. Node 0 is the empty path, which root spans have. */
typedef struct crn_path_node {
    uint32_t parent, block;
} crn_path_node;

typedef struct crn_span_paths {
    crn_path_node *nodes;
    uint32_t *of; /* by span: the path of its ancestors */
} crn_span_paths;

crn_span_paths crn_span_paths_make(const crn_spans *spans);
void crn_span_paths_free(crn_span_paths *paths);

#endif
