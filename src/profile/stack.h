/* SPDX-License-Identifier: MIT
 *
 * stack.h - cost by block while it runs, while it is on the stack, and while the garbage collector
 * runs above it: the three columns of MLton's -profile-stack.
 */
#ifndef CRN_PROFILE_STACK_H
#define CRN_PROFILE_STACK_H

#include "profile/model.h"

/* Metrics of imported profiles without call paths: recorded time on the stack, without and with the
 * collector. crn_stack_make takes them in place of sums over paths. */
#define CRN_STACK_METRIC "on the stack"
#define CRN_STACK_COLLECTOR_METRIC "on the stack, collecting"

/* Costs by block. All contexts at or below a collector's block count as the collector, finalizers
 * included. */
typedef struct crn_stack {
    uint64_t *current;   /* the block itself ran */
    uint64_t *stack;     /* the block was on the stack, and the collector did not run */
    uint64_t *collector; /* the block was on the stack, and the collector ran */
    uint64_t total;      /* of the kept contexts, with the collector */
    uint64_t total_collector;
} crn_stack;

/* Returns, by block, 1 if its name is `name`. Free it with crn_free. */
uint8_t *crn_stack_collectors(const crn_profile *profile, const char *name);

/* Computes the costs. `collectors` is by block. If `kept` is not NULL, only contexts with kept[c]
 * count. Linear in the number of contexts. */
crn_stack crn_stack_make(const crn_profile *profile, uint32_t metric, const uint8_t *collectors,
                         const uint8_t *kept);
void crn_stack_free(crn_stack *stack);

#endif
