/* SPDX-License-Identifier: MIT
 *
 * figure_cache.h - caches figures of one profile.
 *
 * It caches costs by block for all metrics, but totals, which have a number for each context, only
 * for the last metric.
 */
#ifndef CRN_PROFILE_FIGURE_CACHE_H
#define CRN_PROFILE_FIGURE_CACHE_H

#include "profile/figures.h"

typedef struct crn_figure_cache {
    const crn_profile *profile;
    crn_block_cost costs[CRN_METRIC_MAX]; /* by metric; `self` is NULL until computed */
    uint64_t *totals;                     /* in `metric`; NULL until computed */
    uint32_t metric;
} crn_figure_cache;

/* Returns crn_block_cost_make of the whole profile; valid until crn_figure_cache_clear. */
const crn_block_cost *crn_figure_cache_cost(crn_figure_cache *known, uint32_t metric);
/* Returns crn_totals of the whole profile; valid until a call with another metric. */
const uint64_t *crn_figure_cache_totals(crn_figure_cache *known, uint32_t metric);
/* Moves figures that `known` lacks from `other`, a cache of the same profile. Clears `other`. */
void crn_figure_cache_take(crn_figure_cache *known, crn_figure_cache *other);
/* Frees everything cached and forgets the profile. */
void crn_figure_cache_clear(crn_figure_cache *known);

#endif
