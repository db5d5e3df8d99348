/* SPDX-License-Identifier: MIT
 *
 * plain_tree.c - see plain_tree.h.
 */
#include "baseline/plain_tree.h"

#include <stdlib.h>

#include "baseline/fold.h"

enum { ARENA_CHUNK = 1 << 20, STACK_FIRST = 1 << 10 };
#define NO_BLOCK UINT32_MAX

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void *take(plain_profile *profile, size_t size)
{
    if ((size_t)(profile->arena_end - profile->arena) < size) {
        profile->arena = must(calloc(1, ARENA_CHUNK));
        profile->arena_end = profile->arena + ARENA_CHUNK;
    }
    void *memory = profile->arena;
    profile->arena += size;
    return memory;
}

static plain_node *new_node(plain_profile *profile, plain_node *parent, uint32_t block)
{
    plain_node *node = take(profile, sizeof(*node));
    node->parent = parent;
    node->block = block;
    node->callee_block = NO_BLOCK;
    return node;
}

plain_profile *plain_open(void)
{
    plain_profile *profile = must(calloc(1, sizeof(*profile)));
    profile->stack = must(malloc(STACK_FIRST * sizeof(plain_node *)));
    profile->end = profile->stack + STACK_FIRST - 1;
    profile->root = new_node(profile, NULL, 0);
    plain_restart(profile);
    return profile;
}

void plain_restart(plain_profile *profile)
{
    profile->top = profile->stack;
    *profile->top = profile->root;
    profile->root->count++;
}

void plain_grow(plain_profile *profile)
{
    size_t depth = (size_t)(profile->top - profile->stack);
    size_t capacity = (size_t)(profile->end + 1 - profile->stack) * 2;
    profile->stack = must(realloc(profile->stack, capacity * sizeof(plain_node *)));
    profile->top = profile->stack + depth;
    profile->end = profile->stack + capacity - 1;
}

DEFINE_FOLD(plain_node)

plain_node *plain_follow(plain_profile *profile, plain_node *node, uint32_t block)
{
    plain_edge **link = &node->edges;
    while (*link && (*link)->block != block)
        link = &(*link)->next;
    plain_edge *edge = *link;
    if (edge) {
        *link = edge->next;
    } else {
        edge = take(profile, sizeof(*edge));
        edge->block = block;
        edge->to = fold(node, block);
        if (!edge->to)
            edge->to = new_node(profile, node, block);
    }
    edge->next = node->edges;
    node->edges = edge;
    node->callee_block = block;
    node->callee = edge->to;
    return edge->to;
}

typedef struct step {
    const plain_node *node;
    const plain_edge *next;
} step;

void plain_visit(const plain_profile *profile, plain_visitor *visit, void *data)
{
    size_t capacity = 64, length = 1;
    step *steps = must(malloc(capacity * sizeof(*steps)));
    uint32_t *path = must(malloc(capacity * sizeof(*path)));
    steps[0] = (step){profile->root, profile->root->edges};
    path[0] = 0;
    visit(data, path, length, profile->root);
    while (length) {
        step *last = &steps[length - 1];
        const plain_edge *edge = last->next;
        if (!edge) {
            length--;
            continue;
        }
        last->next = edge->next;
        if (edge->to->parent != last->node) /* folded */
            continue;
        if (length == capacity) {
            capacity *= 2;
            steps = must(realloc(steps, capacity * sizeof(*steps)));
            path = must(realloc(path, capacity * sizeof(*path)));
        }
        path[length] = edge->block;
        steps[length++] = (step){edge->to, edge->to->edges};
        visit(data, path, length, edge->to);
    }
    free(steps);
    free(path);
}
