/* SPDX-License-Identifier: MIT */
#include "profile/shown_graph.h"

#include <stdlib.h>

#include "base/memory.h"

static int compare_arrows(const void *left, const void *right)
{
    const crn_shown_arrow *a = left, *b = right;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    return a->indirect - b->indirect;
}

/* Returns, by context, the nearest context at or above it with a shown block; CRN_CONTEXT_NONE if
 * there is none. */
static uint32_t *find_nearest(const crn_profile *profile, const uint8_t *shown)
{
    uint32_t *nearest = crn_calloc(profile->context_count, sizeof *nearest);
    for (uint32_t c = 0; c < profile->context_count; c++)
        nearest[c] = shown[profile->block[c]] ? c
                     : c                      ? nearest[profile->parent[c]]
                                              : CRN_CONTEXT_NONE;
    return nearest;
}

static void add(crn_shown_graph *graph, const crn_profile *profile, const uint32_t *nearest,
                uint32_t from, uint32_t target, uint64_t calls)
{
    uint32_t caller = nearest[from];
    if (caller == CRN_CONTEXT_NONE)
        return;
    graph->arrows[graph->count++] =
        (crn_shown_arrow){profile->block[caller], profile->block[target], calls, caller != from};
}

static void add_up(crn_shown_graph *graph)
{
    uint32_t count = 0;
    qsort(graph->arrows, graph->count, sizeof *graph->arrows, compare_arrows);
    for (uint32_t i = 0; i < graph->count; i++) {
        if (count && compare_arrows(&graph->arrows[count - 1], &graph->arrows[i]) == 0)
            graph->arrows[count - 1].calls += graph->arrows[i].calls;
        else
            graph->arrows[count++] = graph->arrows[i];
    }
    graph->count = count;
}

crn_shown_graph crn_shown_graph_make(const crn_profile *profile, const uint8_t *shown,
                                     const uint8_t *kept)
{
    crn_shown_graph graph = {0};
    uint32_t *nearest = find_nearest(profile, shown);
    graph.arrows =
        crn_calloc((size_t)profile->context_count + profile->edge_count, sizeof *graph.arrows);
    for (uint32_t c = 1; c < profile->context_count; c++)
        if (shown[profile->block[c]] && (!kept || kept[c]))
            add(&graph, profile, nearest, profile->parent[c], c, profile->calls_tree[c]);
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if (shown[profile->block[edge->target]] && (!kept || kept[edge->target]))
            add(&graph, profile, nearest, edge->from, edge->target, edge->calls);
    }
    crn_free(nearest);
    add_up(&graph);
    return graph;
}

void crn_shown_graph_free(crn_shown_graph *graph)
{
    crn_free(graph->arrows);
    *graph = (crn_shown_graph){0};
}
