/* SPDX-License-Identifier: MIT
 *
 * figure_cache.h - caches figures of a whole profile that are asked for repeatedly.
 *
 * Costs by block are cached for all metrics; totals, one number a context, for the last metric
 * only.
 */
#ifndef CRN_PROFILE_FIGURE_CACHE_H
#define CRN_PROFILE_FIGURE_CACHE_H

#include "profile/figures.h"

typedef struct crn_figure_cache {
    const crn_profile *profile;
    crn_block_cost costs[CRN_METRIC_MAX]; /* by metric; self is NULL until computed */
    uint64_t *totals;                     /* of `metric`; NULL until computed */
    uint32_t metric;
} crn_figure_cache;

/* Same as crn_block_cost_make of the whole profile; valid until crn_figure_cache_clear. */
const crn_block_cost *crn_figure_cache_cost(crn_figure_cache *known, uint32_t metric);
/* Same as crn_totals of the whole profile; valid until totals of another metric are asked for. */
const uint64_t *crn_figure_cache_totals(crn_figure_cache *known, uint32_t metric);
/* Moves what `other`, of the same profile, has and `known` has not. `other` is empty afterwards. */
void crn_figure_cache_take(crn_figure_cache *known, crn_figure_cache *other);
/* Frees everything cached and forgets the profile. */
void crn_figure_cache_clear(crn_figure_cache *known);

#endif
