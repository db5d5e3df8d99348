/* SPDX-License-Identifier: MIT
 *
 * tree.h - counters for inlined functions, for compiler hosts (hosts/gcc).
 *
 * The functions inlined into a function form a *tree* of blocks below it. A block that makes no
 * recorded calls need not be entered: one instruction increments its counter. Each context of the
 * function has an array of counters, one a node of the tree, in the capture. It never moves, so
 * its address may be kept while the function runs. Readers of the capture derive the contexts of
 * the nodes.
 *
 * Names with `priv` are not part of the interface.
 */
#ifndef CAIRN_TREE_H
#define CAIRN_TREE_H

#include "cairn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Nodes are numbered from 1; parents come first, and 0 is the function itself. Nodes that are
 * always called together share the counter of the first of them. */
typedef struct cairn_priv_node {
    uint16_t above;
    uint16_t same; /* the node whose counter it shares; 0: has its own */
    cairn_block block;
} cairn_priv_node;

#define CAIRN_PRIV_NODES_MOST 4096u

/* Above all numbers of trees and blocks. Added to a tree's number, or to that plus a node's, it
 * gives keys in the edge caches that no block has. */
#define CAIRN_PRIV_TREE_KEY ((uint32_t)1 << 31)

/* Returns the tree's number, valid for the profile and in children of fork; 0 without space.
 * Thread: any. */
CAIRN_API uint32_t cairn_priv_tree_add(cairn_profile *profile, const cairn_priv_node *nodes,
                                       uint32_t count);

/* Returns the counters of the tree's nodes below the current context: node n's is at n - 1. Valid
 * as long as the lane, also in children of fork. NULL if nothing is recorded, or without space.
 * Thread: the lane's. */
CAIRN_API uint64_t *cairn_priv_tree_counters(cairn_strand *strand, uint32_t tree);

/* At this distance in bytes behind a counter is a word of the host's, for the node's context; the
 * word before them is for the function itself. Initially 0; a child of fork inherits them. */
#define CAIRN_PRIV_TREE_NODE_OFFSETS 65536

/* The same, if they exist already; otherwise NULL. */
CAIRN_API uint64_t *cairn_priv_tree_known(cairn_strand *strand, uint32_t tree);

/* Makes `key` lead to `what` from a node in the edge cache, for code that looks it up itself. The
 * key is hashed like a block. Thread: the lane's. */
CAIRN_API void cairn_priv_tree_remember(cairn_lane *lane, uint32_t key, uint32_t node_offset,
                                        uint64_t what);

/* Enters each block of the path as one frame, which one leave ends. Counts no calls. Thread: the
 * lane's. */
CAIRN_API void cairn_priv_enter_path(cairn_strand *strand, const cairn_block *path, size_t length);

#ifdef __cplusplus
}
#endif

#endif
