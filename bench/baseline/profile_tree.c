/* SPDX-License-Identifier: MIT
 *
 * profile_tree.c - see profile_tree.h.
 */
#include "baseline/profile_tree.h"

#include <stdlib.h>
#include <string.h>

#include "baseline/fold.h"

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static tree_node *new_node(tree_node *parent, uint32_t block)
{
    tree_node *node = must(malloc(sizeof(*node)));
    *node = (tree_node){.parent = parent, .block = block, .depth = parent ? parent->depth + 1 : 1};
    return node;
}

tree_profile *tree_open(void)
{
    tree_profile *profile = must(malloc(sizeof(*profile)));
    profile->enabled = true;
    profile->root = new_node(NULL, 0);
    profile->node_count = 1;
    profile->capacity = 16;
    profile->stack = must(malloc(profile->capacity * sizeof(tree_node *)));
    tree_restart(profile);
    return profile;
}

void tree_restart(tree_profile *profile)
{
    profile->top = profile->stack;
    *profile->top = profile->root;
    profile->root->count++;
}

DEFINE_FOLD(tree_node)

/* The vector doubles when its size is a power of two. */
static void insert_child(tree_children *children, size_t place, tree_node *child)
{
    size_t size = children->size;
    if ((size & (size - 1)) == 0)
        children->nodes = must(realloc(children->nodes, (size ? size * 2 : 1) * sizeof(child)));
    memmove(children->nodes + place + 1, children->nodes + place,
            (size - place) * sizeof(tree_node *));
    children->nodes[place] = child;
    children->size++;
}

tree_node *tree_add(tree_profile *profile, tree_node *node, size_t place, uint32_t block)
{
    tree_node *child = fold(node, block);
    if (!child) {
        child = new_node(node, block);
        profile->node_count++;
    }
    insert_child(&node->children, place, child);
    return child;
}

void tree_grow(tree_profile *profile)
{
    size_t depth = (size_t)(profile->top - profile->stack);
    profile->capacity *= 2;
    profile->stack = must(realloc(profile->stack, profile->capacity * sizeof(tree_node *)));
    profile->top = profile->stack + depth;
}

/* A step of a walk over the tree: a node and the next of its children. */
typedef struct step {
    tree_node *node;
    size_t next;
} step;

/* Walks the tree, visiting each node before its children and freeing it after them. */
static void walk(tree_node *root, tree_visitor *visit, void *data, bool release)
{
    size_t room = 64, length = 0;
    step *steps = must(malloc(room * sizeof(*steps)));
    uint32_t *path = must(malloc(room * sizeof(*path)));
    tree_node *next = root;
    while (next || length) {
        if (next) {
            if (length == room) {
                room *= 2;
                steps = must(realloc(steps, room * sizeof(*steps)));
                path = must(realloc(path, room * sizeof(*path)));
            }
            path[length] = next->block;
            steps[length++] = (step){next, 0};
            if (visit)
                visit(data, path, length, next);
        }
        step *last = &steps[length - 1];
        next = NULL;
        while (!next && last->next < last->node->children.size) {
            tree_node *child = last->node->children.nodes[last->next++];
            next = child->depth > last->node->depth ? child : NULL;
        }
        if (!next) {
            length--;
            if (release) {
                free(last->node->children.nodes);
                free(last->node);
            }
        }
    }
    free(steps);
    free(path);
}

void tree_visit(const tree_profile *profile, tree_visitor *visit, void *data)
{
    walk(profile->root, visit, data, false);
}

void tree_close(tree_profile *profile)
{
    walk(profile->root, NULL, NULL, true);
    free(profile->stack);
    free(profile);
}
