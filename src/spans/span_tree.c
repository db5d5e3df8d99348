/* SPDX-License-Identifier: MIT */
#include "spans/span_tree.h"

#include "base/memory.h"

typedef struct planting {
    const crn_spans *spans;
    crn_profile_builder *builder;
    uint32_t *blocks; /* the builder's, by the profile's */
} planting;

static void map_blocks(planting *all, const crn_profile *profile)
{
    all->blocks = crn_calloc((size_t)profile->block_count + 1, sizeof *all->blocks);
    for (uint32_t b = 1; b < profile->block_count; b++) {
        crn_block_info info = profile->blocks[b];
        info.parent = info.parent < b ? all->blocks[info.parent] : 0;
        all->blocks[b] = b == profile->folded_block
                             ? crn_profile_builder_folded(all->builder)
                             : crn_profile_builder_block(all->builder, &info);
    }
}

/* What is of no block of the profile is the root's, and what is below it hangs above it. Returns
 * where it hangs. */
static uint32_t plant(planting *all, uint32_t span, uint32_t above)
{
    uint32_t block = all->blocks[crn_span_block(all->spans, span)];
    uint32_t root = crn_profile_builder_root(all->builder);
    uint32_t node = block ? crn_profile_builder_child(all->builder, above, block, 1) : above;
    crn_profile_builder_charge(all->builder, block ? node : root, CRN_METRIC_WALL,
                               crn_span_self(all->spans, span));
    return node;
}

/* A span, and what it hangs below. */
typedef struct pending {
    uint32_t span, above;
} pending;

/* Parents need not come before their children. */
static void plant_below(planting *all, uint32_t root, pending *stack)
{
    uint32_t height = 0;
    stack[height++] = (pending){root, crn_profile_builder_root(all->builder)};
    while (height) {
        const uint32_t *children;
        pending next = stack[--height];
        uint32_t count = crn_span_children(all->spans, next.span, &children);
        uint32_t node = plant(all, next.span, next.above);
        for (uint32_t i = 0; i < count; i++)
            stack[height++] = (pending){children[i], node};
    }
}

/* Of the stack only as much is touched as is below one span at a time. */
crn_profile *crn_span_tree(const crn_spans *spans, const crn_profile *profile)
{
    uint32_t count = spans->trace->span_count;
    planting all = {.spans = spans, .builder = crn_profile_builder_new()};
    pending *stack = crn_calloc((size_t)count + 1, sizeof *stack);
    map_blocks(&all, profile);
    for (uint32_t s = 0; s < count; s++)
        if (spans->trace->spans[s].parent == CRN_SPAN_NONE)
            plant_below(&all, s, stack);
    crn_free(stack);
    crn_free(all.blocks);
    return crn_profile_builder_end(all.builder);
}
