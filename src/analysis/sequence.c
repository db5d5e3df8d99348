/* SPDX-License-Identifier: MIT */
#include "analysis/sequence.h"

#include <stdlib.h>

#include "analysis/children.h"
#include "analysis/figures.h"
#include "base/memory.h"

/* Knuth, Morris, Pratt over paths: how much of the sequence a path ends with follows from
 * the parent's state and the block alone, so one pass over the contexts does. */
typedef struct matcher {
    const crn_profile *profile;
    uint32_t length, symbol_count;
    uint32_t *symbols; /* by block: 0 for those that are not in the sequence */
    uint16_t *next;    /* [state][symbol] */
    uint16_t *states;  /* by context */
} matcher;

static uint16_t matcher_step(const matcher *matcher, uint16_t state, uint32_t block)
{
    return matcher->next[state * (size_t)matcher->symbol_count + matcher->symbols[block]];
}

static void matcher_fill(matcher *matcher, const crn_sequence *sequence)
{
    uint32_t width = matcher->symbol_count;
    matcher->next = crn_calloc((size_t)(sequence->length + 1) * width, sizeof *matcher->next);
    uint16_t border = 0; /* the state of the sequence's part from its second block on */
    for (uint32_t state = 0; state <= sequence->length; state++) {
        uint16_t *row = matcher->next + (size_t)state * width;
        for (uint32_t symbol = 0; state && symbol < width; symbol++)
            row[symbol] = matcher->next[(size_t)border * width + symbol];
        if (state == sequence->length)
            break;
        uint32_t symbol = matcher->symbols[sequence->blocks[state]];
        if (state)
            border = row[symbol];
        row[symbol] = (uint16_t)(state + 1);
    }
}

static matcher matcher_make(const crn_profile *profile, const crn_sequence *sequence)
{
    matcher matcher = {.profile = profile, .length = sequence->length, .symbol_count = 1};
    matcher.symbols = crn_calloc(profile->block_count, sizeof *matcher.symbols);
    for (uint32_t i = 0; i < sequence->length; i++)
        if (!matcher.symbols[sequence->blocks[i]])
            matcher.symbols[sequence->blocks[i]] = matcher.symbol_count++;
    matcher_fill(&matcher, sequence);
    matcher.states = crn_calloc(profile->context_count, sizeof *matcher.states);
    matcher.states[0] = matcher_step(&matcher, 0, profile->block[0]);
    for (uint32_t c = 1; c < profile->context_count; c++)
        matcher.states[c] =
            matcher_step(&matcher, matcher.states[profile->parent[c]], profile->block[c]);
    return matcher;
}

static void matcher_free(matcher *matcher)
{
    crn_free(matcher->symbols);
    crn_free(matcher->next);
    crn_free(matcher->states);
}

static bool matcher_ends(const matcher *matcher, uint32_t context)
{
    return matcher->states[context] == matcher->length;
}

static bool matcher_edge_ends(const matcher *matcher, const crn_profile_edge *edge)
{
    uint32_t block = matcher->profile->block[edge->target];
    return matcher_step(matcher, matcher->states[edge->from], block) == matcher->length;
}

static uint8_t *matcher_within(const matcher *matcher)
{
    const crn_profile *profile = matcher->profile;
    uint8_t *within = crn_calloc(profile->context_count, sizeof *within);
    within[0] = matcher_ends(matcher, 0);
    for (uint32_t c = 1; c < profile->context_count; c++)
        within[c] = within[profile->parent[c]] || matcher_ends(matcher, c);
    return within;
}

void crn_sequence_free(crn_sequence *sequence)
{
    crn_free(sequence->blocks);
    *sequence = (crn_sequence){0};
}

uint8_t *crn_sequence_within(const crn_profile *profile, const crn_sequence *sequence)
{
    matcher matcher = matcher_make(profile, sequence);
    uint8_t *within = matcher_within(&matcher);
    matcher_free(&matcher);
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

static crn_sequence_cost measure(const matcher *matcher, uint32_t metric, const uint8_t *kept)
{
    const crn_profile *profile = matcher->profile;
    crn_sequence_cost cost = {0};
    uint8_t *within = matcher_within(matcher);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (!within[c] || (kept && !kept[c]))
            continue;
        cost.inclusive += crn_self(profile, metric, c);
        if (matcher_ends(matcher, c)) {
            cost.self += crn_self(profile, metric, c);
            cost.calls += profile->calls_tree[c];
        }
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if ((!kept || kept[edge->target]) && matcher_edge_ends(matcher, edge))
            cost.calls += edge->calls;
    }
    crn_free(within);
    return cost;
}

crn_sequence_cost crn_sequence_measure(const crn_profile *profile, const crn_sequence *sequence,
                                       uint32_t metric, const uint8_t *kept)
{
    matcher matcher = matcher_make(profile, sequence);
    crn_sequence_cost cost = measure(&matcher, metric, kept);
    matcher_free(&matcher);
    return cost;
}

