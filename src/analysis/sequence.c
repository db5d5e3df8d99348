/* SPDX-License-Identifier: MIT */
#include "analysis/sequence.h"

#include <stdlib.h>

#include "analysis/children.h"
#include "analysis/figures.h"
#include "analysis/matcher.h"
#include "base/memory.h"

static uint8_t *matcher_within(const crn_matcher *matcher)
{
    const crn_profile *profile = matcher->profile;
    uint8_t *within = crn_calloc(profile->context_count, sizeof *within);
    within[0] = crn_matcher_ends(matcher, 0);
    for (uint32_t c = 1; c < profile->context_count; c++)
        within[c] = within[profile->parent[c]] || crn_matcher_ends(matcher, c);
    return within;
}

void crn_sequence_free(crn_sequence *sequence)
{
    crn_free(sequence->blocks);
    *sequence = (crn_sequence){0};
}

uint8_t *crn_sequence_within(const crn_profile *profile, const crn_sequence *sequence)
{
    crn_matcher matcher = crn_matcher_make(profile, sequence);
    uint8_t *within = matcher_within(&matcher);
    crn_matcher_free(&matcher);
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

static crn_sequence_cost measure(const crn_matcher *matcher, uint32_t metric, const uint8_t *kept)
{
    const crn_profile *profile = matcher->profile;
    crn_sequence_cost cost = {0};
    uint8_t *within = matcher_within(matcher);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (!within[c] || (kept && !kept[c]))
            continue;
        cost.inclusive += crn_self(profile, metric, c);
        if (crn_matcher_ends(matcher, c)) {
            cost.self += crn_self(profile, metric, c);
            cost.calls += profile->calls_tree[c];
        }
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if ((!kept || kept[edge->target]) && crn_matcher_edge_ends(matcher, edge))
            cost.calls += edge->calls;
    }
    crn_free(within);
    return cost;
}

crn_sequence_cost crn_sequence_measure(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept)
{
    crn_matcher matcher = crn_matcher_make(profile, sequence);
    crn_sequence_cost cost = measure(&matcher, metric, kept);
    crn_matcher_free(&matcher);
    return cost;
}

uint32_t crn_sequence_count(const crn_profile *profile, const crn_sequence *sequence)
{
    uint32_t count = 0;
    crn_matcher matcher = crn_matcher_make(profile, sequence);
    for (uint32_t c = 0; c < profile->context_count; c++)
        count += crn_matcher_ends(&matcher, c);
    crn_matcher_free(&matcher);
    return count;
}

/* ---- neighbours ---- */

/* Figures by block, while they are added up. */
typedef struct side {
    crn_sequence_cost *cost;
    uint32_t *active; /* how many occurrences the walk is below: only the outermost counts */
} side;

static side side_make(const crn_profile *profile)
{
    return (side){crn_calloc(profile->block_count, sizeof(crn_sequence_cost)),
                  crn_calloc(profile->block_count, sizeof(uint32_t))};
}

static void side_enter(side *side, uint32_t block, uint64_t self, uint64_t total)
{
    side->cost[block].self += self;
    if (side->active[block]++ == 0)
        side->cost[block].inclusive += total;
}

static void side_call(side *side, uint32_t block, uint64_t calls)
{
    side->cost[block].calls += calls;
}

static int compare_neighbours(const void *left, const void *right)
{
    const crn_neighbour *a = left, *b = right;
    if (a->cost.inclusive != b->cost.inclusive)
        return a->cost.inclusive < b->cost.inclusive ? 1 : -1;
    if (a->cost.calls != b->cost.calls)
        return a->cost.calls < b->cost.calls ? 1 : -1;
    return a->block < b->block ? -1 : a->block > b->block;
}

static bool side_holds(const side *side, uint32_t block)
{
    const crn_sequence_cost *cost = &side->cost[block];
    return cost->calls || cost->self || cost->inclusive;
}

