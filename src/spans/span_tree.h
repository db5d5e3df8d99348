/* SPDX-License-Identifier: MIT
 *
 * span_tree.h - converts spans into a profile: contexts are paths of blocks, by hand-off too.
 */
#ifndef CRN_SPANS_SPAN_TREE_H
#define CRN_SPANS_SPAN_TREE_H

#include "spans/span_figures.h"

/* Makes a profile with a context for each path of blocks from a root span; recursion folds as in
 * any profile. Calls are the number of spans, and wall is their self time. If children ran in
 * parallel, the inclusive time of a span exceeds its duration. Metrics have their usual numbers. */
crn_profile *crn_span_tree(const crn_spans *spans, const crn_profile *profile);

#endif
