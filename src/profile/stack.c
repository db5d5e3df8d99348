/* SPDX-License-Identifier: MIT */
#include "profile/stack.h"

#include <string.h>

#include "base/memory.h"
#include "profile/figures.h"

uint8_t *crn_stack_collectors(const crn_profile *profile, const char *name)
{
    uint8_t *collectors = crn_calloc(profile->block_count, sizeof *collectors);
    for (uint32_t b = 1; b < profile->block_count; b++)
        collectors[b] = strcmp(profile->blocks[b].name, name) == 0;
    return collectors;
}

/* Returns, by context, 1 if a collector's block is on its path. */
static uint8_t *collecting(const crn_profile *profile, const uint8_t *collectors)
{
    uint8_t *within = crn_calloc(profile->context_count, sizeof *within);
    for (uint32_t c = 1; c < profile->context_count; c++)
        within[c] = within[profile->parent[c]] | collectors[profile->block[c]];
    return within;
}

/* Replaces sums over paths by the recorded metric `name`, if the profile has it. */
static void take_recorded(uint64_t *by_block, const crn_profile *profile, const char *name,
                          const uint8_t *kept)
{
    int metric = crn_profile_metric(profile, name);
    if (metric < 0)
        return;
    memset(by_block, 0, profile->block_count * sizeof *by_block);
    for (uint32_t c = 0; c < profile->context_count; c++)
        if (!kept || kept[c])
            by_block[profile->block[c]] += crn_self(profile, (uint32_t)metric, c);
}

crn_stack crn_stack_make(const crn_profile *profile, uint32_t metric, const uint8_t *collectors,
                         const uint8_t *kept)
{
    uint8_t *work = collecting(profile, collectors);
    uint8_t *rest = crn_calloc(profile->context_count, sizeof *rest);
    for (uint32_t c = 0; c < profile->context_count; c++) {
        bool counts = !kept || kept[c];
        rest[c] = counts && !work[c];
        work[c] = counts && work[c];
    }
    crn_block_cost of_rest = crn_block_cost_make(profile, metric, rest);
    crn_block_cost of_work = crn_block_cost_make(profile, metric, work);
    crn_free(rest);
    crn_free(work);
    crn_stack stack = {.current = of_rest.self,
                       .stack = of_rest.inclusive,
                       .collector = of_work.inclusive,
                       .total = of_rest.total + of_work.total,
                       .total_collector = of_work.total};
    for (uint32_t b = 0; b < profile->block_count; b++)
        stack.current[b] += of_work.self[b];
    crn_free(of_work.self);
    take_recorded(stack.stack, profile, CRN_STACK_METRIC, kept);
    take_recorded(stack.collector, profile, CRN_STACK_COLLECTOR_METRIC, kept);
    return stack;
}

void crn_stack_free(crn_stack *stack)
{
    crn_free(stack->current);
    crn_free(stack->stack);
    crn_free(stack->collector);
    *stack = (crn_stack){0};
}
