/* SPDX-License-Identifier: MIT */
#include "profile/call_graph.h"

#include "base/memory.h"

static uint32_t begin_of(const crn_call_arrow *arrow, bool callers)
{
    return callers ? arrow->callee : arrow->caller;
}

static uint32_t end_of(const crn_call_arrow *arrow, bool callers)
{
    return callers ? arrow->caller : arrow->callee;
}

uint8_t *crn_block_neighbours(const crn_call_graph *graph, uint32_t blocks, const uint8_t *of,
                              bool callers)
{
    uint8_t *set = crn_calloc(blocks, 1);
    for (uint32_t i = 0; i < graph->count; i++)
        if (of[begin_of(&graph->arrows[i], callers)])
            set[end_of(&graph->arrows[i], callers)] = 1;
    set[0] = 0;
    return set;
}

/* Groups the far ends of arrows by block, in `*targets`. Returns the index of each block's first
 * target. Free both. */
static uint32_t *group_arrows(const crn_call_graph *graph, uint32_t blocks, bool callers,
                              uint32_t **targets)
{
    uint32_t *first = crn_calloc((size_t)blocks + 2, sizeof *first);
    *targets = crn_calloc((size_t)graph->count + 1, sizeof **targets);
    for (uint32_t i = 0; i < graph->count; i++)
        first[begin_of(&graph->arrows[i], callers) + 2]++;
    for (uint32_t b = 0; b < blocks; b++)
        first[b + 2] += first[b + 1];
    for (uint32_t i = 0; i < graph->count; i++)
        (*targets)[first[begin_of(&graph->arrows[i], callers) + 1]++] =
            end_of(&graph->arrows[i], callers);
    return first;
}

void crn_block_reach(const crn_call_graph *graph, uint32_t blocks, uint8_t *set, bool callers)
{
    uint32_t *targets, waiting = 0;
    uint32_t *first = group_arrows(graph, blocks, callers, &targets);
    uint32_t *found = crn_calloc(blocks, sizeof *found);
    for (uint32_t b = 0; b < blocks; b++)
        if (set[b])
            found[waiting++] = b;
    while (waiting) {
        uint32_t block = found[--waiting];
        for (uint32_t i = first[block]; i < first[block + 1]; i++)
            if (!set[targets[i]]) {
                set[targets[i]] = 1;
                found[waiting++] = targets[i];
            }
    }
    set[0] = 0;
    crn_free(found);
    crn_free(first);
    crn_free(targets);
}
