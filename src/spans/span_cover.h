/* SPDX-License-Identifier: MIT
 *
 * span_cover.h - pairs of spans on one lane, one of which covers time of the other.
 */
#ifndef CRN_SPANS_SPAN_COVER_H
#define CRN_SPANS_SPAN_COVER_H

#include <stdbool.h>

#include "base/memory.h"
#include "base/nesting.h"

/* `inner` covers time of `outer`. */
typedef struct crn_covering {
    uint64_t start; /* of `inner`, ns */
    uint32_t outer, inner;
} crn_covering;

typedef struct crn_coverings {
    crn_covering *all;
    uint32_t count, capacity;
} crn_coverings;

void crn_coverings_add(crn_coverings *coverings, const crn_covering *covering);
/* Sorts by outer span, start and inner span. */
void crn_coverings_sort(crn_coverings *coverings);

/* A span of a lane. */
typedef struct crn_lane_span {
    uint64_t start, end;
    uint32_t span, parent;
} crn_lane_span;

/* The spans of a lane, which come one by one. Zeroed at first; free nesting.open at the end. */
typedef struct crn_lane_walk {
    crn_nesting nesting;
    uint32_t room;     /* of nesting.open */
    crn_lane_span now; /* the last span that came */
} crn_lane_walk;

static inline void crn_lane_walk_begin(crn_lane_walk *walk)
{
    walk->nesting.height = 0;
    walk->now = (crn_lane_span){0};
}

/* Adds the lane's next span as crn_nesting_add does; spans of equal start come by number. Returns
 * false, and adds nothing, if the span begins before the last one. */
static inline bool crn_lane_walk_add(crn_lane_walk *walk, crn_lane_span span,
                                     crn_nesting_found *found, void *to)
{
    if (span.start < walk->now.start)
        return false;
    walk->now = span;
    CRN_GROW(walk->nesting.open, walk->nesting.height, walk->room);
    crn_nesting_add(&walk->nesting, span.span, (crn_period){span.start, span.end}, found, to);
    return true;
}

/* Sorts a lane's spans by start and number. */
void crn_lane_sort(crn_lane_span *spans, uint32_t count);

/* A walk that adds the pairs of each lane's spans, except parent and child, to `coverings`. */
typedef struct crn_covering_walk {
    crn_lane_walk lane;
    crn_coverings *coverings;
} crn_covering_walk;

/* As crn_lane_walk_add. */
bool crn_covering_walk_add(crn_covering_walk *walk, crn_lane_span span);

#endif
