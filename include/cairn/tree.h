/* SPDX-License-Identifier: MIT
 *
 * tree.h - calls that are counted by one instruction, for compilers: hosts/gcc has the only one.
 *
 * What was inlined into a function is a *tree* of blocks below it. Where such a block makes no
 * calls that are recorded, nothing has to know that it runs, and it need not be entered: its calls
 * are a counter. Each context that the function runs in has an array of counters, one for each
 * node of the tree. It lies in the capture and never moves, so that its address may be kept while
 * the function runs; the contexts that the counters are of are made by whoever reads the capture.
 *
 * Names with `priv` are not part of the interface.
 */
#ifndef CAIRN_TREE_H
#define CAIRN_TREE_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nodes count from 1; what is above a node comes before it, and 0 is the function itself. Of nodes
 * that are always called together one has a counter that counts for all: the first of them. */
typedef struct cairn_priv_node {
    uint16_t above;
    uint16_t same; /* whose counter it is; 0: its own */
    cairn_block block;
} cairn_priv_node;

#define CAIRN_PRIV_NODES_MOST 4096u

/* Numbers of trees and blocks are below it: together with it, a tree's number, or that plus the
 * number of a node, is a key among blocks that no block has. */
#define CAIRN_PRIV_TREE_KEY ((uint32_t)1 << 31)

/* The tree's number, good for the profile and in children of fork; 0 if there is no room.
 * Thread: any. */
CAIRN_API uint32_t cairn_priv_tree_add(cairn_profile *profile, const cairn_priv_node *nodes,
                                       uint32_t count);

/* The counters of the tree's nodes below the context that runs: that of node n is at n - 1. Good
 * while the lane is, also in children of fork. NULL where nothing is recorded, or there is no room.
 * Thread: the lane's. */
CAIRN_API uint64_t *cairn_priv_tree_counters(cairn_strand *strand, uint32_t tree);

/* So many bytes behind a counter is a word that is the host's, for the unit of the node's context;
 * that of the function itself is the one before them. They are 0 at first, and what a child of fork
 * has of them is what its parent had. */
#define CAIRN_PRIV_TREE_UNITS 65536

/* The same, if they are there already. */
CAIRN_API uint64_t *cairn_priv_tree_known(cairn_strand *strand, uint32_t tree);

/* From now on `key` leads to `what` from a unit: for who looks it up by hand. The key's hash is
 * that of a block. Thread: the lane's. */
CAIRN_API void cairn_priv_tree_remember(cairn_lane *lane, uint32_t key, uint32_t unit,
                                        uint64_t what);

/* As if each block of the path had been entered, in one frame, which one leave ends. Counts no
 * calls. Thread: the lane's. */
CAIRN_API void cairn_priv_enter_path(cairn_strand *strand, const cairn_block *path, size_t length);

#ifdef __cplusplus
}
#endif

#endif
