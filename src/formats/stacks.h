/* SPDX-License-Identifier: MIT
 *
 * stacks.h - adds foreign stacks to a profile; the graph canonicalises them.
 *
 * Consecutive samples mostly share the outer part of their stacks, so the contexts of the last
 * stack are kept, and only the difference is looked up.
 */
#ifndef CRN_FORMATS_STACKS_H
#define CRN_FORMATS_STACKS_H

#include "profile/profile.h"

typedef struct crn_stacks {
    crn_profile_builder *builder;
    uint32_t *blocks;   /* the stack being built, outermost first */
    uint32_t *last;     /* the previous stack */
    uint32_t *contexts; /* contexts of the previous stack */
    size_t length, last_length, capacity;
} crn_stacks;

void crn_stacks_open(crn_stacks *stacks, crn_profile_builder *builder);
void crn_stacks_close(crn_stacks *stacks);

/* Appends a block as the next inner frame. Block 0, the root, is ignored. */
void crn_stacks_push(crn_stacks *stacks, uint32_t block);

/* Begins a stack with the outermost `count` frames of the previous stack, or all if it has
 * fewer. */
void crn_stacks_keep(crn_stacks *stacks, size_t count);

/* Ends the stack and returns its context. `calls` are counted on its innermost edge. The next push
 * begins a new stack. */
uint32_t crn_stacks_end(crn_stacks *stacks, uint64_t calls);

/* Returns the block that `info` describes. "[root]" and "[folded]" without a file are the special
 * blocks, so that exported profiles import unchanged. */
uint32_t crn_stacks_block(crn_stacks *stacks, const crn_block_info *info);

/* Adds to a sum. Returns false if it would reach 2^62: the numbers in a file can overflow it. */
bool crn_stacks_add_up(uint64_t *sum, uint64_t value);

#endif