/* Ends the side, giving its blocks that hold anything. */
static crn_neighbour *side_end(side *side, uint32_t block_count, uint32_t *count)
{
    *count = 0;
    for (uint32_t b = 0; b < block_count; b++)
        *count += side_holds(side, b);
    crn_neighbour *neighbours = crn_calloc(*count ? *count : 1, sizeof *neighbours);
    for (uint32_t b = 0, n = 0; b < block_count; b++)
        if (side_holds(side, b))
            neighbours[n++] = (crn_neighbour){b, side->cost[b]};
    qsort(neighbours, *count, sizeof *neighbours, compare_neighbours);
    crn_free(side->cost);
    crn_free(side->active);
    return neighbours;
}

/* The block before the last `length` of the path to `context`. */
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

static void count_calls(const crn_matcher *matcher, const uint8_t *kept, side *before, side *after)
{
    const crn_profile *profile = matcher->profile;
    uint32_t block;
    for (uint32_t c = 1; c < profile->context_count; c++) {
        if (kept && !kept[c])
            continue;
        if (crn_matcher_ends(matcher, c) && block_before(profile, c, matcher->length, &block))
            side_call(before, block, profile->calls_tree[c]);
        if (crn_matcher_ends(matcher, profile->parent[c]))
            side_call(after, profile->block[c], profile->calls_tree[c]);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if (kept && !kept[edge->target])
            continue;
        if (crn_matcher_edge_ends(matcher, edge) &&
            block_before(profile, edge->from, matcher->length - 1, &block))
            side_call(before, block, edge->calls);
        if (crn_matcher_ends(matcher, edge->from))
            side_call(after, profile->block[edge->target], edge->calls);
    }
}

typedef struct cost_walk {
    const crn_matcher *matcher;
    const uint64_t *totals;
    const uint8_t *kept;
    uint32_t metric;
    side before, after;
} cost_walk;

static void cost_walk_enter(void *data, uint32_t context)
{
    cost_walk *walk = data;
    const crn_profile *profile = walk->matcher->profile;
    uint32_t block;
    uint64_t self =
        walk->kept && !walk->kept[context] ? 0 : crn_self(profile, walk->metric, context);
    if (crn_matcher_ends(walk->matcher, context) &&
        block_before(profile, context, walk->matcher->length, &block))
        side_enter(&walk->before, block, self, walk->totals[context]);
    if (context && crn_matcher_ends(walk->matcher, profile->parent[context]))
        side_enter(&walk->after, profile->block[context], self, walk->totals[context]);
}

static void cost_walk_leave(void *data, uint32_t context)
{
    cost_walk *walk = data;
    const crn_profile *profile = walk->matcher->profile;
    uint32_t block;
    if (crn_matcher_ends(walk->matcher, context) &&
        block_before(profile, context, walk->matcher->length, &block))
        walk->before.active[block]--;
    if (context && crn_matcher_ends(walk->matcher, profile->parent[context]))
        walk->after.active[profile->block[context]]--;
}

crn_neighbourhood crn_neighbourhood_make(const crn_profile *profile, const crn_sequence *sequence,
                                         uint32_t metric, const uint8_t *kept)
{
    crn_matcher matcher = crn_matcher_make(profile, sequence);
    uint64_t *totals = crn_totals(profile, metric, kept);
    cost_walk walk = {.matcher = &matcher, .totals = totals, .kept = kept, .metric = metric};
    walk.before = side_make(profile);
    walk.after = side_make(profile);
    crn_children_walk(profile, cost_walk_enter, cost_walk_leave, &walk);
    count_calls(&matcher, kept, &walk.before, &walk.after);
    crn_free(totals);

    crn_neighbourhood result = {.cost = measure(&matcher, metric, kept)};
    result.before = side_end(&walk.before, profile->block_count, &result.before_count);
    result.after = side_end(&walk.after, profile->block_count, &result.after_count);
    crn_matcher_free(&matcher);
    return result;
}

void crn_neighbourhood_free(crn_neighbourhood *neighbourhood)
{
    crn_free(neighbourhood->before);
    crn_free(neighbourhood->after);
    *neighbourhood = (crn_neighbourhood){0};
}
