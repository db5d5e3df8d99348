/* SPDX-License-Identifier: MIT
 *
 * span_cover.h - pairs of spans on one lane, one of which covers time of the other.
 */
#ifndef CRN_SPANS_SPAN_COVER_H
#define CRN_SPANS_SPAN_COVER_H

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

/* Adds the pairs of a lane's spans, except parent and child. Sorts `spans` by start and number if
 * needed. */
void crn_coverings_add_lane(crn_coverings *coverings, crn_lane_span *spans, uint32_t count);

#endif
