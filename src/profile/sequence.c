/* SPDX-License-Identifier: MIT */
#include "profile/sequence.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"
#include "profile/figures.h"
#include "profile/occurrence.h"

void crn_sequence_free(crn_sequence *sequence)
{
    crn_free(sequence->blocks);
    *sequence = (crn_sequence){0};
}

uint8_t *crn_sequence_within(const crn_profile *profile, const crn_sequence *sequence)
{
    uint8_t *within = crn_calloc(profile->context_count, sizeof *within);
    within[0] = crn_sequence_ends(profile, sequence, 0);
    for (uint32_t c = 1; c < profile->context_count; c++)
        within[c] = within[profile->parent[c]] || crn_sequence_ends(profile, sequence, c);
    return within;
}

uint8_t *crn_sequence_select(const crn_profile *profile, const crn_sequence *focus,
                             const crn_sequence *drops, size_t drop_count)
{
    if (!focus && !drop_count)
        return NULL;
    uint8_t *kept = focus ? crn_sequence_within(profile, focus)
                          : crn_calloc(profile->context_count, sizeof *kept);
    for (uint32_t c = 0; !focus && c < profile->context_count; c++)
        kept[c] = 1;
    for (size_t i = 0; i < drop_count; i++) {
        uint8_t *dropped = crn_sequence_within(profile, &drops[i]);
        for (uint32_t c = 0; c < profile->context_count; c++)
            kept[c] &= !dropped[c];
        crn_free(dropped);
    }
    return kept;
}

crn_sequence_cost crn_sequence_measure(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept)
{
    crn_sequence_cost cost = {0};
    uint8_t *within = crn_sequence_within(profile, sequence);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (!within[c] || (kept && !kept[c]))
            continue;
        cost.inclusive += crn_self(profile, metric, c);
        if (crn_sequence_ends(profile, sequence, c)) {
            cost.self += crn_self(profile, metric, c);
            cost.calls += profile->calls_tree[c];
        }
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if ((!kept || kept[edge->target]) && crn_sequence_edge_ends(profile, sequence, edge))
            cost.calls += edge->calls;
    }
    crn_free(within);
    return cost;
}

uint32_t crn_sequence_count(const crn_profile *profile, const crn_sequence *sequence)
{
    uint32_t count = 0;
    for (uint32_t c = 0; c < profile->context_count; c++)
        count += crn_sequence_ends(profile, sequence, c);
    return count;
}

/* ---- neighbours ---- */

/* Sums over the sequence, its callers and its callees. */
typedef struct gathering {
    const crn_profile *profile;
    const crn_sequence *sequence;
    const uint64_t *totals; /* in `metric`, of the kept contexts */
    const uint8_t *kept;
    uint32_t metric;
    uint8_t *ends;                           /* by context: the sequence occurs in it */
    crn_sequence_cost cost, *before, *after; /* cost: the sequence's; others by block */
} gathering;

static void mark_ends(gathering *all)
{
    const crn_profile *profile = all->profile;
    uint32_t last = all->sequence->blocks[all->sequence->length - 1];
    all->ends = crn_calloc(profile->context_count, sizeof *all->ends);
    for (uint32_t c = 0; c < profile->context_count; c++)
        if (profile->block[c] == last)
            all->ends[c] = crn_sequence_ends(profile, all->sequence, c);
}

/* Adds the costs of a context to `cost`; inclusive cost only if `outermost`. */
static void add_cost(const gathering *all, crn_sequence_cost *cost, uint32_t context,
                     bool outermost)
{
    if (outermost)
        cost->inclusive += all->totals[context];
    if (all->kept && !all->kept[context])
        return;
    cost->self += crn_self(all->profile, all->metric, context);
    cost->calls += all->profile->calls_tree[context];
}

static int compare_neighbours(const void *left, const void *right)
{
    const crn_neighbour *a = left, *b = right;
    return CRN_ORDER(b->cost.inclusive, a->cost.inclusive)
               ?: CRN_ORDER(b->cost.calls, a->cost.calls)
               ?: CRN_ORDER(a->block, b->block);
}

static bool costs_anything(const crn_sequence_cost *cost)
{
    return cost->calls || cost->self || cost->inclusive;
}

/* Lists the blocks with cost, sorted. Frees `costs`. */
static crn_neighbour *side_end(crn_sequence_cost *costs, uint32_t block_count, uint32_t *count)
{
    *count = 0;
    for (uint32_t b = 0; b < block_count; b++)
        *count += costs_anything(&costs[b]);
    crn_neighbour *neighbours = crn_calloc(*count ? *count : 1, sizeof *neighbours);
    for (uint32_t b = 0, n = 0; b < block_count; b++)
        if (costs_anything(&costs[b]))
            neighbours[n++] = (crn_neighbour){b, costs[b]};
    qsort(neighbours, *count, sizeof *neighbours, compare_neighbours);
    crn_free(costs);
    return neighbours;
}

