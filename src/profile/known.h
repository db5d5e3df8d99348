/* SPDX-License-Identifier: MIT
 *
 * known.h - figures of a whole profile that are asked for again and again, each worked out once.
 *
 * Costs by block take next to nothing and are kept for all metrics; totals are a number a context,
 * so those of one metric are kept, the last that was asked for.
 */
#ifndef CRN_PROFILE_KNOWN_H
#define CRN_PROFILE_KNOWN_H

#include "profile/figures.h"

typedef struct crn_known {
    const crn_profile *profile;
    crn_block_cost costs[CRN_METRIC_MAX]; /* by metric; self is NULL where it is not known yet */
    uint64_t *totals;                     /* of `metric`; NULL: not known */
    uint32_t metric;
} crn_known;

/* As crn_block_cost_make of the whole profile; valid until the end. */
const crn_block_cost *crn_known_cost(crn_known *known, uint32_t metric);
/* As crn_totals of the whole profile; valid until those of another metric are asked for. */
const uint64_t *crn_known_totals(crn_known *known, uint32_t metric);
/* Takes over what `other`, of the same profile, knows and `known` does not; ends `other`. */
void crn_known_take(crn_known *known, crn_known *other);
/* Forgets all, the profile too. */
void crn_known_clear(crn_known *known);

#endif
