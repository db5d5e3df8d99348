/* SPDX-License-Identifier: MIT
 *
 * Trees of what was inlined: their counters, and paths in them that are entered at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <cairn/tree.h>

#include "runtime.h"

enum { POOLS = 64 };

__thread uint64_t *cairn_priv_thread_scratch __attribute__((tls_model("initial-exec")));

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Threads that nothing is recorded of do not write to the same memory, as long as there are few:
 * else each would wait for the other. */
static uint64_t *scratch(void)
{
    static uint64_t pools[POOLS][CAIRN_PRIV_NODES_MOST];
    static uint32_t turn;
    if (!cairn_priv_thread_scratch)
        cairn_priv_thread_scratch = pools[__atomic_fetch_add(&turn, 1, __ATOMIC_RELAXED) % POOLS];
    return cairn_priv_thread_scratch;
}

/* ---- trees ---- */

static crn_site *site_of(crn_node *tree, uint32_t number)
{
    return (crn_site *)(void *)((char *)tree + tree[number].site);
}

static uint32_t block_of(crn_site *site, cairn_profile *profile)
{
    if (__atomic_load_n(&site->block, __ATOMIC_ACQUIRE) == CRN_SITE_NEW)
        crn_site_resolve(site, profile);
    return __atomic_load_n(&site->block, __ATOMIC_ACQUIRE);
}

static void set_key(crn_node *node, uint32_t number, bool first)
{
    uint32_t key = CAIRN_PRIV_TREE_KEY | number;
    uint32_t guesses = first ? key * 0x9e3779b1u : crn_site_guesses(number, true);
    __atomic_store_n(&node->guesses, guesses, __ATOMIC_RELAXED);
    __atomic_store_n(&node->key, key, __ATOMIC_RELEASE);
}

/* Under the lock. The tree's own key is stored last. */
static void add(crn_node *tree, cairn_profile *profile)
{
    uint32_t count = tree->up;
    cairn_priv_node *nodes = calloc(count, sizeof *nodes);
    if (!nodes)
        return;
    for (uint32_t i = 1; i <= count; i++)
        nodes[i - 1] = (cairn_priv_node){i - tree[i].up, block_of(site_of(tree, i), profile)};
    uint32_t number = cairn_priv_tree_add(profile, nodes, count);
    free(nodes);
    if (!number)
        return;
    for (uint32_t i = count + 1; i-- > 0;)
        set_key(&tree[i], number + i, i == 0);
}

/* 0 if it has none: there was no room. */
static uint32_t number_of(crn_node *tree, cairn_profile *profile)
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

static uint64_t *find(cairn_priv_strand *strand, crn_node *tree)
{
    uint32_t number =
        number_of(tree, cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand)));
    uint64_t *counters = number ? cairn_priv_tree_counters((cairn_strand *)strand, number) : NULL;
    if (!counters)
        return scratch();
    cairn_priv_tree_remember(cairn_strand_lane((cairn_strand *)strand), tree->key,
                             (uint32_t)strand->current, (uintptr_t)counters);
    return counters;
}

uint64_t *crn_site_counters(crn_node *tree)
{
    int saved = errno;
    cairn_strand *strand = crn_site_hold();
    if (!strand)
        return scratch();
    uint64_t *counters = find((cairn_priv_strand *)strand, tree);
    crn_site_release(strand);
    errno = saved;
    return counters;
}

/* ---- paths ---- */

static int64_t height_of(const cairn_priv_strand *strand)
{
    return (const char *)strand->top - (const char *)strand->bottom;
}

/* The tree that it is in, and how deep. */
static crn_node *tree_of(crn_node *node, size_t *depth)
{
    *depth = 0;
    for (; node->site; node -= node->up)
        ++*depth;
    return node;
}

/* The stack may be a signal's, and small: what is inlined deeper than most has memory of its own,
 * and without it is entered as what it is inlined into. */
static void go(cairn_priv_strand *strand, crn_node *node)
{
    enum { SHORT = 32 };
    cairn_block own[SHORT], *path = own;
    cairn_profile *profile = cairn_lane_profile(cairn_strand_lane((cairn_strand *)strand));
    size_t depth;
    crn_node *at = node, *tree = tree_of(node, &depth);
    uint32_t number = number_of(tree, profile);
    if (depth > SHORT && !(path = calloc(depth, sizeof *path))) {
        path = own;
        for (; depth > SHORT; depth--)
            at -= at->up;
    }
    size_t length = depth;
    for (; depth > 0; at -= at->up)
        path[--depth] = block_of(site_of(tree, (uint32_t)(at - tree)), profile);
    int64_t before = height_of(strand);
    cairn_priv_enter_path((cairn_strand *)strand, path, length);
    if (number && height_of(strand) > before && strand->top[-1] != (uint32_t)strand->current)
        cairn_priv_tree_remember(cairn_strand_lane((cairn_strand *)strand), node->key,
                                 strand->top[-1], strand->current << 32 | node->key);
    if (path != own)
        free(path);
}

int64_t crn_site_go(crn_node *node)
{
    int saved = errno;
    cairn_strand *strand = crn_site_hold();
    if (!strand) {
        errno = saved;
        return CRN_HEIGHT_NONE;
    }
    go((cairn_priv_strand *)strand, node);
    int64_t height = height_of((cairn_priv_strand *)strand);
    crn_site_release(strand);
    errno = saved;
    return height;
}

/* ---- fork: the lock is nobody's in the child ---- */

static void before_fork(void)
{
    cairn_priv_strand_aside();
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
    cairn_priv_strand_back();
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}
