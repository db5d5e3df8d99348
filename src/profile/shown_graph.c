/* SPDX-License-Identifier: MIT */
#include "profile/shown_graph.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/call_graph.h"
#include "profile/figures.h"

static int compare_arrows(const void *left, const void *right)
{
    const crn_shown_arrow *a = left, *b = right;
    return CRN_ORDER(a->caller, b->caller)
               ?: CRN_ORDER(a->callee, b->callee)
               ?: CRN_ORDER(a->indirect, b->indirect);
}

/* Returns, by context, the nearest context at or above it with a shown block; CRN_CONTEXT_NONE if
 * no block on its path is shown. */
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

/* ---- calls that the program may make, without paths ---- */

enum { STEPS_MAX = 50000000 }; /* limits the search: files may be hostile */

typedef struct search {
    const uint8_t *shown;
    const crn_call_arrow *arrows; /* by caller */
    const uint32_t *first;        /* by block: its first arrow */
    uint32_t *stack;              /* blocks whose arrows are still to be followed */
    uint32_t *seen;               /* by block: the last `start` whose search reached it */
    crn_shown_graph *graph;
    uint32_t capacity, steps;
} search;

static void found(search *search, uint32_t caller, uint32_t callee, bool indirect)
{
    crn_shown_graph *graph = search->graph;
    CRN_GROW(graph->arrows, graph->count, search->capacity);
    graph->arrows[graph->count++] = (crn_shown_arrow){caller, callee, 0, indirect};
}

/* Finds the shown blocks that `start` calls directly or through hidden blocks. */
static void search_from(search *search, uint32_t start)
{
    uint32_t waiting = 0;
    search->stack[waiting++] = start;
    while (waiting && search->steps < STEPS_MAX) {
        uint32_t block = search->stack[--waiting];
        for (uint32_t i = search->first[block]; i < search->first[block + 1]; i++) {
            uint32_t callee = search->arrows[i].callee;
            search->steps++;
            if (search->shown[callee])
                found(search, start, callee, block != start);
            else if (search->seen[callee] != start) {
                search->seen[callee] = start;
                search->stack[waiting++] = callee;
            }
        }
    }
}

static int compare_callers(const void *left, const void *right)
{
    const crn_call_arrow *a = left, *b = right;
    return CRN_ORDER(a->caller, b->caller);
}

static crn_shown_graph search_all(const crn_profile *profile, const uint8_t *shown)
{
    crn_shown_graph graph = {0};
    uint32_t blocks = profile->block_count;
    crn_call_graph calls = crn_call_graph_make(profile, CRN_METRIC_CALLS, NULL);
    uint32_t *first = crn_calloc((size_t)blocks + 1, sizeof *first);
    qsort(calls.arrows, calls.count, sizeof *calls.arrows, compare_callers);
    for (uint32_t i = 0; i < calls.count; i++)
        first[calls.arrows[i].caller + 1] = i + 1;
    for (uint32_t b = 1; b <= blocks; b++)
        first[b] = first[b] > first[b - 1] ? first[b] : first[b - 1];
    search search = {.shown = shown,
                     .arrows = calls.arrows,
                     .first = first,
                     .stack = crn_calloc((size_t)blocks + 1, sizeof(uint32_t)),
                     .seen = crn_calloc(blocks, sizeof(uint32_t)),
                     .graph = &graph};
    for (uint32_t b = 1; b < blocks; b++)
        if (shown[b])
            search_from(&search, b);
    crn_free(search.stack);
    crn_free(search.seen);
    crn_free(first);
    crn_call_graph_free(&calls);
    add_up(&graph);
    return graph;
}

crn_shown_graph crn_shown_graph_make(const crn_profile *profile, const uint8_t *shown,
                                     const uint8_t *kept)
{
    if (crn_calls_static(profile))
        return search_all(profile, shown);
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
