/* SPDX-License-Identifier: MIT */
#include "spans/span_cover.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/order.h"

void crn_coverings_add(crn_coverings *coverings, const crn_covering *covering)
{
    CRN_GROW(coverings->all, coverings->count, coverings->capacity);
    coverings->all[coverings->count++] = *covering;
}

static int compare_coverings(const void *left, const void *right)
{
    const crn_covering *a = left, *b = right;
    return CRN_ORDER(a->outer, b->outer)
               ?: CRN_ORDER(a->start, b->start)
               ?: CRN_ORDER(a->inner, b->inner);
}

void crn_coverings_sort(crn_coverings *coverings)
{
    if (coverings->count)
        qsort(coverings->all, coverings->count, sizeof *coverings->all, compare_coverings);
}

static int compare_begins(const void *left, const void *right)
{
    const crn_lane_span *a = left, *b = right;
    return CRN_ORDER(a->start, b->start) ?: CRN_ORDER(a->span, b->span);
}

typedef struct lane_walk {
    crn_coverings *coverings;
    const crn_lane_span *now;
} lane_walk;

static void add_pair(void *to, uint32_t outer, uint32_t inner)
{
    const lane_walk *walk = to;
    if (outer != walk->now->parent)
        crn_coverings_add(walk->coverings, &(crn_covering){walk->now->start, outer, inner});
}

void crn_coverings_add_lane(crn_coverings *coverings, crn_lane_span *spans, uint32_t count)
{
    bool sorted = true;
    for (uint32_t i = 1; sorted && i < count; i++)
        sorted = compare_begins(&spans[i - 1], &spans[i]) < 0;
    if (!sorted)
        qsort(spans, count, sizeof *spans, compare_begins);
    crn_nesting nesting = {.open = crn_calloc(count + (size_t)1, sizeof *nesting.open)};
    lane_walk walk = {.coverings = coverings};
    for (uint32_t i = 0; i < count; i++) {
        walk.now = &spans[i];
        crn_nesting_add(&nesting, spans[i].span, (crn_period){spans[i].start, spans[i].end},
                        add_pair, &walk);
    }
    crn_free(nesting.open);
}
