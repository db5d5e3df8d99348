/* SPDX-License-Identifier: MIT
 *
 * stacks.h - foreign stacks into a profile, canonicalised by the graph.
 *
 * Samples that come one after the other mostly share the outer part of their stacks, so
 * the contexts of the last stack are kept and only what differs is looked up.
 */
#ifndef CRN_FORMATS_STACKS_H
#define CRN_FORMATS_STACKS_H

#include "profile/profile.h"

typedef struct crn_stacks {
    crn_profile_builder *builder;
    uint32_t *blocks;   /* the stack being made, outermost first */
    uint32_t *last;     /* the one before */
    uint32_t *contexts; /* of the one before */
    size_t length, last_length, capacity;
} crn_stacks;

void crn_stacks_open(crn_stacks *stacks, crn_profile_builder *builder);
void crn_stacks_close(crn_stacks *stacks);

/* Adds a block as the next inner one. Block 0, the root, leads nowhere. */
void crn_stacks_push(crn_stacks *stacks, uint32_t block);

/* Begins a stack with the outermost `count` blocks of the one before, or as many as it has. */
void crn_stacks_keep(crn_stacks *stacks, size_t count);

/* The context that the stack leads to. `calls` are counted on its innermost edge. The
 * next push begins a new stack. */
uint32_t crn_stacks_end(crn_stacks *stacks, uint64_t calls);

/* The block with this description. "[root]" and "[folded]" of no file are what they say,
 * so that what was exported comes back as it was. */
uint32_t crn_stacks_block(crn_stacks *stacks, const crn_block_info *info);

/* Adds to a sum of figures. False if it is then 2^62 or more: files are not trusted to
 * add up to what a counter can hold. */
bool crn_stacks_add_up(uint64_t *sum, uint64_t value);

#endif
