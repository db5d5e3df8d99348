/* SPDX-License-Identifier: MIT
 *
 * counts.h - reads the counters of inlined blocks from a capture, and trusts nothing in it. An
 * array of counters belongs to a record: the context of the function that the blocks were inlined
 * into. It has a counter for each node of the function's counter tree.
 */
#ifndef CRN_SNAPSHOT_COUNTS_H
#define CRN_SNAPSHOT_COUNTS_H

#include "capture/reader.h"
#include "graph/graph.h"

/* A copy of a group of a lane's counters. */
typedef struct crn_counts_group {
    uint32_t lane;
    crn_bytes bytes; /* data NULL: left out, since the groups together exceed the file */
} crn_counts_group;

/* The counters and counter trees of a capture. crn_tree_nodes returns pointers into `bytes`. */
typedef struct crn_trees {
    crn_bytes bytes;
    crn_counts_group *groups; /* sorted by lane */
    size_t group_count;
} crn_trees;

/* Reads the counters of all lanes, then the trees, since a program makes a tree before the counters
 * of its nodes. Refreshes the reader of a live capture in between. */
bool crn_trees_read(crn_trees *trees, crn_reader *reader, crn_error *error);
void crn_trees_free(crn_trees *trees);

/* Returns the nodes of a tree, each after its parent (`above`), and sets `*count`. Returns NULL if
 * the tree is invalid or has more than `most` nodes. */
const crn_disk_node *crn_tree_nodes(const crn_trees *trees, uint32_t tree, uint64_t most,
                                    uint32_t *count);

/* Visits an array of counters of a record; `count`, at least 1, is the number of nodes and
 * counters. Returns false to stop. */
typedef bool crn_counts_visitor(void *data, uint32_t record, const crn_disk_node *nodes,
                                const uint64_t *counters, uint32_t count);

/* Visits the counters of a lane. At invalid counters, leaves out the rest of their group and sets
 * `*whole` to false. Returns false if the visitor does. */
bool crn_counts_visit(const crn_trees *trees, uint32_t lane, crn_counts_visitor *visit, void *data,
                      bool *whole);

/* Adds the nodes with calls, and their parents, to the graph as canonical contexts below `record`.
 * Returns false if out of memory. */
bool crn_counts_add(crn_graph *graph, uint32_t record, const crn_disk_node *nodes,
                    const uint64_t *counters, uint32_t count);

#endif
