/* SPDX-License-Identifier: MIT */
#include "spans/span_figures.h"

#include "base/memory.h"

typedef struct tree_builder {
    const crn_spans *spans;
    crn_profile_builder *builder;
    uint32_t *blocks; /* from the profile's blocks to the builder's */
} tree_builder;

/* Charges a span to the context of its block below `above`, and returns this context. If the
 * profile lacks the block, charges the root and returns `above`. */
static uint32_t add_span(tree_builder *all, uint32_t span, uint32_t above)
{
    uint32_t block = all->blocks[crn_span_block(all->spans, span)];
    uint32_t root = crn_profile_builder_root(all->builder);
    uint32_t node = block ? crn_profile_builder_child(all->builder, above, block, 1) : above;
    crn_profile_builder_charge(all->builder, block ? node : root, CRN_METRIC_WALL,
                               crn_span_self(all->spans, span));
    return node;
}

/* A span to visit, and the context of its parent. */
typedef struct pending {
    uint32_t span, above;
} pending;

/* Adds a root span and its descendants, parents first, with an explicit stack: parents can follow
 * their children in the array. */
static void add_descendants(tree_builder *all, uint32_t root, pending *stack)
{
    uint32_t height = 0;
    stack[height++] = (pending){root, crn_profile_builder_root(all->builder)};
    while (height) {
        const uint32_t *children;
        pending next = stack[--height];
        uint32_t count = crn_span_children(all->spans, next.span, &children);
        uint32_t node = add_span(all, next.span, next.above);
        for (uint32_t i = 0; i < count; i++)
            stack[height++] = (pending){children[i], node};
    }
}

/* The stack has room for all spans; untouched pages of it cost nothing. */
crn_profile *crn_span_tree(const crn_spans *spans, const crn_profile *profile)
{
    uint32_t count = spans->trace->span_count;
    tree_builder all = {.spans = spans, .builder = crn_profile_builder_new()};
    pending *stack = crn_calloc((size_t)count + 1, sizeof *stack);
    all.blocks = crn_calloc((size_t)profile->block_count + 1, sizeof *all.blocks);
    crn_profile_builder_blocks(all.builder, profile, all.blocks);
    for (uint32_t s = 0; s < count; s++)
        if (spans->trace->spans[s].parent == CRN_SPAN_NONE)
            add_descendants(&all, s, stack);
    crn_free(stack);
    crn_free(all.blocks);
    return crn_profile_builder_end(all.builder);
}
