/* SPDX-License-Identifier: MIT */
#include "why/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"

/* Limits: on the functions of a side, those with the most cost; on a function's callees, and
 * callers, that are compared. */
enum { CANDIDATES = 256, NEIGHBOURS = 64 };
#define ALIKE_LEAST 0.6 /* least likeness of two functions that may be one */

/* A function on one side only, with the shares of its cost by callee and of its calls by caller
 * (without calls, of its cost). */
typedef struct candidate {
    uint32_t block, number; /* its numbers in its profile and in the join */
    double cost, self, calls;
    uint32_t count[2];
    struct {
        uint32_t number;
        double share;
    } neighbours[2][NEIGHBOURS]; /* callees, callers */
} candidate;

typedef struct side {
    const crn_profile *profile;
    const uint32_t *numbers;
    crn_block_cost cost, calls;
    crn_call_graph graph;
    uint32_t count;
    candidate *list;
} side;

static int compare_cost(const void *left, const void *right)
{
    const candidate *a = left, *b = right;
    return CRN_ORDER(b->cost, a->cost) ?: CRN_ORDER(a->block, b->block);
}

static void add_neighbour(candidate *of, int which, uint32_t number, double amount, double whole)
{
    if (of->count[which] == NEIGHBOURS || whole <= 0)
        return;
    uint32_t at = of->count[which]++;
    of->neighbours[which][at].number = number;
    of->neighbours[which][at].share = amount / whole;
}

static void add_neighbours(side *side, candidate *of)
{
    for (uint32_t i = 0; i < side->graph.count; i++) {
        const crn_call_arrow *arrow = &side->graph.arrows[i];
        if (arrow->caller == of->block && arrow->callee != of->block)
            add_neighbour(of, 0, side->numbers[arrow->callee], (double)arrow->inclusive, of->cost);
        if (arrow->callee == of->block && arrow->caller != of->block)
            add_neighbour(of, 1, side->numbers[arrow->caller],
                          (double)arrow->calls + (double)arrow->inclusive / (of->cost + 1),
                          of->calls + 1);
    }
}

static void find_candidates(side *side, const uint8_t *on_other, uint32_t metric)
{
    const crn_profile *profile = side->profile;
    side->cost = crn_block_cost_make(profile, metric, NULL);
    side->calls = crn_block_cost_make(profile, CRN_METRIC_CALLS, NULL);
    side->graph = crn_call_graph_make(profile, metric, NULL);
    side->list = crn_calloc(profile->block_count, sizeof *side->list);
    for (uint32_t b = 1; b < profile->block_count; b++)
        if (!on_other[side->numbers[b]] && side->cost.inclusive[b])
            side->list[side->count++] = (candidate){.block = b,
                                                    .number = side->numbers[b],
                                                    .cost = (double)side->cost.inclusive[b],
                                                    .self = (double)side->cost.self[b],
                                                    .calls = (double)side->calls.self[b]};
    if (side->count)
        qsort(side->list, side->count, sizeof *side->list, compare_cost);
    if (side->count > CANDIDATES)
        side->count = CANDIDATES;
    for (uint32_t i = 0; i < side->count; i++)
        add_neighbours(side, &side->list[i]);
}

static void side_free(side *side)
{
    crn_block_cost_free(&side->cost);
    crn_block_cost_free(&side->calls);
    crn_call_graph_free(&side->graph);
    crn_free(side->list);
}

/* Returns the overlap of two candidates' shares by callee (`which` 0) or caller (1), 0 to 1. */
static double common(const candidate *a, const candidate *b, int which)
{
    double sum = 0;
    for (uint32_t i = 0; i < a->count[which]; i++)
        for (uint32_t k = 0; k < b->count[which]; k++)
            if (a->neighbours[which][i].number == b->neighbours[which][k].number)
                sum += fmin(a->neighbours[which][i].share, b->neighbours[which][k].share);
    return fmin(sum, 1);
}

static double ratio(double a, double b)
{
    return a == b ? 1 : a > 0 && b > 0 ? fmin(a, b) / fmax(a, b) : 0;
}

/* Returns the length of the common begin and end of two names as a share of the longer name. */
static double name_likeness(const char *a, const char *b)
{
    size_t begin = 0, end = 0, la = strlen(a), lb = strlen(b), least = la < lb ? la : lb;
    while (begin < least && a[begin] == b[begin])
        begin++;
    while (end < least - begin && a[la - 1 - end] == b[lb - 1 - end])
        end++;
    size_t most = la > lb ? la : lb;
    return most ? (double)(begin + end) / (double)most : 1;
}

static double likeness(const side sides[2], const candidate *a, const candidate *b)
{
    const crn_block_info *x = &sides[0].profile->blocks[a->block];
    const crn_block_info *y = &sides[1].profile->blocks[b->block];
    double callees = common(a, b, 0) + fmin(a->self / a->cost, b->self / b->cost);
    double callers = common(a, b, 1);
    double size = (ratio(a->calls, b->calls) + ratio(a->cost, b->cost)) / 2;
    double place = strcmp(x->file, y->file) == 0;
    return 0.3 * callees + 0.25 * callers + 0.15 * size + 0.1 * place +
           0.2 * name_likeness(x->name, y->name);
}

/* Returns the candidate of the other side most like `index`; the other side's count if no candidate
 * is alike enough. */
static uint32_t best_of(const side sides[2], int from, uint32_t index, double *best)
{
    const side *other = &sides[!from];
    uint32_t found = other->count;
    *best = ALIKE_LEAST;
    for (uint32_t i = 0; i < other->count; i++) {
        double like = from == 0 ? likeness(sides, &sides[0].list[index], &other->list[i])
                                : likeness(sides, &other->list[i], &sides[1].list[index]);
        if (like > *best) {
            *best = like;
            found = i;
        }
    }
    return found;
}

static void match(crn_why *why, crn_block_join *join, const side sides[2])
{
    why->matches = crn_calloc((size_t)sides[0].count + 1, sizeof *why->matches);
    for (uint32_t i = 0; i < sides[0].count; i++) {
        double like, back;
        uint32_t other = best_of(sides, 0, i, &like);
        if (other == sides[1].count || best_of(sides, 1, other, &back) != i)
            continue;
        const candidate *before = &sides[0].list[i], *after = &sides[1].list[other];
        why->matches[why->match_count++] =
            (crn_why_match){&sides[0].profile->blocks[before->block],
                            &sides[1].profile->blocks[after->block], like};
        join->numbers[0][before->block] = after->number;
    }
}

void crn_why_find_renamed(crn_why *why, crn_block_join *join, const char *metric)
{
    side sides[2] = {{0}};
    uint8_t *on[2];
    for (int s = 0; s < 2; s++) {
        sides[s].profile = why->sums[s];
        sides[s].numbers = join->numbers[s];
        on[s] = crn_calloc(join->count, 1);
        for (uint32_t b = 0; b < why->sums[s]->block_count; b++)
            on[s][join->numbers[s][b]] = 1;
    }
    for (int s = 0; s < 2; s++) {
        int number = crn_profile_metric(why->sums[s], metric);
        find_candidates(&sides[s], on[!s], number < 0 ? CRN_METRIC_CALLS : (uint32_t)number);
    }
    match(why, join, sides);
    for (int s = 0; s < 2; s++) {
        side_free(&sides[s]);
        crn_free(on[s]);
    }
}