/* Finds the block before the last `length` blocks of a context's path. Returns false if the path is
 * too short. */
static bool block_before(const crn_profile *profile, uint32_t context, uint32_t length,
                         uint32_t *block)
{
    for (; length; length--) {
        if (context == 0)
            return false;
        context = profile->parent[context];
    }
    *block = profile->block[context];
    return true;
}

/* Adds an occurrence to the costs of the sequence and of its caller. Searches ancestors with the
 * same block for an outer occurrence, and for one with the same caller. */
static void add_occurrence(gathering *all, uint32_t context)
{
    const crn_profile *profile = all->profile;
    uint32_t length = all->sequence->length, block = 0, other;
    bool outermost = true, first = true, led = block_before(profile, context, length, &block);
    for (uint32_t c = profile->previous[context]; c != CRN_CONTEXT_NONE && (outermost || first);
         c = profile->previous[c]) {
        if (!all->ends[c])
            continue;
        outermost = false;
        first = first && led && !(block_before(profile, c, length, &other) && other == block);
    }
    add_cost(all, &all->cost, context, outermost);
    if (led)
        add_cost(all, &all->before[block], context, first);
}

/* Adds a context that an occurrence calls to the costs of its block. */
static void add_callee(gathering *all, uint32_t context)
{
    const crn_profile *profile = all->profile;
    bool outermost = true;
    for (uint32_t c = profile->previous[context]; c != CRN_CONTEXT_NONE && outermost;
         c = profile->previous[c])
        outermost = !c || !all->ends[profile->parent[c]];
    add_cost(all, &all->after[profile->block[context]], context, outermost);
}

static void add_edges(gathering *all)
{
    const crn_profile *profile = all->profile;
    uint32_t block;
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if (all->kept && !all->kept[edge->target])
            continue;
        if (crn_sequence_edge_ends(profile, all->sequence, edge)) {
            all->cost.calls += edge->calls;
            if (block_before(profile, edge->from, all->sequence->length - 1, &block))
                all->before[block].calls += edge->calls;
        }
        if (all->ends[edge->from])
            all->after[profile->block[edge->target]].calls += edge->calls;
    }
}

crn_sequence_cost crn_sequence_measure_of(const crn_profile *profile, const crn_sequence *sequence,
                                          uint32_t metric, const uint8_t *kept,
                                          const uint64_t *totals)
{
    gathering all = {
        .profile = profile, .sequence = sequence, .totals = totals, .kept = kept, .metric = metric};
    uint32_t last = sequence->blocks[sequence->length - 1];
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (profile->block[c] != last || !crn_sequence_ends(profile, sequence, c))
            continue;
        bool outermost = true;
        for (uint32_t o = profile->previous[c]; o != CRN_CONTEXT_NONE && outermost;
             o = profile->previous[o])
            outermost = !crn_sequence_ends(profile, sequence, o);
        add_cost(&all, &all.cost, c, outermost);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if ((!kept || kept[edge->target]) && crn_sequence_edge_ends(profile, sequence, edge))
            all.cost.calls += edge->calls;
    }
    return all.cost;
}

crn_neighbourhood crn_neighbourhood_of(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept, const uint64_t *totals)
{
    gathering all = {
        .profile = profile, .sequence = sequence, .totals = totals, .kept = kept, .metric = metric};
    all.before = crn_calloc(profile->block_count, sizeof *all.before);
    all.after = crn_calloc(profile->block_count, sizeof *all.after);
    mark_ends(&all);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (all.ends[c])
            add_occurrence(&all, c);
        if (c && all.ends[profile->parent[c]])
            add_callee(&all, c);
    }
    add_edges(&all);
    crn_free(all.ends);
    crn_neighbourhood result = {.cost = all.cost};
    result.before = side_end(all.before, profile->block_count, &result.before_count);
    result.after = side_end(all.after, profile->block_count, &result.after_count);
    return result;
}

crn_neighbourhood crn_neighbourhood_make(const crn_profile *profile, const crn_sequence *sequence,
                                         uint32_t metric, const uint8_t *kept)
{
    uint64_t *totals = crn_totals(profile, metric, kept);
    crn_neighbourhood result = crn_neighbourhood_of(profile, sequence, metric, kept, totals);
    crn_free(totals);
    return result;
}

void crn_neighbourhood_free(crn_neighbourhood *neighbourhood)
{
    crn_free(neighbourhood->before);
    crn_free(neighbourhood->after);
    *neighbourhood = (crn_neighbourhood){0};
}
