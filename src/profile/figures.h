/* SPDX-License-Identifier: MIT
 *
 * figures.h - costs of contexts and blocks.
 *
 * The inclusive cost of a block is the sum over its topmost contexts, so recursion is not counted
 * twice, and no block costs more than the whole. All functions are linear in the number of
 * contexts, and none recurses.
 */
#ifndef CRN_PROFILE_FIGURES_H
#define CRN_PROFILE_FIGURES_H

#include "profile/model.h"

/* Returns the self cost of a context; 0 if the metric has no column. */
static inline uint64_t crn_self(const crn_profile *profile, uint32_t metric, uint32_t context)
{
    return profile->values[metric] ? profile->values[metric][context] : 0;
}

/* Returns, by context, its depth; 0 for the root. Free it with crn_free. */
uint32_t *crn_depths(const crn_profile *profile);

/* Returns, by context, the inclusive cost. If `kept` is not NULL, only contexts with kept[c] count.
 * Free it with crn_free. */
uint64_t *crn_totals(const crn_profile *profile, uint32_t metric, const uint8_t *kept);

/* Returns the sum over all contexts. */
uint64_t crn_metric_total(const crn_profile *profile, uint32_t metric);

/* Returns true if nothing was charged to the metric. */
bool crn_metric_empty(const crn_profile *profile, uint32_t metric);

/* Returns true if a context other than the root has calls: those of the root count strands. */
bool crn_calls_counted(const crn_profile *profile);
/* Returns true if there are contexts but no calls: the contexts come from sampled stacks. */
bool crn_calls_missing(const crn_profile *profile);

/* Metric: calls of functions that `cairn cc --small` left out, by the caller's context. */
#define CRN_SMALL_CALLS "small calls"

/* Returns true if the profile has no call paths, and contexts without figures are calls that the
 * program may make. */
bool crn_calls_static(const crn_profile *profile);

/* Returns the metric to show by default: the metric that the note "default_metric" names; else the
 * first with cost of wall, ticks, other metrics except small calls; else calls. */
uint32_t crn_metric_default(const crn_profile *profile);

typedef struct crn_block_cost {
    uint64_t *self;      /* by block */
    uint64_t *inclusive; /* by block */
    uint64_t total;      /* of the kept contexts */
} crn_block_cost;

crn_block_cost crn_block_cost_make(const crn_profile *profile, uint32_t metric,
                                   const uint8_t *kept);
/* Does the same, given `totals`: crn_totals(profile, metric, kept). */
crn_block_cost crn_block_cost_of(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                                 const uint64_t *totals);
void crn_block_cost_free(crn_block_cost *cost);

/* Returns, by context, the calls over edges that close a cycle at it. Excludes folds by limits.
 * Free it with crn_free. */
uint64_t *crn_cycle_calls(const crn_profile *profile);

/* The first returns the number of calls that close cycles, the second of calls that limits
 * folded. */
uint64_t crn_cycle_calls_total(const crn_profile *profile);
uint64_t crn_folded_calls(const crn_profile *profile);

#endif
