/* SPDX-License-Identifier: MIT
 *
 * counts.h - reads the call counters of inlined blocks from a capture. An array of counters
 * belongs to a record, the context inlined into, and has one counter for each node of a tree. The
 * input is not trusted.
 */
#ifndef CRN_SNAPSHOT_COUNTS_H
#define CRN_SNAPSHOT_COUNTS_H

#include "capture/reader.h"
#include "graph/graph.h"

/* The trees of a capture. Nodes returned by crn_tree_nodes are in `bytes`. */
typedef struct crn_trees {
    crn_bytes bytes;
    uint64_t left; /* bytes of the file that counters may still take, so that no two groups claim
                      the same bytes */
} crn_trees;

bool crn_trees_read(crn_trees *trees, const crn_reader *reader, crn_error *error);
void crn_trees_free(crn_trees *trees);

/* Returns the nodes of a tree and their count. Each node comes after its parent (`above`). Returns
 * NULL if the tree is invalid or has more than `most` nodes. */
const crn_disk_node *crn_tree_nodes(const crn_trees *trees, uint32_t tree, uint64_t most,
                                    uint32_t *count);

/* Called for each array of counters; `count` is the number of nodes in its tree, at least 1.
 * Returns false to stop. */
typedef bool crn_counts_visitor(void *data, uint32_t record, const crn_disk_node *nodes,
                                const uint64_t *counters, uint32_t count);

/* Visits the counters of a lane. Returns false if the visitor did, or if the file cannot be read.
 * Invalid counters are skipped, and `whole` becomes false. */
bool crn_counts_visit(crn_trees *trees, const crn_reader *reader, uint32_t lane,
                      crn_counts_visitor *visit, void *data, bool *whole, crn_error *error);

/* Adds calls to the graph as contexts below `record`, in canonical form. Returns false without
 * memory. */
bool crn_counts_add(crn_graph *graph, uint32_t record, const crn_disk_node *nodes,
                    const uint64_t *counters, uint32_t count);

#endif
