/* SPDX-License-Identifier: MIT
 *
 * span_paths.h - the blocks of a span's ancestors, whichever spans of them those are.
 *
 * Linear in the number of spans; nothing recurses.
 */
#ifndef CRN_SPANS_SPAN_PATHS_H
#define CRN_SPANS_SPAN_PATHS_H

#include "spans/span_figures.h"

/* Paths are a tree; node 0 is the path of spans without a parent. */
typedef struct crn_path_node {
    uint32_t parent, block;
} crn_path_node;

typedef struct crn_span_paths {
    crn_path_node *nodes;
    uint32_t *of; /* by span: the node of its parent's path */
} crn_span_paths;

crn_span_paths crn_span_paths_make(const crn_spans *spans);
void crn_span_paths_free(crn_span_paths *paths);

#endif
