/* SPDX-License-Identifier: MIT
 *
 * counts.h - calls that a capture has as counters alone: of what was inlined, by the record of what
 * it was inlined into, and the node of a tree. Trusts nothing.
 */
#ifndef CRN_SNAPSHOT_COUNTS_H
#define CRN_SNAPSHOT_COUNTS_H

#include "capture/reader.h"
#include "graph/graph.h"

/* Trees of a capture; `nodes` are in the bytes. */
typedef struct crn_trees {
    crn_bytes bytes;
    uint64_t left; /* bytes that counters can still have: no two of them have the same */
} crn_trees;

bool crn_trees_read(crn_trees *trees, const crn_reader *reader, crn_error *error);
void crn_trees_free(crn_trees *trees);

/* The nodes of a tree, whose `above` are all of nodes before them; NULL if it is none, or has more
 * than `most`. */
const crn_disk_node *crn_tree_nodes(const crn_trees *trees, uint32_t tree, uint64_t most,
                                    uint32_t *count);

/* One array of counters. `count` is that of the tree's nodes, and at least 1. */
typedef bool crn_counts_visitor(void *data, uint32_t record, const crn_disk_node *nodes,
                                const uint64_t *counters, uint32_t count);

/* Visits those of a lane, until the visitor returns false; then it returns false, too, as it does
 * when the file cannot be read. `whole` becomes false where something is not valid, and is left
 * out. */
bool crn_counts_visit(crn_trees *trees, const crn_reader *reader, uint32_t lane,
                      crn_counts_visitor *visit, void *data, bool *whole, crn_error *error);

/* Adds calls to a graph: below `record`, in canonical form. False when there is no memory. */
bool crn_counts_add(crn_graph *graph, uint32_t record, const crn_disk_node *nodes,
                    const uint64_t *counters, uint32_t count);

#endif
