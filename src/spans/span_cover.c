/* SPDX-License-Identifier: MIT */
#include "spans/span_cover.h"

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

void crn_lane_sort(crn_lane_span *spans, uint32_t count)
{
    if (count)
        qsort(spans, count, sizeof *spans, compare_begins);
}

static void add_pair(void *to, uint32_t outer, uint32_t inner)
{
    const crn_covering_walk *walk = to;
    if (outer != walk->lane.now.parent)
        crn_coverings_add(walk->coverings, &(crn_covering){walk->lane.now.start, outer, inner});
}

bool crn_covering_walk_add(crn_covering_walk *walk, crn_lane_span span)
{
    return crn_lane_walk_add(&walk->lane, span, add_pair, walk);
}
