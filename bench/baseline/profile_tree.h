/* SPDX-License-Identifier: MIT
 *
 * profile_tree.h - the profile that fble's author proposed (profile-tree.txt), built as it is
 * written there, as the baseline that Cairn is measured against: a tree of nodes with
 * parent pointers, depth, count and time; children sorted by block in a vector, found by
 * binary search; compaction tried for 1, 2, 3, ... nodes up the tree when there is no such
 * child; back edges kept among the children; a stack of pointers into the tree; an enabled
 * flag inside.
 */
#ifndef BENCH_BASELINE_PROFILE_TREE_H
#define BENCH_BASELINE_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tree_node tree_node;

typedef struct tree_children {
    size_t size;
    tree_node **nodes; /* by block; a node that is not deeper is a back edge */
} tree_children;

struct tree_node {
    tree_node *parent;
    uint32_t block;
    uint32_t depth;
    uint64_t count;
    uint64_t time;
    tree_children children;
};

typedef struct tree_profile {
    bool enabled;
    tree_node *root;
    tree_node **stack; /* the whole stack: bottom */
    tree_node **top;   /* the current node */
    size_t capacity;
    uint64_t node_count;
} tree_profile;

/* A profile with one strand, at the root. Ends the process when there is no memory. */
tree_profile *tree_open(void);
void tree_close(tree_profile *profile);

/* Starts a new strand: the stack is the root alone. */
void tree_restart(tree_profile *profile);

/* Adds the child `block` of `node`, or a back edge, at `place` among its children. */
tree_node *tree_add(tree_profile *profile, tree_node *node, size_t place, uint32_t block);

/* Doubles the stack's capacity. */
void tree_grow(tree_profile *profile);

static inline tree_node *tree_follow(tree_profile *profile, tree_node *node, uint32_t block)
{
    const tree_children *children = &node->children;
    size_t low = 0, high = children->size;
    while (low < high) {
        size_t middle = (low + high) / 2;
        tree_node *child = children->nodes[middle];
        if (child->block == block)
            return child;
        if (child->block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return tree_add(profile, node, low, block);
}

static inline void tree_enter(tree_profile *profile, uint32_t block)
{
    if (!profile->enabled)
        return;
    tree_node *node = tree_follow(profile, *profile->top, block);
    node->count++;
    if (profile->top == profile->stack + profile->capacity - 1)
        tree_grow(profile);
    *++profile->top = node;
}

static inline void tree_replace(tree_profile *profile, uint32_t block)
{
    if (!profile->enabled)
        return;
    tree_node *node = tree_follow(profile, *profile->top, block);
    node->count++;
    *profile->top = node;
}

static inline void tree_leave(tree_profile *profile)
{
    if (profile->enabled)
        profile->top--;
}

static inline void tree_tick(tree_profile *profile, uint32_t count)
{
    if (profile->enabled)
        (*profile->top)->time += count;
}

/* Visits every node, parents first, with its path, root first. */
typedef void tree_visitor(void *data, const uint32_t *path, size_t length, const tree_node *node);
void tree_visit(const tree_profile *profile, tree_visitor *visit, void *data);

#endif
