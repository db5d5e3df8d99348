/* SPDX-License-Identifier: MIT */
#include "profile/figures.h"

#include <string.h>

#include "base/memory.h"
#include "profile/stack.h"

uint32_t *crn_depths(const crn_profile *profile)
{
    uint32_t *depths = crn_calloc(profile->context_count, sizeof *depths);
    for (uint32_t c = 1; c < profile->context_count; c++)
        depths[c] = depths[profile->parent[c]] + 1;
    return depths;
}

uint64_t *crn_totals(const crn_profile *profile, uint32_t metric, const uint8_t *kept)
{
    uint64_t *totals = crn_calloc(profile->context_count, sizeof *totals);
    const uint64_t *values = profile->values[metric];
    if (!values)
        return totals;
    memcpy(totals, values, profile->context_count * sizeof *totals);
    if (kept)
        for (uint32_t c = 0; c < profile->context_count; c++)
            totals[c] = kept[c] ? totals[c] : 0;
    for (uint32_t c = profile->context_count - 1; c > 0; c--)
        totals[profile->parent[c]] += totals[c];
    return totals;
}

uint64_t crn_metric_total(const crn_profile *profile, uint32_t metric)
{
    const uint64_t *values = profile->values[metric];
    uint64_t total = 0;
    for (uint32_t c = 0; values && c < profile->context_count; c++)
        total += values[c];
    return total;
}

bool crn_metric_empty(const crn_profile *profile, uint32_t metric)
{
    const uint64_t *values = profile->values[metric];
    for (uint32_t c = 0; values && c < profile->context_count; c++)
        if (values[c])
            return false;
    return true;
}

bool crn_calls_counted(const crn_profile *profile)
{
    for (uint32_t c = 1; c < profile->context_count; c++)
        if (profile->values[CRN_METRIC_CALLS][c])
            return true;
    return false;
}

bool crn_calls_missing(const crn_profile *profile)
{
    return profile->context_count > 1 && !crn_calls_counted(profile);
}

uint32_t crn_metric_default(const crn_profile *profile)
{
    int noted = crn_profile_metric(profile, crn_profile_note(profile, "default_metric", ""));
    if (noted >= 0 && !crn_metric_empty(profile, (uint32_t)noted))
        return (uint32_t)noted;
    if (!crn_metric_empty(profile, CRN_METRIC_WALL))
        return CRN_METRIC_WALL;
    if (!crn_metric_empty(profile, CRN_METRIC_TICKS))
        return CRN_METRIC_TICKS;
    for (uint32_t m = CRN_METRIC_WALL + 1; m < profile->metric_count; m++)
        if (!crn_metric_empty(profile, m) && strcmp(profile->metrics[m].name, CRN_SMALL_CALLS) != 0)
            return m;
    return CRN_METRIC_CALLS;
}

bool crn_calls_static(const crn_profile *profile)
{
    return strcmp(crn_profile_note(profile, CRN_NOTE_STATIC_CALLS, ""), "1") == 0;
}

/* Takes the inclusive cost from the recorded cost on the stack (CRN_STACK_METRIC), if the profile
 * has that in place of call paths. */
static void take_recorded_stack(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                                crn_block_cost *cost)
{
    int stack = crn_profile_metric(profile, CRN_STACK_METRIC);
    int collector = crn_profile_metric(profile, CRN_STACK_COLLECTOR_METRIC);
    if (stack < 0 || metric == (uint32_t)stack || (int)metric == collector || !cost->total)
        return;
    memset(cost->inclusive + 1, 0, (profile->block_count - 1) * sizeof *cost->inclusive);
    for (uint32_t c = 1; c < profile->context_count; c++)
        if (!kept || kept[c])
            cost->inclusive[profile->block[c]] += crn_self(profile, (uint32_t)stack, c);
}

crn_block_cost crn_block_cost_of(const crn_profile *profile, uint32_t metric, const uint8_t *kept,
                                 const uint64_t *totals)
{
    crn_block_cost cost = {
        .self = crn_calloc(profile->block_count, sizeof *cost.self),
        .inclusive = crn_calloc(profile->block_count, sizeof *cost.inclusive),
    };
    for (uint32_t c = 0; c < profile->context_count; c++) {
        uint32_t block = profile->block[c];
        if (!kept || kept[c])
            cost.self[block] += crn_self(profile, metric, c);
        if (profile->previous[c] == UINT32_MAX)
            cost.inclusive[block] += totals[c];
    }
    cost.total = totals[0];
    if (crn_calls_static(profile))
        take_recorded_stack(profile, metric, kept, &cost);
    return cost;
}

crn_block_cost crn_block_cost_make(const crn_profile *profile, uint32_t metric, const uint8_t *kept)
{
    uint64_t *totals = crn_totals(profile, metric, kept);
    crn_block_cost cost = crn_block_cost_of(profile, metric, kept, totals);
    crn_free(totals);
    return cost;
}

void crn_block_cost_free(crn_block_cost *cost)
{
    crn_free(cost->self);
    crn_free(cost->inclusive);
    *cost = (crn_block_cost){0};
}

uint64_t *crn_cycle_calls(const crn_profile *profile)
{
    uint64_t *cycles = crn_calloc(profile->context_count, sizeof *cycles);
    for (uint32_t e = 0; e < profile->edge_count; e++)
        if (!profile->edges[e].folded)
            cycles[profile->edges[e].target] += profile->edges[e].calls;
    return cycles;
}

static uint64_t edge_calls(const crn_profile *profile, bool folded)
{
    uint64_t calls = 0;
    for (uint32_t e = 0; e < profile->edge_count; e++)
        if (profile->edges[e].folded == folded)
            calls += profile->edges[e].calls;
    return calls;
}

uint64_t crn_cycle_calls_total(const crn_profile *profile)
{
    return edge_calls(profile, false);
}

uint64_t crn_folded_calls(const crn_profile *profile)
{
    return edge_calls(profile, true);
}
