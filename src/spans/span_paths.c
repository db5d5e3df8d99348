/* SPDX-License-Identifier: MIT */
#include "spans/span_paths.h"

#include "base/memory.h"

typedef struct node_table {
    crn_path_node *nodes;
    uint32_t count, room;
    uint32_t *slots; /* open addressing; node numbers, 0: free */
    uint32_t mask;
} node_table;

static uint32_t hash_of(uint32_t parent, uint32_t block)
{
    uint64_t mixed = ((uint64_t)parent << 32 | block) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(mixed >> 32) ^ (uint32_t)(mixed >> 7);
}

static void grow_slots(node_table *table)
{
    uint32_t size = table->mask ? 2 * (table->mask + 1) : 1024;
    crn_free(table->slots);
    table->slots = crn_calloc(size, sizeof *table->slots);
    table->mask = size - 1;
    for (uint32_t n = 1; n < table->count; n++) {
        uint32_t at = hash_of(table->nodes[n].parent, table->nodes[n].block) & table->mask;
        while (table->slots[at])
            at = (at + 1) & table->mask;
        table->slots[at] = n;
    }
}

/* Returns the node of `block` below `parent`, adding it if it is new. */
static uint32_t child_of(node_table *table, uint32_t parent, uint32_t block)
{
    if (table->count * 2 >= table->mask)
        grow_slots(table);
    uint32_t at = hash_of(parent, block) & table->mask;
    for (; table->slots[at]; at = (at + 1) & table->mask) {
        const crn_path_node *node = &table->nodes[table->slots[at]];
        if (node->parent == parent && node->block == block)
            return table->slots[at];
    }
    CRN_GROW(table->nodes, table->count, table->room);
    table->nodes[table->count] = (crn_path_node){parent, block};
    return table->slots[at] = table->count++;
}

/* Walks the spans from the roots down, because a parent can come after its children in the
 * array. */
crn_span_paths crn_span_paths_make(const crn_spans *spans)
{
    const crn_trace *trace = spans->trace;
    uint32_t *stack = crn_calloc(trace->span_count + (size_t)1, sizeof *stack), height = 0;
    node_table table = {.count = 1, .room = 256};
    table.nodes = crn_calloc(table.room, sizeof *table.nodes);
    uint32_t *of = crn_calloc(trace->span_count + (size_t)1, sizeof *of);
    for (uint32_t s = 0; s < trace->span_count; s++)
        if (trace->spans[s].parent == CRN_SPAN_NONE)
            stack[height++] = s;
    while (height) {
        const uint32_t *children;
        uint32_t s = stack[--height], count = crn_span_children(spans, s, &children);
        if (!count)
            continue;
        uint32_t node = child_of(&table, of[s], crn_span_block(spans, s));
        for (uint32_t i = 0; i < count; i++) {
            of[children[i]] = node;
            stack[height++] = children[i];
        }
    }
    crn_free(table.slots);
    crn_free(stack);
    return (crn_span_paths){table.nodes, of};
}

void crn_span_paths_free(crn_span_paths *paths)
{
    crn_free(paths->nodes);
    crn_free(paths->of);
    *paths = (crn_span_paths){0};
}
