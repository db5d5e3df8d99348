/* SPDX-License-Identifier: MIT
 *
 * stack.h - what blocks cost while they run and while they are on the stack, the collector's
 * work apart. The three columns are those of MLton's -profile-stack.
 */
#ifndef CRN_PROFILE_STACK_H
#define CRN_PROFILE_STACK_H

#include "profile/model.h"

/* By block. Collector work is what runs in a collector's block or below one (finalizers). */
typedef struct crn_stack {
    uint64_t *current;   /* the block itself ran */
    uint64_t *stack;     /* it was on the stack, however often, and the collector did not run */
    uint64_t *collector; /* it was on the stack, and the collector ran */
    uint64_t total;      /* of all that is kept, which is both together */
    uint64_t total_collector;
} crn_stack;

/* By block: 1 for those whose name is `name`. To be freed with crn_free. */
uint8_t *crn_stack_collectors(const crn_profile *profile, const char *name);

/* `collectors` is by block. Where `kept` is not NULL only contexts with kept[c] count. Linear in
 * the number of contexts. */
crn_stack crn_stack_make(const crn_profile *profile, uint32_t metric, const uint8_t *collectors,
                         const uint8_t *kept);
void crn_stack_free(crn_stack *stack);

#endif
