/* SPDX-License-Identifier: MIT
 *
 * plain_tree.h - the fastest tree of calling contexts that we could write without Cairn's other
 * features: the baseline for its hot path.
 *
 * Each node caches its last callee; other callees are in a list, most recently used first. Nodes
 * come from an arena. Cycles are folded as in profile_tree.h, so that contexts are equal. Edges
 * have no counts; there are no limits; a crash loses everything, and no other process can read it.
 */
#ifndef BENCH_BASELINE_PLAIN_TREE_H
#define BENCH_BASELINE_PLAIN_TREE_H

#include <stddef.h>
#include <stdint.h>

typedef struct plain_node plain_node;
typedef struct plain_edge plain_edge;

struct plain_node {
    uint64_t count, time;
    plain_node *callee; /* the last one */
    uint32_t callee_block, block;
    plain_edge *edges;
    plain_node *parent;
};

struct plain_edge {
    plain_node *to; /* a child, or an ancestor */
    plain_edge *next;
    uint32_t block;
};

typedef struct plain_profile {
    plain_node **top; /* the current node */
    plain_node **stack, **end;
    plain_node *root;
    char *arena, *arena_end;
} plain_profile;

/* A profile with one strand, at the root. Ends the process when there is no memory. It lives as
 * long as the process. */
plain_profile *plain_open(void);

/* Starts a new strand: the stack is the root alone. */
void plain_restart(plain_profile *profile);

/* Finds or adds an edge and makes it the first. Returns the node that it leads to. */
plain_node *plain_follow(plain_profile *profile, plain_node *node, uint32_t block);

/* Doubles the stack's capacity. */
void plain_grow(plain_profile *profile);

/* Visits every node, parents first, with its path, root first. */
typedef void plain_visitor(void *data, const uint32_t *path, size_t length, const plain_node *node);
void plain_visit(const plain_profile *profile, plain_visitor *visit, void *data);

static inline plain_node *plain_step(plain_profile *profile, plain_node *node, uint32_t block)
{
    plain_node *callee = __builtin_expect(node->callee_block == block, 1)
                             ? node->callee
                             : plain_follow(profile, node, block);
    callee->count++;
    return callee;
}

static inline void plain_enter(plain_profile *profile, uint32_t block)
{
    if (__builtin_expect(profile->top == profile->end, 0))
        plain_grow(profile);
    plain_node *callee = plain_step(profile, *profile->top, block);
    *++profile->top = callee;
}

static inline void plain_replace(plain_profile *profile, uint32_t block)
{
    *profile->top = plain_step(profile, *profile->top, block);
}

static inline void plain_leave(plain_profile *profile)
{
    profile->top--;
}

static inline void plain_tick(plain_profile *profile, uint32_t count)
{
    (*profile->top)->time += count;
}

#endif
