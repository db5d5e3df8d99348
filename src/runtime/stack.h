/* SPDX-License-Identifier: MIT
 *
 * stack.h - strands that keep only their stack, for the rest of the runtime.
 */
#ifndef CRN_RUNTIME_STACK_H
#define CRN_RUNTIME_STACK_H

#include "runtime/runtime.h"

/* What the verbs of either kind come to, at their slowest. Thread: the lane's. */
void crn_stack_enter(cairn_strand *strand, cairn_block block);
void crn_stack_replace(cairn_strand *strand, cairn_block block);
void crn_stack_leave(cairn_strand *strand);
void crn_stack_unwind(cairn_strand *strand, cairn_mark mark);

/* Frames that there was memory for. */
static inline size_t crn_stack_held(const cairn_strand *strand)
{
    return (size_t)(strand->only.top - strand->only.blocks);
}

/* Sets the limits as the stack is. */
void crn_stack_rest(cairn_strand *strand);

/* The lane's graph is another one: what was looked up in the old one is no more. */
void crn_stack_forget(cairn_strand *strand);

/* Makes it a strand of the counting kind again, which is empty. */
void crn_stack_end(cairn_strand *strand);

#endif