uint32_t crn_sequence_count(const crn_profile *profile, const crn_sequence *sequence)
{
    uint32_t count = 0;
    matcher matcher = matcher_make(profile, sequence);
    for (uint32_t c = 0; c < profile->context_count; c++)
        count += matcher_ends(&matcher, c);
    matcher_free(&matcher);
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

static void count_calls(const matcher *matcher, const uint8_t *kept, side *before, side *after)
{
    const crn_profile *profile = matcher->profile;
    uint32_t block;
    for (uint32_t c = 1; c < profile->context_count; c++) {
        if (kept && !kept[c])
            continue;
        if (matcher_ends(matcher, c) && block_before(profile, c, matcher->length, &block))
            side_call(before, block, profile->calls_tree[c]);
        if (matcher_ends(matcher, profile->parent[c]))
            side_call(after, profile->block[c], profile->calls_tree[c]);
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        const crn_profile_edge *edge = &profile->edges[e];
        if (kept && !kept[edge->target])
            continue;
        if (matcher_edge_ends(matcher, edge) &&
            block_before(profile, edge->from, matcher->length - 1, &block))
            side_call(before, block, edge->calls);
        if (matcher_ends(matcher, edge->from))
            side_call(after, profile->block[edge->target], edge->calls);
    }
}

typedef struct cost_walk {
    const matcher *matcher;
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
    if (matcher_ends(walk->matcher, context) &&
        block_before(profile, context, walk->matcher->length, &block))
        side_enter(&walk->before, block, self, walk->totals[context]);
    if (context && matcher_ends(walk->matcher, profile->parent[context]))
        side_enter(&walk->after, profile->block[context], self, walk->totals[context]);
}

static void cost_walk_leave(void *data, uint32_t context)
{
    cost_walk *walk = data;
    const crn_profile *profile = walk->matcher->profile;
    uint32_t block;
    if (matcher_ends(walk->matcher, context) &&
        block_before(profile, context, walk->matcher->length, &block))
        walk->before.active[block]--;
    if (context && matcher_ends(walk->matcher, profile->parent[context]))
        walk->after.active[profile->block[context]]--;
}

crn_neighbourhood crn_neighbourhood_make(const crn_profile *profile, const crn_sequence *sequence,
                                         uint32_t metric, const uint8_t *kept)
{
    matcher matcher = matcher_make(profile, sequence);
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
    matcher_free(&matcher);
    return result;
}

void crn_neighbourhood_free(crn_neighbourhood *neighbourhood)
{
    crn_free(neighbourhood->before);
    crn_free(neighbourhood->after);
    *neighbourhood = (crn_neighbourhood){0};
}

/* ---- what is below ---- */

/* A profile of the contexts within the sequence, each outermost occurrence with a path of
 * its own that is the sequence: adding it to a builder lays them on top of each other. */
typedef struct cut {
    crn_profile profile;
    uint32_t *numbers; /* by the original's context; where `within` */
} cut;

static uint32_t cut_context(cut *cut, uint32_t parent, uint32_t block)
{
    uint32_t context = cut->profile.context_count++;
    cut->profile.parent[context] = parent;
    cut->profile.block[context] = block;
    return context;
}

static cut cut_new(const crn_profile *profile, uint32_t most)
{
    cut cut = {.profile = *profile};
    cut.profile.context_count = cut.profile.edge_count = 0;
    cut.profile.warning_count = cut.profile.note_count = 0;
    cut.profile.parent = crn_calloc(most, sizeof(uint32_t));
    cut.profile.block = crn_calloc(most, sizeof(uint32_t));
    cut.profile.calls_tree = crn_calloc(most, sizeof(uint64_t));
    cut.profile.edges = crn_calloc(profile->edge_count, sizeof(crn_profile_edge));
    for (uint32_t m = 0; m < profile->metric_count; m++)
        cut.profile.values[m] = profile->values[m] ? crn_calloc(most, sizeof(uint64_t)) : NULL;
    cut.numbers = crn_calloc(profile->context_count, sizeof(uint32_t));
    return cut;
}

static void cut_free(cut *cut)
{
    crn_free(cut->profile.parent);
    crn_free(cut->profile.block);
    crn_free(cut->profile.calls_tree);
    crn_free(cut->profile.edges);
    for (uint32_t m = 0; m < cut->profile.metric_count; m++)
        crn_free(cut->profile.values[m]);
    crn_free(cut->numbers);
}

static void cut_fill(cut *cut, const crn_profile *profile, const crn_sequence *sequence,
                     const uint8_t *within, const uint8_t *kept)
{
    uint32_t tip = cut_context(cut, 0, 0);
    for (uint32_t i = 0; i + 1 < sequence->length; i++)
        if (sequence->blocks[i])
            tip = cut_context(cut, tip, sequence->blocks[i]);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        if (!within[c])
            continue;
        bool top = c == 0 || !within[profile->parent[c]];
        uint32_t parent = top ? tip : cut->numbers[profile->parent[c]];
        uint32_t made = cut->numbers[c] = c ? cut_context(cut, parent, profile->block[c]) : 0;
        if (kept && !kept[c])
            continue;
        cut->profile.calls_tree[made] = profile->calls_tree[c];
        for (uint32_t m = 0; m < profile->metric_count; m++)
            if (profile->values[m])
                cut->profile.values[m][made] = profile->values[m][c];
    }
    for (uint32_t e = 0; e < profile->edge_count; e++) {
        crn_profile_edge edge = profile->edges[e];
        if (!within[edge.from] || !within[edge.target] || (kept && !kept[edge.target]))
            continue;
        edge.from = cut->numbers[edge.from];
        edge.target = cut->numbers[edge.target];
        cut->profile.edges[cut->profile.edge_count++] = edge;
    }
}

crn_profile *crn_sequence_below(const crn_profile *profile, const crn_sequence *sequence,
                                const uint8_t *kept)
{
    uint8_t *within = crn_sequence_within(profile, sequence);
    uint32_t most = 1 + sequence->length;
    for (uint32_t c = 0; c < profile->context_count; c++)
        most += within[c];
    cut cut = cut_new(profile, most);
    cut_fill(&cut, profile, sequence, within, kept);
    crn_profile_builder *builder = crn_profile_builder_new();
    crn_profile_builder_add(builder, &cut.profile);
    cut_free(&cut);
    crn_free(within);
    return crn_profile_builder_end(builder);
}
