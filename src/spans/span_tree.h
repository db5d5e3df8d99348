/* SPDX-License-Identifier: MIT
 *
 * span_tree.h - spans as a profile: by what they ran in, wherever that was.
 */
#ifndef CRN_SPANS_SPAN_TREE_H
#define CRN_SPANS_SPAN_TREE_H

#include "spans/span_figures.h"

/* A context for each path of blocks from a span without a parent; recursion folds as in any
 * profile. Calls are spans, and wall is their self time: where children of a span ran side by
 * side, its total is more than it took. Metrics have the numbers that they always have. */
crn_profile *crn_span_tree(const crn_spans *spans, const crn_profile *profile);

#endif
