/* SPDX-License-Identifier: MIT */
#include "profile/figure_cache.h"

#include "base/memory.h"

const uint64_t *crn_figure_cache_totals(crn_figure_cache *known, uint32_t metric)
{
    if (known->totals && known->metric == metric)
        return known->totals;
    crn_free(known->totals);
    known->totals = crn_totals(known->profile, metric, NULL);
    known->metric = metric;
    return known->totals;
}

const crn_block_cost *crn_figure_cache_cost(crn_figure_cache *known, uint32_t metric)
{
    crn_block_cost *cost = &known->costs[metric];
    if (!cost->self) {
        bool there = known->totals && known->metric == metric;
        *cost = there ? crn_block_cost_of(known->profile, metric, NULL, known->totals)
                      : crn_block_cost_make(known->profile, metric, NULL);
    }
    return cost;
}

void crn_figure_cache_take(crn_figure_cache *known, crn_figure_cache *other)
{
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++) {
        if (known->costs[m].self)
            continue;
        known->costs[m] = other->costs[m];
        other->costs[m] = (crn_block_cost){0};
    }
    if (!known->totals) {
        known->totals = other->totals;
        known->metric = other->metric;
        other->totals = NULL;
    }
    crn_figure_cache_clear(other);
}

void crn_figure_cache_clear(crn_figure_cache *known)
{
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++)
        crn_block_cost_free(&known->costs[m]);
    crn_free(known->totals);
    *known = (crn_figure_cache){0};
}
