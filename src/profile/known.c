/* SPDX-License-Identifier: MIT */
#include "profile/known.h"

#include "base/memory.h"

const uint64_t *crn_known_totals(crn_known *known, uint32_t metric)
{
    if (known->totals && known->metric == metric)
        return known->totals;
    crn_free(known->totals);
    known->totals = crn_totals(known->profile, metric, NULL);
    known->metric = metric;
    return known->totals;
}

const crn_block_cost *crn_known_cost(crn_known *known, uint32_t metric)
{
    crn_block_cost *cost = &known->costs[metric];
    if (!cost->self) {
        bool there = known->totals && known->metric == metric;
        *cost = there ? crn_block_cost_of(known->profile, metric, NULL, known->totals)
                      : crn_block_cost_make(known->profile, metric, NULL);
    }
    return cost;
}

void crn_known_take(crn_known *known, crn_known *other)
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
    crn_known_clear(other);
}

void crn_known_clear(crn_known *known)
{
    for (uint32_t m = 0; m < CRN_METRIC_MAX; m++)
        crn_block_cost_free(&known->costs[m]);
    crn_free(known->totals);
    *known = (crn_known){0};
}
