/* SPDX-License-Identifier: MIT
 *
 * Counter trees: finds the counters of inlined functions, and enters paths of inlined functions.
 */
#include <stddef.h>

#include "fork_lock.h"
#include "runtime.h"

enum { POOLS = 32 };

__thread uint64_t *cairn_priv_thread_scratch __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
CRN_LOCK_ACROSS_FORK(lock)

/* Returns counters for a thread that is not recorded, with space for node offsets behind them. Up
 * to POOLS threads have memory of their own, because shared counters would slow all of them. */
static uint64_t *scratch(void)
{
    static uint64_t pools[POOLS][2 * CAIRN_PRIV_TREE_NODE_OFFSETS / sizeof(uint64_t)];
    static uint32_t turn;
    if (!cairn_priv_thread_scratch)
        cairn_priv_thread_scratch =
            &pools[__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % POOLS][1];
    return cairn_priv_thread_scratch;
}

/* ---- trees ---- */

static crn_site *site_of(crn_tree *tree, const crn_node *node)
{
    return (crn_site *)(void *)((char *)tree + node->site);
}

static uint32_t block_of(crn_site *site, cairn_profile *profile)
{
    if (__atomic_load_n(&site->block, __ATOMIC_ACQUIRE) == CRN_SITE_NEW)
        crn_site_resolve(site, profile);
    return __atomic_load_n(&site->block, __ATOMIC_ACQUIRE);
}

/* Adds the tree to the profile. Called under the lock. */
static void add(crn_tree *tree, cairn_profile *profile)
{
    uint32_t count = tree->nodes[0].up;
    cairn_priv_node *nodes = cairn_priv_calloc(count, sizeof *nodes);
    if (!nodes)
        return;
    for (uint32_t i = 1; i <= count; i++) {
        const crn_node *node = tree->nodes + i;
        cairn_block block = block_of(site_of(tree, node), profile);
        nodes[i - 1] = (cairn_priv_node){(uint16_t)(i - node->up), node->same, block};
    }
    uint32_t number = cairn_priv_tree_add(profile, nodes, count);
    cairn_priv_free(nodes);
    if (!number)
        return;
    uint32_t key = CAIRN_PRIV_TREE_KEY | number;
    __atomic_store_n(&tree->hash, key * 0x9e3779b1u, __ATOMIC_RELAXED);
    __atomic_store_n(&tree->key, key, __ATOMIC_RELEASE);
}

/* Returns the tree's number, 0 if there was no space. */
static uint32_t number_of(crn_tree *tree, cairn_profile *profile)
{
    uint32_t key = __atomic_load_n(&tree->key, __ATOMIC_ACQUIRE);
    if (key == CRN_SITE_NEW) {
        pthread_mutex_lock(&lock);
        if (tree->key == CRN_SITE_NEW)
            add(tree, profile);
        key = tree->key;
        pthread_mutex_unlock(&lock);
    }
    return key == CRN_SITE_NEW ? 0 : key & ~CAIRN_PRIV_TREE_KEY;
}

/* ---- counters ---- */

/* Returns the address of a node's node offset, given the function's counters. */
static uint64_t *word_of(uint64_t *counters, size_t node)
{
    return counters + CAIRN_PRIV_TREE_NODE_OFFSETS / sizeof *counters + node - 1;
}

/* Stores a node offset with its graph's tag in one store, because signal handlers and children of
 * fork read it. */
static void put_node_offset(uint64_t *word, const cairn_priv_strand *strand, uint64_t node_offset)
{
    __atomic_store_n(word, strand->graph_tag + node_offset, __ATOMIC_RELAXED);
}

static uint64_t *find(cairn_priv_strand *strand, crn_tree *tree)
{
    uint32_t number =
        number_of(tree, cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand)));
    uint64_t *counters = number ? cairn_priv_tree_counters((cairn_strand *)strand, number) : NULL;
    if (!counters)
        return scratch();
    put_node_offset(word_of(counters, 0), strand, (uint32_t)strand->current);
    cairn_priv_tree_remember(cairn_strand_lane((cairn_strand *)strand), tree->key,
                             (uint32_t)strand->current, (uintptr_t)counters);
    return counters;
}

uint64_t *crn_site_counters(crn_tree *tree)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return scratch();
    uint64_t *counters = find((cairn_priv_strand *)strand, tree);
    crn_site_release(strand);
    return counters;
}

/* ---- paths ---- */

/* Returns the tree of a node, and its depth. */
static crn_tree *tree_of(crn_node *node, size_t *depth)
{
    *depth = 0;
    for (; node->site; node -= node->up)
        ++*depth;
    return (crn_tree *)(void *)((char *)node - offsetof(crn_tree, nodes));
}

/* Enters the path to a node. Returns the caller; 0 without memory for a frame. The machine's stack
 * may be a signal handler's and small, so deep paths use allocated memory; without memory the path
 * ends SHORT nodes deep. */
static uint64_t enter_path(cairn_priv_strand *strand, crn_tree *tree, const crn_node *at,
                           size_t depth)
{
    enum { SHORT = 32 };
    cairn_block own[SHORT], *path = own;
    cairn_profile *profile = cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand));
    if (depth > SHORT && !(path = cairn_priv_calloc(depth, sizeof *path))) {
        path = own;
        for (; depth > SHORT; depth--)
            at -= at->up;
    }
    size_t length = depth;
    for (; depth > 0; at -= at->up)
        path[--depth] = block_of(site_of(tree, at), profile);
    int64_t height = crn_site_height(strand);
    cairn_priv_enter_path((cairn_strand *)strand, path, length);
    if (path != own)
        cairn_priv_free(path);
    return crn_site_take_frame(strand, height);
}

static uint64_t go(cairn_priv_strand *strand, crn_node *node, uint64_t *word)
{
    size_t depth;
    crn_tree *tree = tree_of(node, &depth);
    if (strand->current & CRN_REPLACED) /* a tail call to code that turned out not to be profiled */
        CAIRN_PRIV_PUT(strand->current, *strand->top);
    uint32_t number =
        number_of(tree, cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand)));
    uint64_t *counters = number ? cairn_priv_tree_known((cairn_strand *)strand, number) : NULL;
    uint64_t before = enter_path(strand, tree, node, depth);
    if (before && counters && word == word_of(counters, (size_t)(node - tree->nodes))) {
        put_node_offset(word_of(counters, 0), strand, before);
        put_node_offset(word, strand, (uint32_t)strand->current);
    }
    return before ? strand->graph_tag + before : 0;
}

uint64_t crn_site_go(crn_node *node, uint64_t *word)
{
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return 0;
    uint64_t before = go((cairn_priv_strand *)strand, node, word);
    crn_site_release(strand);
    return before;
}
