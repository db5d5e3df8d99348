/* SPDX-License-Identifier: MIT */
#include "profile/call_graph.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/figures.h"

/* Arrows while they are summed, with a hash table by caller and callee. */
typedef struct gathering {
    const crn_profile *profile;
    const uint64_t *totals;
    const uint8_t *shown; /* by block; NULL: all are shown */
    crn_call_arrow *arrows;
    uint32_t count, room;
    uint32_t *table, mask; /* index of an arrow + 1; 0: free */
} gathering;

static uint32_t slot_of(const gathering *all, uint32_t caller, uint32_t callee)
{
    uint64_t hash = ((uint64_t)caller << 32 | callee) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & all->mask;
    while (all->table[at]) {
        const crn_call_arrow *arrow = &all->arrows[all->table[at] - 1];
        if (arrow->caller == caller && arrow->callee == callee)
            break;
        at = (at + 1) & all->mask;
    }
    return at;
}

static void grow(gathering *all)
{
    all->room = all->room ? all->room * 2 : 256;
    all->arrows = crn_realloc(all->arrows, all->room, sizeof *all->arrows);
    crn_free(all->table);
    all->mask = all->room * 2 - 1;
    all->table = crn_calloc((size_t)all->mask + 1, sizeof *all->table);
    for (uint32_t i = 0; i < all->count; i++)
        all->table[slot_of(all, all->arrows[i].caller, all->arrows[i].callee)] = i + 1;
}

/* Returns 1 + the index of the arrow, which it adds if missing; 0 if the arrow is not shown. */
static uint32_t arrow_at(gathering *all, uint32_t caller, uint32_t callee)
{
    if (all->shown && (!all->shown[caller] || !all->shown[callee]))
        return 0;
    if (all->count == all->room)
        grow(all);
    uint32_t at = slot_of(all, caller, callee);
    if (!all->table[at]) {
        all->arrows[all->count] = (crn_call_arrow){.caller = caller, .callee = callee};
        all->table[at] = ++all->count;
    }
    return all->table[at];
}

/* Returns true if no ancestor of the context has the same block and the same caller. */
static bool is_outermost(const crn_profile *profile, uint32_t context)
{
    uint32_t caller = profile->block[profile->parent[context]];
    for (uint32_t c = profile->previous[context]; c != CRN_CONTEXT_NONE && c;
         c = profile->previous[c])
        if (profile->block[profile->parent[c]] == caller)
            return false;
    return true;
}

static void add_contexts(gathering *all, const uint8_t *kept)
{
    const crn_profile *profile = all->profile;
    for (uint32_t c = 1; c < profile->context_count; c++) {
        uint32_t arrow = arrow_at(all, profile->block[profile->parent[c]], profile->block[c]);
        if (!arrow)
            continue;
        if (!kept || kept[c])
            all->arrows[arrow - 1].calls += profile->calls_tree[c];
        if (all->totals[c] && is_outermost(profile, c))
            all->arrows[arrow - 1].inclusive += all->totals[c];
    }
}

static void add_edges(gathering *all, const uint8_t *kept)
{
    const crn_profile *profile = all->profile;
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if (kept && !kept[edge->target])
            continue;
        uint32_t arrow = arrow_at(all, profile->block[edge->from], profile->block[edge->target]);
        if (arrow)
            all->arrows[arrow - 1].calls += edge->calls;
    }
}

static int compare_arrows(const void *left, const void *right)
{
    const crn_call_arrow *a = left, *b = right;
    return CRN_ORDER(b->inclusive, a->inclusive)
               ?: CRN_ORDER(b->calls, a->calls)
               ?: CRN_ORDER(a->caller, b->caller)
               ?: CRN_ORDER(a->callee, b->callee);
}

crn_call_graph crn_call_graph_of(const crn_profile *profile, const uint8_t *kept,
                                 const uint8_t *shown, const uint64_t *totals)
{
    gathering all = {.profile = profile, .totals = totals, .shown = shown};
    grow(&all);
    add_contexts(&all, kept);
    add_edges(&all, kept);
    uint32_t count = 0;
    bool every = crn_calls_static(profile);
    for (uint32_t i = 0; i < all.count; i++)
        if (every || all.arrows[i].calls || all.arrows[i].inclusive)
            all.arrows[count++] = all.arrows[i];
    if (count)
        qsort(all.arrows, count, sizeof *all.arrows, compare_arrows);
    crn_free(all.table);
    return (crn_call_graph){count, all.arrows};
}

crn_call_graph crn_call_graph_between(const crn_profile *profile, uint32_t metric,
                                      const uint8_t *kept, const uint8_t *shown)
{
    uint64_t *totals = crn_totals(profile, metric, kept);
    crn_call_graph graph = crn_call_graph_of(profile, kept, shown, totals);
    crn_free(totals);
    return graph;
}

crn_call_graph crn_call_graph_make(const crn_profile *profile, uint32_t metric, const uint8_t *kept)
{
    return crn_call_graph_between(profile, metric, kept, NULL);
}

void crn_call_graph_free(crn_call_graph *graph)
{
    crn_free(graph->arrows);
    *graph = (crn_call_graph){0};
}
