/* SPDX-License-Identifier: MIT
 *
 * figures.h - what contexts and blocks cost.
 *
 * Inclusive cost counts each context once, however often a block recurs on its path: it
 * is the sum of the totals of the block's topmost contexts, so it is never more than the
 * whole. All of it is linear in the number of contexts, and nothing recurses.
 */
#ifndef CRN_PROFILE_FIGURES_H
#define CRN_PROFILE_FIGURES_H

#include "profile/model.h"

/* The self cost of a context; metrics that are all 0 have no column. */
static inline uint64_t crn_self(const crn_profile *profile, uint32_t metric, uint32_t context)
{
    return profile->values[metric] ? profile->values[metric][context] : 0;
}

/* By context: its own cost and that of everything below. Where `kept` is not NULL only
 * contexts with kept[c] count. To be freed with crn_free. */
uint64_t *crn_totals(const crn_profile *profile, uint32_t metric, const uint8_t *kept);

/* The sum over all contexts. */
uint64_t crn_metric_total(const crn_profile *profile, uint32_t metric);

/* Nothing is charged to the metric in any context. */
bool crn_metric_empty(const crn_profile *profile, uint32_t metric);

/* Calls were counted: the root's, which are strands that were opened, do not tell. */
bool crn_calls_counted(const crn_profile *profile);

/* The metric of calls of functions that cairn cc --small left out, by the context of the caller. */
#define CRN_SMALL_CALLS "small calls"

/* What a person most likely wants to see: what the note "default_metric" names, else wall if there
 * is any, else ticks, else another metric that holds something (but small calls), else calls. */
uint32_t crn_metric_default(const crn_profile *profile);

typedef struct crn_block_cost {
    uint64_t *self;      /* by block */
    uint64_t *inclusive; /* by block */
    uint64_t total;      /* of the profile, or of what is kept */
} crn_block_cost;

crn_block_cost crn_block_cost_make(const crn_profile *profile, uint32_t metric,
                                   const uint8_t *kept);
/* The same where the totals of what is kept are known: crn_totals(profile, metric, kept). */
crn_block_cost crn_block_cost_of(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                                 const uint64_t *totals);
void crn_block_cost_free(crn_block_cost *cost);

/* By context: how many calls came back to it along cycles, 0 for most. Limits' folds are
 * not cycles. To be freed with crn_free. */
uint64_t *crn_cycle_calls(const crn_profile *profile);

/* How many calls came back along cycles, and how many limits have folded. */
uint64_t crn_cycle_calls_total(const crn_profile *profile);
uint64_t crn_folded_calls(const crn_profile *profile);

#endif
